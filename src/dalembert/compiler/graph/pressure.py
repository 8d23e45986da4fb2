"""The order that keeps the fewest values alive at any one time, for machines that hold them in registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from .schedule import depth_first

if TYPE_CHECKING:
    from .scalar import Scalar

LEAVES = ("const", "input")  # nodes that need no computation


def fewest_at_once(roots: Sequence[Scalar]) -> list[Scalar]:
    """The nodes that the roots need, arguments first, without inputs and constants.

    Several orders are tried: of tracing, and depth first from the first or from the last root, into the argument that
    needs most registers or that was traced last; in each, a node that frees as many values as it adds is computed at
    once. On trees of bodies the best one goes limb by limb and keeps half as many values alive as the order of tracing.
    """
    plain = [node for node in depth_first(roots) if node.op not in LEAVES]
    needs = _registers(plain)
    orders = [sorted(plain, key=lambda node: node.id)]
    for first in (lambda node: -needs[node.id], lambda node: -node.id):
        orders += [_deep(roots, first), _deep(roots[::-1], first)]
    return min(map(_eager, orders), key=peak)


def _registers(order: Iterable[Scalar]) -> dict[int, int]:
    """How many registers each value would need if nothing were shared (Sethi and Ullman 1970)."""
    needs: dict[int, int] = {}
    for node in order:
        needed = sorted((needs[a.id] for a in node.args if a.op not in LEAVES), reverse=True)
        needs[node.id] = max([1, *(k + need for k, need in enumerate(needed))])
    return needs


def _deep(roots: Iterable[Scalar], first: Callable[[Scalar], int]) -> list[Scalar]:
    """Depth first, into the argument with the smallest `first`."""
    order: list[Scalar] = []
    done: set[int] = set()
    for root in roots:
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node.id in done or node.op in LEAVES:
                continue
            if ready:
                done.add(node.id)
                order.append(node)
            else:
                stack.append((node, True))
                needs = [a for a in node.args if a.op not in LEAVES and a.id not in done]
                stack += [(argument, False) for argument in sorted(needs, key=first)[::-1]]
    return order


def peak(order: Iterable[Scalar]) -> int:
    """The largest number of values alive at one time; inputs and constants are not counted."""
    order = [node for node in order if node.op not in LEAVES]
    ends = {argument.id: k for k, node in enumerate(order) for argument in node.args}
    computed = {node.id for node in order}
    last = Counter(end for i, end in ends.items() if i in computed)
    alive = most = 0
    for k, node in enumerate(order):
        alive += node.id in ends
        most = max(most, alive)
        alive -= last[k]
    return most


def _eager(order: Sequence[Scalar]) -> list[Scalar]:
    """`order`, except that a node with the last use of a value is computed as soon as its arguments are known."""
    needs = {node.id: {a.id for a in node.args if a.op not in LEAVES} for node in order}
    users: dict[int, list[Scalar]] = {}
    for node in order:
        for i in needs[node.id]:
            users.setdefault(i, []).append(node)
    missing = {i: len(arguments) for i, arguments in needs.items()}
    uses = {i: len(users.get(i, ())) for i in needs}
    done: set[int] = set()
    result: list[Scalar] = []
    for following in order:
        stack = [following]
        while stack:
            node = stack.pop()
            if node.id in done:
                continue
            done.add(node.id)
            result.append(node)
            near = list(users.get(node.id, ()))
            for user in near:
                missing[user.id] -= 1
            for i in needs[node.id]:
                uses[i] -= 1
                if uses[i] == 1:
                    near += users[i]
            for user in near:
                if user.id in done or missing[user.id]:
                    continue  # before its arguments are counted: a loop has thousands, and is near after each of them
                if sum(uses[i] == 1 for i in needs[user.id]) >= min(uses[user.id], 1):
                    stack.append(user)
    return result
