"""Functions derived from functions: products with the derivative, and results that mark bad inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from math import nan

import numpy as np

from .copying import substitute
from .differentiate import vjp
from .function import Function, Input, Output
from .scalar import Graph, Scalar
from .schedule import depth_first


def pullback(function: Function) -> Function:
    """The vector-Jacobian product: inputs and one cotangent per output → one gradient per input, in coordinates.

    The cotangent of output y is the input "y cotangent", flat; the gradient in input x is the output "x gradient". The
    guards stay.
    """
    nodes = [node for output in function.outputs for node in output.nodes]
    graph = nodes[0].graph if nodes else Graph()
    arguments = [graph.input(i.name, i.size) for i in function.inputs]
    cotangents = [Input(f"{o.name} cotangent", len(o.nodes)) for o in function.outputs]
    weights = [graph.input(c.name, c.size) for c in cotangents]
    none = np.empty(0, object)
    slopes = vjp(nodes, np.concatenate([none, *weights]), np.concatenate([none, *arguments]))
    outputs, start = [], 0
    for each in function.inputs:
        gradient_nodes = [x if isinstance(x, Scalar) else graph.constant(x) for x in slopes[start : start + each.size]]
        outputs.append(Output(f"{each.name} gradient", (each.size,), tuple(gradient_nodes)))
        start += each.size
    name, inputs = f"{function.name} vjp", (*function.inputs, *cotangents)
    return replace(function, name=name, inputs=inputs, outputs=tuple(outputs))


def poisoned(function: Function) -> Function:
    """The function whose results are NaN where a guard fails: for machines that cannot stop and complain.

    Guards on inputs replace the inputs that they check: everything that depends on a bad input is NaN. Guards on
    outputs replace all outputs: with other inputs, the function would be computed a second time.
    """
    if not function.guards:
        return function
    count = len(function.guards) - function.on_outputs
    early, late = function.guards[:count], function.guards[count:]
    nodes = [*late, *(node for output in function.outputs for node in output.nodes)]
    if early:
        nodes = list(_replaced(nodes, early))
    valid, nodes = nodes[: len(late)], nodes[len(late) :]
    if late:
        finite = reduce(lambda a, b: a & b, valid)
        nodes = [node.__traced__("where", finite, node, nan) for node in nodes]
    ends = accumulate(len(o.nodes) for o in function.outputs)
    outputs = [
        replace(o, nodes=tuple(nodes[end - len(o.nodes) : end])) for o, end in zip(function.outputs, ends, strict=True)
    ]
    return Function(function.name, function.inputs, tuple(outputs))


def _replaced(nodes: Sequence[Scalar], guards: Sequence[Scalar]) -> np.ndarray:
    """The nodes with NaN instead of the inputs that guards check, where one of these fails."""
    valid = reduce(lambda a, b: a & b, guards)
    checked = [node for node in depth_first(guards) if node.op == "input"]
    return substitute(nodes, {node: node.__traced__("where", valid, node, nan) for node in checked})
