"""Impulses of contacts when nothing is known of a step before: all that close are held at once, and that is checked.

Where feet stand, stick or hang in the air that is the solution. Else what it gives, brought into the cones, is where
sweeps and Newton steps start.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import logical_and, logical_not, logical_or, maximum, minimum, repeat, sqrt, where

from .cones import TINY
from .impulses import Carrier, constraint_impulses
from .iteration import ConstraintImpulses
from .symmetric import factor
from .zeros import sparse_product

DEPENDENT = 1e-5  # of its diagonal entry: a pivot below this, also of float32, belongs to what others hold already


class Held(NamedTuple):
    """Impulses p (k, 3) that hold contacts; right: whether the laws of all contacts are met."""

    p: np.ndarray
    right: Any


def impulses_from_rest(
    carrier: Carrier, c: np.ndarray, mu: Sequence[Any], tolerance: Any = 0.0, finer: Any = None
) -> ConstraintImpulses:
    """As `constraint_impulses`, of k contacts without rows, for velocities c (3 k,) without impulses."""
    held = held_impulses(carrier, c, mu)

    def corrected(p: np.ndarray, *_: Any) -> dict[str, Any]:
        within = np.concatenate([_in_cone(each, friction) for each, friction in zip(p.reshape(-1, 3), mu, strict=True)])
        start = within, np.zeros(len(mu))
        return _state(constraint_impulses(carrier, c, mu, (), start, tolerance, None, finer), 1.0)

    begin = ConstraintImpulses(held.p.reshape(-1), np.zeros(len(mu)), 0.0, 0.0, 1.0)
    end = repeat(corrected, 1, _state(begin, where(held.right, 1.0, 0.0)), "done")
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["settled"])


def _state(x: ConstraintImpulses, done: Any) -> dict[str, Any]:
    """The numbers of a repetition."""
    return {"p": x.p, "slip": x.slip, "change": x.change, "count": x.passes, "settled": x.settled, "done": done}


def held_impulses(carrier: Carrier, c: np.ndarray, mu: Sequence[Any]) -> Held:
    """G p = −c over the contacts whose normals would close, 0 for the others; G = Xᵀ Y (3 k, 3 k)."""
    G = sparse_product(carrier.X.T, carrier.Y)
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


def _in_cone(p: np.ndarray, mu: Any) -> np.ndarray:
    """Tangents no longer than the friction of a normal that pushes allows."""
    pushed = maximum(p[0], 0.0)
    return np.concatenate([[pushed], p[1:] * minimum(1.0, mu * pushed / sqrt(p[1:] @ p[1:] + TINY))])
