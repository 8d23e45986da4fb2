"""Functions derived from functions: products with the derivative, and results that mark bad inputs."""

from __future__ import annotations

from functools import reduce
from math import nan

import numpy as np

from .differentiate import vjp
from .function import Function, Input, Output
from .scalar import Graph, Scalar
from .schedule import depth_first
from .substitute import substitute


def pullback(function: Function) -> Function:
    """The vector-Jacobian product: inputs and one cotangent per output → one gradient per input, in coordinates.

    The cotangent of output y is the input "y cotangent", flat; the gradient in input x is the output "x gradient". The
    guards stay.
    """
    nodes = [node for output in function.outputs for node in output.nodes]
    graph = nodes[0].graph if nodes else Graph()
    inputs = [graph.input(i.name, i.size) for i in function.inputs]
    cotangents = [Input(f"{o.name} cotangent", len(o.nodes)) for o in function.outputs]
    weights = [graph.input(c.name, c.size) for c in cotangents]
    none = np.empty(0, object)
    slopes = vjp(nodes, np.concatenate([none, *weights]), np.concatenate([none, *inputs]))
    outputs, start = [], 0
    for each in function.inputs:
        gradient_nodes = [x if isinstance(x, Scalar) else graph.constant(x) for x in slopes[start : start + each.size]]
        outputs.append(Output(f"{each.name} gradient", (each.size,), tuple(gradient_nodes)))
        start += each.size
    return Function(f"{function.name} vjp", (*function.inputs, *cotangents), tuple(outputs), function.guards)


def poisoned(function: Function) -> Function:
    """The function with NaN instead of the inputs that its guards look at where one fails.

    So everything that depends on a bad input is NaN: for machines that cannot stop and complain.
    """
    if not function.guards:
        return function
    valid = reduce(lambda a, b: a & b, function.guards)
    looked_at = [node for node in depth_first(function.guards) if node.op == "input"]
    instead = {node: node.__traced__("where", valid, node, nan) for node in looked_at}
    outputs = [Output(o.name, o.shape, tuple(substitute(o.nodes, instead))) for o in function.outputs]
    return Function(function.name, function.inputs, tuple(outputs))
