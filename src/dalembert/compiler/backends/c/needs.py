"""Arguments that functions need, through all functions that they call; and how much memory their arrays take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dalembert.compiler.graph import Function, Scalar
from dalembert.compiler.graph.calls import Called
from dalembert.compiler.graph.compound import Compound
from dalembert.compiler.graph.product import Weighted
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.sinking import sunk
from dalembert.compiler.graph.visit import Visited


def sinking(function: Function) -> Function:
    """The function whose branches have taken in what they alone need."""
    known = function.kept.get("c sunk")
    if known is None:
        known = function.kept["c sunk"] = sunk(function)
        known.kept["c sunk"] = known
    return known


def needed_nodes(order: Sequence[Scalar], roots: Iterable[Scalar]) -> list[Scalar]:
    """The nodes of an order that the roots are computed from."""
    needed = {root.id for root in roots}
    for node in reversed(order):
        if node.id in needed:
            needed.update([a.id for a in _arguments(node)])
    return [node for node in order if node.id in needed]


def _arguments(node: Scalar) -> Sequence[Scalar]:
    if node.op != "compound" or isinstance(node.value, Weighted):
        return node.args
    args, start = node.value.evaluated(node.args), captured_from(node.value)
    return [
        *args[:start],
        *(a for a, used in zip(args[start:], taken(called_function(node.value)), strict=True) if used),
    ]


def used_inputs(function: Function) -> dict[str, list[bool]]:
    """For each input of a function, which of its numbers the outputs are computed from."""
    known = function.kept.get("c needs")
    if known is None:
        roots = [node for output in function.outputs for node in output.nodes]
        inner = sinking(function)
        inner_roots = [node for output in inner.outputs for node in output.nodes]
        order = needed_nodes(inner.schedule(), inner_roots)
        used = {node.value for node in order if node.op == "input"} | {x.value for x in roots if x.op == "input"}
        known = {i.name: [(i.name, k) in used for k in range(i.size)] for i in function.inputs}
        function.kept["c needs"] = known
    return known


def taken(function: Function) -> list[bool]:
    """Which of the values that a step takes from its scope it uses; of a called function, which of its arguments."""
    used = used_inputs(function)
    if function.inputs and function.inputs[-1].name == "captured":
        return used["captured"]
    return [x for i in function.inputs for x in used[i.name]]


def captured_from(compound: Compound) -> int:
    """The place of the first captured value among the arguments of a compound; of a call, of all arguments."""
    if isinstance(compound, Repeated):
        return compound.width
    if isinstance(compound, Visited):
        s = compound.sizes
        return s.table + s.carry + (s.read + s.item) * s.items
    return 0


def called_function(compound: Compound) -> Function:
    """The function that a compound evaluates."""
    if isinstance(compound, (Repeated, Visited)):
        return compound.step
    assert isinstance(compound, Called)
    return compound.function


def memory(function: Function) -> int:
    """About how many numbers the arrays of a function and of those that it calls take at a time."""
    known = function.kept.get("c memory")
    if known is None:
        own = deepest = 0
        for node in sinking(function).schedule():
            if node.op == "compound" and not isinstance(node.value, Weighted):
                own += node.value.size
                deepest = max(deepest, memory(called_function(node.value)))
        known = function.kept["c memory"] = own + deepest
    return known
