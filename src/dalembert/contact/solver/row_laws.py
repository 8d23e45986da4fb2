"""The law of a row with one impulse: a falling staircase, the impulse p as a function of the velocity u.

    p = most for u < low,   0 … most at u = low,   0 between,   −most … 0 at u = high,   −most for u > high.

A stop pushes with any force at its ends (most = ANY); dry friction has low = high and slides with ±most. A row that
can have no impulse, as friction of a contact without load, is free and never held.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_or, maximum, where

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


def active_part(law: Law, p: Any, u: Any, size: Any) -> Any:
    """Number of the part of its law that a row is on: 0 free, ±1 held at low or high, ±2 with all its impulse.

    u: velocity of what gives way as well; size: what an impulse gives it.
    """
    below, above = p - (u - law.low) / maximum(size, 1.0 / ANY), p - (u - law.high) / maximum(size, 1.0 / ANY)
    pinned = law.low == law.high
    pushes = where(below < law.most, 1.0, 2.0)
    pulls = where(above > -law.most, where(pinned, 1.0, -1.0), -2.0)
    return where(below > 0.0, pushes, where(above < 0.0, pulls, where(pinned, pushes, 0.0)))


def linear_row(law: Law, p: Any, u: Any, part: Any, give: Any) -> tuple[Any, Any]:
    """Change of the impulse p of a row on a part of its law at the velocity u, and K = −dp/du.

    A row that is held gives way by `give` [velocity per impulse], its compliance included.
    """
    K = where(absolute(part) == 1.0, 1.0 / (give + TINY), 0.0)
    towards = where(part > 1.5, law.most, where(part < -1.5, -law.most, 0.0)) - p
    return where(absolute(part) == 1.0, -K * (u - where(part > 0.0, law.low, law.high)), towards), K
