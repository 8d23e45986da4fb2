"""MuJoCo's convex problem: of all accelerations the one that balances inertia and soft constraints.

    a = argmin ½ (a − a0)ᵀ M (a − a0) + Σ s(J a − a_ref)

by Newton's method with an exact line search in the coordinates of the joints. Every s is convex and has a slope, so
that the solution is unique, however many constraints repeat each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import factor, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import held, logical_and, logical_or, maximum, minimum, repeat, visit, where
from dalembert.math import map as mapped
from dalembert.math.tolerances import TINY
from dalembert.typing import Array

from .rows import ConstraintBlock, SlottedContacts

PASSES = 60  # of Newton's method; a few are enough as a rule
SEARCHES = 30  # of the line search
ALONG = 0.1  # share of the initial slope at which a line search ends
LARGE = 1e30
SETTLED = 1e-6  # relative size of a Newton step, measured by the inertia, after which the next one is below rounding
FAILED = 1e-3  # relative size of the smallest Newton step above which there is no solution
STALLS = 3  # passes without progress, with steps below FAILED, after which the rest is rounding


class SoftSolution(NamedTuple):
    """a (nv,); force (nv,) of all constraints at the joints; answers: forces of each block's rows.

    contacts (k, rows): the forces of contacts in slots.
    """

    a: Array
    force: Array
    answers: list[Array]
    contacts: Array


def constrained(
    M: Array, a0: Array, blocks: Sequence[ConstraintBlock], contacts: SlottedContacts | None = None
) -> SoftSolution:
    """The accelerations under constraints, and contacts in slots; a0 (nv,): those without.

    NaN where the iteration does not settle.
    """
    problem = _ConvexProblem(M, a0, blocks, contacts)

    def newton(a: Array, best: Any, stalls: Any, done: Any) -> dict[str, Any]:
        step = problem.step(a)
        stalls = where(step.square < best, 0.0, stalls + 1.0)
        best = minimum(best, step.square)
        small = step.square <= SETTLED * SETTLED
        stalled = logical_and(stalls > STALLS - 0.5, best <= FAILED * FAILED)
        following = a + problem.searched(a, step) * step.s
        return {"a": following, "best": best, "stalls": stalls, "done": where(logical_or(small, stalled), 1.0, 0.0)}

    # a = 0 as the start takes fewer passes than a0, at rest and in motion
    end = repeat(newton, PASSES, {"a": 0.0 * a0, "best": LARGE, "stalls": 0.0, "done": 0.0}, settled="done")
    a = held(where(end["best"] <= FAILED * FAILED, end["a"], np.nan))
    a = a + problem.step(a).s  # derivatives are those of the solution
    return forces_at(a, blocks, contacts)


def forces_at(a: Array, blocks: Sequence[ConstraintBlock], contacts: SlottedContacts | None = None) -> SoftSolution:
    """Forces of all constraints at given accelerations a (nv,), which need no iteration."""
    answers = [block.answer(x)[0] for block, x in zip(blocks, _misses(a, blocks), strict=True)]
    force: Any = np.zeros(len(a), object)
    for block, answer in zip(blocks, answers, strict=True):
        force = force + sparse_product(block.J.T, answer)
    pushes = np.zeros((0, 3))
    if contacts is not None:

        def one(gathered: Array, J: Array, reference: Any, *law: Any) -> dict[str, Any]:
            push = contacts.answer(J @ a - reference, *law)[0]
            return {"gathered": gathered + J.T @ push, "push": push}

        items = {"J": contacts.J, "reference": contacts.reference} | contacts.laws
        pushed = _summed(one, items, {"gathered": force}, contacts.count)
        force, pushes = pushed["gathered"], pushed["push"]
    return SoftSolution(a, force, answers, pushes)


def _misses(a: Array, blocks: Sequence[ConstraintBlock]) -> list[Array]:
    """J a − reference of each block."""
    return [sparse_product(block.J, a) - block.reference for block in blocks]


class _NewtonStep(NamedTuple):
    """Newton's direction s (nv,), the slope of the cost along it, its curvature from the inertia.

    square: of its size beside the accelerations.
    """

    s: Array
    slope: Any
    inertia: Any
    square: Any


class _ConvexProblem:
    def __init__(
        self, M: Array, a0: Array, blocks: Sequence[ConstraintBlock], contacts: SlottedContacts | None
    ) -> None:
        self.M, self.a0, self.blocks, self.contacts = M, a0, blocks, contacts
        self.scale = a0 @ sparse_product(M, a0)

    def step(self, a: Array) -> _NewtonStep:
        """Newton's direction from a."""
        missing = sparse_product(self.M, a - self.a0)
        gradient, H = np.array(missing, object), np.array(self.M, object)
        for block, x in zip(self.blocks, _misses(a, self.blocks), strict=True):
            force, stiffness = block.answer(x)
            gradient = gradient - sparse_product(block.J.T, force)
            # H += Jᵀ stiffness J, the lower triangle
            pattern = nonzeros(block.J)
            columns = np.flatnonzero(pattern.any(axis=0))
            W = sparse_product(stiffness, block.J[:, columns])
            for i, column in enumerate(columns):
                for j in range(i + 1):
                    terms = [block.J[k, column] * W[k, j] for k in range(len(block.J)) if pattern[k, column]]
                    H[column, columns[j]] = H[column, columns[j]] + sum(terms)
        if self.contacts is not None:
            gradient, H = self._with_contacts(self.contacts, a, gradient, H)
        s = factor(H, range(len(a))[::-1]).solve(-gradient)
        slope = gradient @ s
        reach = self.scale + a @ sparse_product(self.M, a) + TINY
        return _NewtonStep(s, slope, s @ sparse_product(self.M, s), maximum(-slope, 0.0) / reach)

    def _with_contacts(self, contacts: SlottedContacts, a: Array, gradient: Array, H: Array) -> tuple[Array, Array]:
        """The slope and the curvature of the cost with those of contacts."""
        at = np.nonzero(np.tril(contacts.pattern))

        def one(added: Array, gradient: Array, J: Array, reference: Any, *law: Any) -> dict[str, Any]:
            force, stiffness = contacts.answer(J @ a - reference, *law)
            W = stiffness @ J
            more = sum(row[at[0]] * turned[at[1]] for row, turned in zip(J, W, strict=True))
            return {"added": added + more, "gradient": gradient - J.T @ force}

        items = {"J": contacts.J, "reference": contacts.reference} | contacts.laws
        sums = _summed(one, items, {"added": np.zeros(len(at[0])), "gradient": gradient}, contacts.count)
        H = H.copy()
        H[at] = H[at] + sums["added"]
        return sums["gradient"], H

    def searched(self, a: Array, step: _NewtonStep) -> Any:
        """Return the step length along a direction at which the slope vanishes."""
        ways = [
            (block, x, sparse_product(block.J, step.s))
            for block, x in zip(self.blocks, _misses(a, self.blocks), strict=True)
        ]
        inertial = (a - self.a0) @ sparse_product(self.M, step.s)
        contacts = self.contacts
        if contacts is not None:
            rows = {"J": contacts.J, "reference": contacts.reference}
            lines = mapped(lambda J, r: {"x": J @ a - r, "y": J @ step.s}, rows, contacts.count) | contacts.laws

        def slopes(along: Any) -> tuple[Any, Any]:
            first, second = inertial + along * step.inertia, step.inertia
            for block, x, y in ways:
                force, stiffness = block.answer(x + along * y)
                first = first - force @ y
                second = second + y @ sparse_product(stiffness, y)
            if contacts is None:
                return first, second

            def one(first: Any, second: Any, x: Any, y: Any, *law: Any) -> dict[str, Any]:
                force, stiffness = contacts.answer(x + along * y, *law)
                return {"first": first - force @ y, "second": second + y @ (stiffness @ y)}

            sums = _summed(one, lines, {"first": first, "second": second}, contacts.count)
            return sums["first"], sums["second"]

        def closer(along: Any, low: Any, high: Any, done: Any) -> dict[str, Any]:
            first, second = slopes(along)
            low, high = where(first <= 0.0, along, low), where(first > 0.0, along, high)
            ahead = along - first / maximum(second, TINY)
            inside = logical_and(ahead > low, ahead < high)
            middle = where(high > 0.5 * LARGE, 2.0 * low, 0.5 * (low + high))
            near = absolute(first) <= ALONG * absolute(step.slope)
            return {
                "along": where(near, along, where(inside, ahead, middle)),
                "low": low,
                "high": high,
                "done": where(near, 1.0, 0.0),
            }

        start = {"along": 1.0, "low": 0.0, "high": LARGE, "done": 0.0}
        return repeat(closer, SEARCHES, start, settled="done")["along"]


def _summed(
    step: Callable[..., dict[str, Any]], items: dict[str, Any], carry: dict[str, Any], count: Any
) -> dict[str, Array]:
    """Sums carried from contact to contact, and the other results of each."""
    return visit(lambda _, *parts: step(*parts), items, np.zeros((1, 1)), None, carry, count)
