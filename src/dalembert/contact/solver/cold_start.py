"""Impulses of contacts when nothing is known of a step before: all that close are held at once, and that is checked.

Where feet stand, stick or hang in the air that is the solution. Where some slide, each contact is put on its law beside
the others as they were, a few times: feet are tied to each other weakly, and a pass leaves some hundredth of the error.
Where that is slow, sweeps and Newton steps go on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.symmetric import factor
from dalembert.linear.zeros import mirrored, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, logical_or, maximum, minimum, repeat, where

from .carriers import Carrier
from .cones import TINY, contact_block, contact_impulse_on_lanes, regular
from .impulses import constraint_impulses, constraint_problem
from .iteration import ACCURACY, WELL_WITHIN, ConstraintImpulses, at_work, largest, newton_correction, settled
from .problem import ContactProblem
from .row_laws import ANY

DEPENDENT = 1e-5  # of its diagonal entry: a pivot below this, also of float32, belongs to what others hold already
PASSES = 10  # at most, of contacts one beside another
HALTING = 0.5  # a pass that leaves more than this share of the error before it is slow


class Held(NamedTuple):
    """Impulses p (k, 3) that hold contacts; right: whether the laws of all contacts are met."""

    p: np.ndarray
    right: Any


class ColdProblem(ContactProblem):
    """Contacts without moments and rows, of which nothing is known of a step before."""

    def impulses(self, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any) -> ConstraintImpulses:
        """All impulses on their laws."""
        columns = self.kinds[0].columns
        J, X, Y = (columns[name].reshape(-1, self.n) for name in "JXY")
        return impulses_from_rest(Carrier(self.M, J, X.T, Y.T), columns["c"].ravel(), columns["mu"], tolerance, finer)


def impulses_from_rest(
    carrier: Carrier, c: np.ndarray, mu: Sequence[Any], tolerance: Any = 0.0, finer: Any = None
) -> ConstraintImpulses:
    """Solve as `constraint_impulses` does, for k contacts without rows and velocities c (3 k,) without impulses."""
    G = mirrored(sparse_product(carrier.X.T, carrier.Y))
    held = held_impulses(G, c, mu)

    def swept(p: np.ndarray, slip: np.ndarray, change: Any, count: Any, done: Any) -> dict[str, Any]:
        solution = constraint_impulses(carrier, c, mu, (), (p, slip), tolerance, None, finer)
        return _state(solution._replace(passes=count + solution.passes))

    def moved(p: np.ndarray, *_: Any) -> dict[str, Any]:
        alone = impulses_one_beside_another(G, c, mu, p, tolerance, finer)
        return _state(_solution(repeat(swept, 1, _state(alone), "done")))

    def let_go(p: np.ndarray, slip: np.ndarray, *_: Any) -> dict[str, Any]:
        begin = _state(ConstraintImpulses(p, slip, 0.0, 0.0, 0.0))
        end = repeat(moved, 1, begin, "done", ACCURACY, newton_correction(constraint_problem(carrier, c, mu)))
        return _state(_solution(end)) | {"settled": end["done"], "done": 1.0}

    begin = _state(ConstraintImpulses(held.p.reshape(-1), np.zeros(len(mu)), 0.0, 0.0, where(held.right, 1.0, 0.0)))
    end = repeat(let_go, 1, begin | {"settled": 1.0}, "done")
    return _solution(end)._replace(settled=end["settled"])


def impulses_one_beside_another(
    G: np.ndarray, c: np.ndarray, mu: Sequence[Any], p: np.ndarray, tolerance: Any, finer: Any = None
) -> ConstraintImpulses:
    """From impulses p (3 k,) on, each contact on its law beside the others as they were, and again (Jacobi).

    A contact's error is what the others have changed in a pass, or its velocity where it sticks. The passes end where
    that falls slowly. Contacts of a pass do not wait for each other: they can be lanes of one vector.
    """
    places = [slice(3 * i, 3 * i + 3) for i in range(len(mu))]
    blocks, scale = [contact_block(G[at, at]) for at in places], largest(at_work(c.reshape(-1, 3)))
    finer = tolerance if finer is None else finer
    target = minimum(finer, WELL_WITHIN * tolerance)

    def one_pass(p: np.ndarray, slip: np.ndarray, u: np.ndarray, before: Any, done: Any) -> dict[str, Any]:
        b = [u[at] - block.W @ p[at] for at, block in zip(places, blocks, strict=True)]
        impulses, slips, errors = zip(*map(contact_impulse_on_lanes, blocks, mu, b, slip), strict=True)
        p = np.concatenate(impulses)
        u = c + sparse_product(G, p)
        missed = list(errors)
        for at, block, was, slipped in zip(places, blocks, b, slips, strict=True):
            sticks = logical_and(p[at][0] > 0.0, slipped == 0.0)
            others = u[at] - block.W @ p[at]
            missed += list(absolute(where(sticks, others + regular(block.W) @ p[at], others - was)))
        error = reduce(maximum, missed)
        done = where(error > HALTING * before, 1.0, settled(error, target, scale))
        return {"p": p, "slip": np.array(slips), "u": u, "error": error, "done": done}

    begin = {"p": p, "slip": np.zeros(len(mu)), "u": c + sparse_product(G, p), "error": ANY, "done": 0.0}
    end = repeat(one_pass, PASSES, begin, "done")
    done = settled(end["error"], finer, scale)
    return ConstraintImpulses(end["p"], end["slip"], end["error"], end["passes"], done)


def _state(x: ConstraintImpulses) -> dict[str, Any]:
    """The numbers of a repetition."""
    return {"p": x.p, "slip": x.slip, "change": x.change, "count": x.passes, "done": x.settled}


def _solution(state: dict[str, Any]) -> ConstraintImpulses:
    """The impulses of a repetition."""
    return ConstraintImpulses(state["p"], state["slip"], state["change"], state["count"], state["done"])


def held_impulses(G: np.ndarray, c: np.ndarray, mu: Sequence[Any]) -> Held:
    """G p = −c over the contacts whose normals would close, 0 for the others; G (3 k, 3 k)."""
    closed = [normal < 0.0 for normal in c[::3]]
    apart = []

    def pivot(row: int, left: Any) -> Any:
        """0 takes a row out: it changes no other, and its impulse is 0."""
        least = DEPENDENT * G[row, row] + TINY
        shut = closed[row // 3]
        apart.append(logical_or(logical_not(shut), left > least))
        return where(logical_and(shut, left > least), 1.0 / maximum(left, least), 0.0)

    p = factor(G, pivot=pivot).solve(-c)
    opening = c[::3] + sparse_product(G[::3], p)
    p = p.reshape(-1, 3)
    kept = [
        where(shut, _reach(each, friction), speed) >= 0.0
        for shut, each, friction, speed in zip(closed, p, mu, opening, strict=True)
    ]
    return Held(p, reduce(logical_and, [*apart, *kept]))


def _reach(p: np.ndarray, mu: Any) -> Any:
    """At least 0 where p (3,) lies in its cone."""
    return minimum(p[0], (mu * p[0]) * (mu * p[0]) - p[1:] @ p[1:])
