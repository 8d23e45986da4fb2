"""A Python function traced on the spot into a separate `Function`: values from the enclosing scope become inputs.

The function is run on new inputs of the graph that is being traced. Whatever depends on them is its body; the values
that the body takes from outside, computed there once, are captured. So a function may use all that is in scope, what
does not change is not computed again, and constants fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .copying import Copy
from .function import Function, Input, Output
from .operations import BOOLEAN
from .scalar import Graph, Scalar
from .schedule import depth_first

if TYPE_CHECKING:
    from collections.abc import Iterable


def as_number(x: Any, graph: Graph) -> Scalar:
    """A number or traced value as a node of `graph` that is a number; a condition is 1 where it holds, else 0."""
    node = x if x.__class__ is Scalar else graph.constant(x)
    return node.__traced__("where", node, 1.0, 0.0) if node.op in BOOLEAN else node


def placeholders(graph: Graph, size: int) -> np.ndarray:
    """New inputs that stand for the arguments of a function that is being traced on the spot."""
    return graph.input(f"inside {graph.size}", size)


def captured(
    name: str, inputs: Sequence[tuple[str, np.ndarray]], outputs: Sequence[tuple[str, Sequence[Scalar]]], graph: Graph
) -> tuple[Function, list[Scalar]]:
    """The function from placeholders to nodes, each by name, and the numbers outside that it takes as "captured"."""
    copy = Graph()
    places: dict[int, Scalar] = {}
    for each, placeholders in inputs:
        places |= {x.id: y for x, y in zip(placeholders, copy.input(each, len(placeholders)), strict=True)}
    roots = [node for _, nodes in outputs for node in nodes]
    inside = set(places)
    order = depth_first(roots, min(inside, default=0))  # what is older does not depend on the placeholders
    for node in order:
        if not inside.isdisjoint([a.id for a in arguments(node)]):
            inside.add(node.id)
    taken = {a.id: a for node in order if node.id in inside for a in arguments(node)} | {x.id: x for x in roots}
    outside = [x for x in taken.values() if x.id not in inside and x.op not in ("const", "compound")]
    for x, y in zip(outside, copy.input("captured", len(outside)), strict=True):
        places[x.id] = y != 0.0 if x.boolean else y
    body = [node for node in order if node.id in inside or node.op == "const"]
    copied = Copy(copy, places, alone=True).take(body).places
    results = [Output(each, (len(nodes),), tuple(copied[x.id] for x in nodes)) for each, nodes in outputs]
    sizes = [*(Input(each, len(placeholders)) for each, placeholders in inputs), Input("captured", len(outside))]
    return Function(name, tuple(sizes), tuple(results), copied=True), [as_number(x, graph) for x in outside]


def arguments(node: Scalar) -> Iterable[Scalar]:
    """The arguments of a node; an entry of a product needs all entries of both factors."""
    return node.value[0].nodes if node.op == "dot" else node.args
