"""ONNX files as plain nodes and arrays, checked: damage and unknown operators are named; no other file is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .operators import OPERATORS, OUTSIDE
from .recurrent import STEPS

OPSETS = (7, 26)  # versions of the operators whose meaning is known here
LARGEST_FILE = 200_000_000  # bytes
LARGEST_TENSOR = 20_000_000  # numbers
KNOWN = (*OPERATORS, *STEPS)
DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class OnnxNode:
    """One operator: names of what it takes ("": left out) and gives; its attributes as numbers, texts and arrays."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)


@dataclass(frozen=True)
class NetworkFile:
    """The graph of a file. inputs, outputs: shapes by name, 1 for free dimensions. digest: of the file's bytes."""

    path: str
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, np.ndarray]
    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
    metadata: Mapping[str, str]
    opset: int
    digest: str


def read(path: str | os.PathLike[str]) -> NetworkFile:
    """The network in an ONNX file. Errors name the file and the node or tensor."""
    if not isinstance(path, (str, os.PathLike)):
        raise DalembertError(f"policy: the path is {path!r}, expected a text")
    where = f"policy {os.fspath(path)!r}"
    data = _bytes(path, where)
    try:
        import onnx
    except ImportError:
        raise DalembertError(f"{where}: ONNX files need the package onnx: pip install 'dalembert[onnx]'") from None
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # of protobuf, whose errors are its own
        raise DalembertError(f"{where} is no ONNX file, or is truncated") from None
    graph = model.graph
    if not graph.node or not graph.output:
        raise DalembertError(f"{where} is no ONNX file of a network: it has no nodes or no outputs")
    versions = {each.domain: each.version for each in model.opset_import}
    opset = next((versions[domain] for domain in DOMAINS if domain in versions), 0)
    if not OPSETS[0] <= opset <= OPSETS[1]:
        raise DalembertError(
            f"{where}: its operators have version {opset}, expected {OPSETS[0]} to {OPSETS[1]}: export it again with "
            "opset_version=17"
        )
    if graph.sparse_initializer:
        raise DalembertError(f"{where}: it has sparse tensors, expected dense ones")
    constants = {tensor.name: _array(tensor, where) for tensor in graph.initializer}
    nodes = tuple(_node(each, k, where, onnx) for k, each in enumerate(graph.node))
    inputs = {each.name: _shape(each, where) for each in graph.input if each.name not in constants}
    outputs = tuple(each.name for each in graph.output)
    _check_order(where, nodes, {*constants, *inputs}, outputs)
    metadata = {each.key: each.value for each in model.metadata_props}
    return NetworkFile(
        os.fspath(path), nodes, constants, inputs, outputs, metadata, opset, hashlib.sha256(data).hexdigest()
    )


def _bytes(path: str | os.PathLike[str], where: str) -> bytes:
    file = Path(path)
    try:
        if not file.is_file():
            raise DalembertError(f"{where}: there is no such file")
        if (size := file.stat().st_size) > LARGEST_FILE:
            raise DalembertError(f"{where} has {size} bytes, expected at most {LARGEST_FILE}")
        return file.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, DalembertError):
            raise
        raise DalembertError(f"{where} cannot be read: {error}") from None


def _array(tensor: Any, where: str) -> np.ndarray:
    """The numbers of a tensor; refuses those that lie in other files, and those that are no numbers."""
    from onnx import TensorProto, numpy_helper

    name = f"{where}: tensor {tensor.name!r}"
    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        raise DalembertError(
            f"{name} lies in another file: export it in one file (torch.onnx.export(…, external_data=False))"
        )
    if min(tensor.dims, default=0) < 0 or int(np.prod([float(n) for n in tensor.dims])) > LARGEST_TENSOR:
        raise DalembertError(f"{name} has shape {tuple(tensor.dims)}, expected at most {LARGEST_TENSOR} numbers")
    try:
        array = numpy_helper.to_array(tensor)
    except Exception as error:  # shapes and bytes that do not agree, types that NumPy lacks
        raise DalembertError(f"{name} cannot be read: {' '.join(str(error).split())[:200]}") from None
    if array.dtype.kind == "f":
        if np.isnan(array).any() or (np.isinf(array).any() and array.size > 1):  # a bound of Clip may be infinite
            raise DalembertError(f"{name} has NaN or inf among its numbers")
        return array.astype(float)
    if array.dtype.kind in "iub":
        return array if array.dtype.kind == "b" else array.astype(np.int64)
    raise DalembertError(f"{name} has numbers of type {array.dtype}, expected real numbers")


def _node(node: Any, k: int, where: str, onnx: Any) -> OnnxNode:
    label = node.name or f"number {k}"
    said = f"{where}: node {label!r}"
    if node.op_type in OUTSIDE and node.domain in DOMAINS:
        raise DalembertError(f"{said}: operator {node.op_type}: {OUTSIDE[node.op_type]}")
    if node.domain not in DOMAINS or node.op_type not in KNOWN:
        kind = node.op_type if node.domain in DOMAINS else f"{node.domain}.{node.op_type}"
        raise DalembertError(f"{said}: operator {kind} is not known here; known are {', '.join(sorted(KNOWN))}")
    attributes: dict[str, Any] = {}
    for each in node.attribute:
        if each.HasField("t"):
            attributes[each.name] = _array(each.t, said)
            continue
        if each.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
            raise DalembertError(f"{said}: attribute {each.name!r} is a graph")
        try:
            value = onnx.helper.get_attribute_value(each)
        except Exception:  # a type that does not fit what is there
            raise DalembertError(f"{said}: attribute {each.name!r} cannot be read") from None
        attributes[each.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return OnnxNode(node.op_type, label, tuple(node.input), tuple(node.output), attributes)


def _shape(value: Any, where: str) -> tuple[int, ...]:
    """The shape of an input; free dimensions, such as that of the batch, are 1."""
    dims = value.type.tensor_type.shape.dim
    shape = tuple(each.dim_value if each.HasField("dim_value") else 1 for each in dims)
    if min(shape, default=1) < 1 or float(np.prod([float(n) for n in shape])) > LARGEST_TENSOR:
        raise DalembertError(f"{where}: input {value.name!r} has shape {shape}, expected dimensions from 1 on")
    return shape


def _check_order(where: str, nodes: tuple[OnnxNode, ...], known: set[str], outputs: tuple[str, ...]) -> None:
    """Each node takes what stands before it, and no name is given twice."""
    known = {*known, ""}
    later = {name for node in nodes for name in node.outputs}
    for node in nodes:
        for name in node.inputs:
            if name not in known:
                why = (
                    "which it or a later node gives: the graph is cyclic or out of order"
                    if name in later
                    else ("which nothing gives")
                )
                raise DalembertError(f"{where}: node {node.name!r} ({node.op}) takes {name!r}, {why}")
        for name in node.outputs:
            if name and name in known:
                raise DalembertError(f"{where}: node {node.name!r} ({node.op}) gives {name!r}, which is there already")
        known.update(node.outputs)
    for name in outputs:
        if not name or name not in known:
            raise DalembertError(f"{where}: nothing gives the output {name!r}")
