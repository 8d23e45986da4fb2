"""The order in which nodes are computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scalar import Scalar


def depth_first(roots: Iterable[Scalar]) -> list[Scalar]:
    """Arguments before their users, one root after the other, deepest first.

    A value is computed just before it is needed, limb by limb: half as many values are alive at once as in the
    order of tracing.
    """
    order: list[Scalar] = []
    done: set[int] = set()
    for root in roots:
        stack = [(root, 0)]
        while stack:
            node, k = stack.pop()
            if node.id in done:
                continue
            if k < len(node.args):
                stack.append((node, k + 1))
                if node.args[k].id not in done:
                    stack.append((node.args[k], 0))
            else:
                done.add(node.id)
                order.append(node)
    return order
