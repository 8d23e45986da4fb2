"""The law of a row with one impulse: a falling staircase, the impulse p as a function of the velocity u.

    p = most for u < low,   0 … most at u = low,   0 between,   −most … 0 at u = high,   −most for u > high.

A stop pushes with any force at its ends (most = ANY); dry friction has low = high and slides with ±most. A row that
can have no impulse, as friction of a contact without load, is free and never held.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_or, maximum, where

from .cones import TINY

ANY = 1e30  # a velocity that no row has, and an impulse that no row needs


class Law(NamedTuple):
    """The law of one row: see the head of this file. Velocities low ≤ high; the largest impulse, most ≥ 0."""

    low: Any = 0.0
    high: Any = ANY
    most: Any = ANY


def moment_law(lever: Any, normal: Any) -> Law:
    """Friction about an axis of a contact with a normal impulse: at most `lever` [m] times it."""
    return Law(0.0, 0.0, lever * maximum(normal, 0.0))


def row_impulse(law: Law, g: Any, u: Any) -> Any:
    """The impulse of one row with the velocity u without it; g: the velocity that a unit impulse gives it."""
    target = where(u < law.low, law.low, law.high)
    touched = logical_or(u < law.low, u > law.high)
    return where(touched, clip((target - u) / maximum(g, 1.0 / ANY), -law.most, law.most), 0.0)


def yielding_row(law: Law, held: Any, u: Any, give: Any, compliance: Any) -> tuple[Any, Any]:
    """The impulse p of a row at the velocity u, and K = −dp/du, where its law gives way a little.

    A row that is held is a damper about the impulse `held`: it gives way by `give` and by its compliance [velocity per
    impulse].
    """
    stiffness = 1.0 / (give + compliance + TINY)
    moved = u + compliance * held
    below, above = held - stiffness * (moved - law.low), held - stiffness * (moved - law.high)
    held_at = logical_or(logical_or(below > 0.0, above < 0.0), law.low == law.high)
    p = where(held_at, where(above < 0.0, above, below), 0.0)
    return clip(p, -law.most, law.most), where(logical_and(held_at, absolute(p) < law.most), stiffness, 0.0)
