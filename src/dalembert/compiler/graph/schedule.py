"""The order in which nodes are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scalar import Scalar


def fewest_alive(roots: Iterable[Scalar]) -> list[Scalar]:
    """Depth first or in the order of tracing: whichever keeps fewer values alive, since those that find no register
    cost a store and a load. An algorithm that walks a tree limb by limb is best left unchanged."""
    deep = depth_first(roots)
    return min(deep, sorted(deep, key=lambda node: node.id), key=_alive)


def as_made(roots: Iterable[Scalar]) -> list[Scalar]:
    """In the order in which they were made: of a copy, the order of what was copied."""
    found: dict[int, Scalar] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.id not in found:
            found[node.id] = node
            stack += node.value[0].nodes if node.op == "dot" else node.args
    return [found[i] for i in sorted(found)]


def _alive(order: Sequence[Scalar]) -> int:
    """Values alive, summed over the steps of a schedule."""
    last: dict[int, int] = {}
    for k, node in enumerate(order):
        for argument in node.args:
            last[argument.id] = k
    return sum([last.get(node.id, k) - k for k, node in enumerate(order) if node.op not in ("const", "input")])


def depth_first(roots: Iterable[Scalar], since: int = 0) -> list[Scalar]:
    """Arguments before their users, one root after the other, deepest first.

    A value is computed just before it is needed, limb by limb: half as many values are alive at once as in the
    order of tracing. since: nodes that were made before the one with this id, other than constants, are left out.
    """
    order: list[Scalar] = []
    done: set[int] = set()
    products: set[int] = set()  # ids of blocks whose entries are all done
    waiting: list[Scalar] = []  # nodes whose arguments are being computed
    stack: list[Scalar | None] = []  # what comes next, last first; None: the last one in `waiting`
    stack.extend(reversed([*roots]))
    while stack:
        node = stack.pop()
        if node is None:
            node = waiting.pop()
            if node.op == "dot":
                products.add(id(node.value[0]))
        else:
            if node.id in done or (node.id < since and node.op != "const"):
                continue
            needed = node.args
            if node.op == "dot":  # a product is computed as a whole
                needed = () if id(node.value[0]) in products else node.value[0].nodes
            if needed:
                waiting.append(node)
                stack.append(None)
                stack += needed[::-1]
                continue
        done.add(node.id)
        order.append(node)
    return order


def without_slopes(order: Sequence[Scalar], roots: Iterable[Scalar]) -> list[Scalar]:
    """The nodes of an order that the roots are computed from: what only slopes would need is left out."""
    if not any(node.op == "compound" and node.value.has_slopes for node in order):
        return list(order)
    needed = {root.id for root in roots}
    for node in reversed(order):
        if node.id in needed:
            arguments = node.value[0].nodes if node.op == "dot" else node.args
            arguments = node.value.evaluated(arguments) if node.op == "compound" else arguments
            needed.update([argument.id for argument in arguments])
    return [node for node in order if node.id in needed]
