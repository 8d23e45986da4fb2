"""Networks as ONNX files, made node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

INPUT = "obs"


def save(
    path: Path,
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[Any]],
    outputs: Mapping[str, Sequence[Any] | None],
    constants: Mapping[str, np.ndarray] | None = None,
    metadata: Mapping[str, str] | None = None,
    opset: int = 18,
) -> Path:
    """Write a file; shapes may have names for free dimensions."""
    from onnx import TensorProto, helper, numpy_helper

    values = [
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None if shape is None else list(shape))
            for name, shape in each.items()
        ]
        for each in (inputs, outputs)
    ]
    tensors = [numpy_helper.from_array(np.asarray(x), name) for name, x in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "policy", *values, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    helper.set_model_props(model, dict(metadata or {}))
    path.write_bytes(model.SerializeToString())
    return path


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    """One node."""
    from onnx import helper

    return helper.make_node(op, list(inputs), list(outputs), name=f"{op} {outputs[0]}", **attributes)


def perceptron(
    path: Path,
    sizes: Sequence[int],
    activation: str = "Elu",
    metadata: Mapping[str, str] | None = None,
    seed: int = 0,
    normalized: bool = True,
) -> Path:
    """Layers with one activation between, as PyTorch exports them; the observation less its mean over its deviation."""
    rng = np.random.default_rng(seed)
    n = sizes[0]
    constants = {"mean": rng.normal(size=n), "deviation": rng.uniform(0.5, 2.0, n)}
    nodes = [node("Sub", [INPUT, "mean"], ["off"]), node("Div", ["off", "deviation"], ["x0"])] if normalized else []
    last = "x0" if normalized else INPUT
    for k, (a, b) in enumerate(pairwise(sizes)):
        constants[f"W{k}"], constants[f"b{k}"] = rng.normal(size=(b, a)) / np.sqrt(a), 0.1 * rng.normal(size=b)
        end = k == len(sizes) - 2
        nodes.append(node("Gemm", [last, f"W{k}", f"b{k}"], ["actions" if end else f"y{k}"], transB=1))
        if not end:
            nodes.append(node(activation, [f"y{k}"], [f"z{k}"]))
            last = f"z{k}"
    used = {name: x.astype(np.float32) for name, x in constants.items() if normalized or name[0] in "Wb"}
    return save(path, nodes, {INPUT: ["batch", n]}, {"actions": ["batch", sizes[-1]]}, used, metadata)
