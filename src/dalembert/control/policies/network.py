"""A network from an ONNX file as a function of numbers or traced scalars, which compiles into whatever it stands in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .file import NetworkFile, OnnxNode, read
from .operators import OPERATORS, compute
from .recurrent import STEPS, recurrent

STATE_SUFFIXES = (("_in", "_out"), ("_in", ""), ("", "_out"), ("_0", "_n"), ("0", "n"))


class Network:
    """y = network(x): an ONNX file as a function of vectors, of numbers or traced scalars.

    sizes: numbers of each input by name; outputs: names of the outputs. Inputs come in the order of the file or by
    name, each a vector (n,), row by row where the file has more axes; free dimensions such as that of the batch are 1.
    One output comes back as a vector, several as a dict by name. metadata: entries of the file.
    """

    def __init__(self, file: NetworkFile) -> None:
        self.path, self.metadata, self.fingerprint = file.path, dict(file.metadata), file.digest
        self.sizes = {name: int(np.prod(shape)) for name, shape in file.inputs.items()}
        self.outputs = file.outputs
        self._file = file
        self._known = self._folded()
        self.output_sizes = self._output_sizes()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        results = self.evaluated(self._given(inputs, named))
        return results[self.outputs[0]] if len(self.outputs) == 1 else results

    def evaluated(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """All outputs by name, from vectors for all inputs by name."""
        values: dict[str, Any] = dict(self._known)
        for name, shape in self._file.inputs.items():
            x = np.asarray(inputs[name])
            if x.size != self.sizes[name]:
                raise DalembertError(f"{self}: input {name!r} has shape {x.shape}, expected ({self.sizes[name]},)")
            values[name] = (x if x.dtype == object else x.astype(float)).reshape(shape)
        for node in self._file.nodes:
            if node.outputs[0] not in values:
                self._take(node, values)
        return {name: np.asarray(values[name]).reshape(-1) for name in self.outputs}

    def _take(self, node: OnnxNode, values: dict[str, Any]) -> None:
        """Put the outputs of a node among the values."""
        try:
            given = compute(
                recurrent if node.op in STEPS else OPERATORS[node.op],
                node,
                [values[name] if name else None for name in node.inputs],
            )
        except ValueError as error:
            if isinstance(error, DalembertError):
                raise
            raise DalembertError(f"{self}: node {node.name!r} ({node.op}): {error}") from None
        values |= {name: x for name, x in zip(node.outputs, given, strict=False) if name}
        missing = [name for name in node.outputs if name and name not in values]
        if missing:
            raise DalembertError(f"{self}: node {node.name!r} ({node.op}) has no output {missing[0]!r}")

    def _folded(self) -> dict[str, Any]:
        """Constants, and the outputs of nodes that take nothing else."""
        values: dict[str, Any] = dict(self._file.constants)
        for node in self._file.nodes:
            if all(name in values for name in node.inputs if name):
                self._take(node, values)
        return values

    def _output_sizes(self) -> dict[str, int]:
        """Numbers of each output, by an evaluation at zeros, which shows as well that all shapes fit."""
        results = self.evaluated({name: np.zeros(n) for name, n in self.sizes.items()})
        for name, x in results.items():
            if x.dtype.kind not in "fiub":
                raise DalembertError(f"{self}: output {name!r} is of type {x.dtype}, expected numbers")
        return {name: x.size for name, x in results.items()}

    def _given(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        for name in named:
            if name not in self.sizes:
                raise unknown("input", name, self.sizes, str(self))
        others = [name for name in self.sizes if name not in named]
        if len(inputs) != len(others):
            raise DalembertError(f"{self}: got {len(inputs)} inputs, expected {len(others)}: {', '.join(others)}")
        return {**dict(zip(others, inputs, strict=True)), **named}

    @property
    def states(self) -> dict[str, str]:
        """Inputs that the next call takes from an output of this one, by their names: h_in ← h_out, hidden_in ← …"""
        pairs: dict[str, str] = {}
        for name, size in list(self.sizes.items())[1:]:
            for end, other in STATE_SUFFIXES:
                output = name.removesuffix(end) + other
                if name.endswith(end) and output in self.outputs and self.output_sizes[output] == size:
                    pairs.setdefault(name, output)
        return pairs

    def __repr__(self) -> str:
        return f"policy {self.path!r}"


def network(path: str | os.PathLike[str]) -> Network:
    """Read an ONNX file as a function of vectors: an actuator's network, an observer, a policy without its contract."""
    return Network(read(path))
