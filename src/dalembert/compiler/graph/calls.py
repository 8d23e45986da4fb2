"""Functions called as a whole: a long computation that is needed several times is compiled once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .compound import Compound, Rates, results
from .copying import inlined
from .differentiate import forward_rates, vjp

if TYPE_CHECKING:
    from .function import Function
    from .scalar import Scalar


class Called(Compound):
    """One call. Its arguments are the inputs of the function, one after the other, its results the outputs."""

    verb = "calls others"

    def __init__(self, function: Function) -> None:
        self.function = function
        self.nodes = [node for output in function.outputs for node in output.nodes]
        self.size = len(self.nodes)

    def identity(self) -> tuple[Any, ...]:
        return (self.function.fingerprint(),)

    def operations(self) -> Counter[str]:
        return Counter(self.function.operations())

    def forward(self, node: Scalar, rates: Sequence[Rates]) -> list[dict[int, Any]]:
        """Derivatives of calls are written out: they differ from call to call in which inputs are constant."""
        inputs = self._inputs()
        inner, seeds = seeded(inputs, rates)
        rows = forward_rates(self.nodes, seeds)
        values = dict(zip(inputs, node.args, strict=True)) | inner
        return [
            dict(zip(row, inlined(list(row.values()), values, node.graph), strict=True))
            for row in (rows[x.id] for x in self.nodes)
        ]

    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        inputs, graph = self._inputs(), self.nodes[0].graph
        places = [k for k, wanted in enumerate(active) if wanted]
        cotangents = graph.input(f"cotangents {graph.size}", len(weights))
        pulled = vjp([self.nodes[k] for k in weights], cotangents, [inputs[k] for k in places])
        values = dict(zip(inputs, node.args, strict=True)) | dict(zip(cotangents, weights.values(), strict=True))
        return dict(zip(places, inlined(list(pulled), values, node.graph), strict=True))

    def _inputs(self) -> list[Scalar]:
        graph = self.nodes[0].graph
        return [x for i in self.function.inputs for x in graph.input(i.name, i.size)]


def seeded(
    inputs: Sequence[Scalar], rates: Sequence[Rates]
) -> tuple[dict[Scalar, Any], dict[Scalar, dict[int, Scalar]]]:
    """A further input for each rate of an input: the rate behind it, and the rates of the inputs in those terms."""
    graph = inputs[0].graph
    names = graph.input(f"rates {graph.size}", sum(map(len, rates)))
    each = iter(names)
    values: dict[Scalar, Any] = {}
    seeds: dict[Scalar, dict[int, Scalar]] = {}
    for x, row in zip(inputs, rates, strict=True):
        seeds[x] = {direction: next(each) for direction in row}
        values |= dict(zip(seeds[x].values(), row.values(), strict=True))
    return values, seeds


def call(function: Function, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a function of traced vectors, as results of one call. Its guards are ignored."""
    flat = np.concatenate(inputs)
    graph = next(x for x in flat if hasattr(x, "__traced__")).graph
    args = [x if hasattr(x, "__traced__") else graph.constant(x) for x in flat]
    every = np.empty(sum(len(output.nodes) for output in function.outputs), object)
    every[:] = results(graph, Called(function), args)
    ends = np.cumsum([len(output.nodes) for output in function.outputs])
    return [
        every[end - len(output.nodes) : end].reshape(output.shape)
        for output, end in zip(function.outputs, ends, strict=True)
    ]
