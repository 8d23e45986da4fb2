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

# Parts of a law: force of one sign alone, held at the lower end, free, held at the upper end, force of the other sign
PUSHED, LOWER, FREE, UPPER, PULLED = -2.0, -1.0, 0.0, 1.0, 2.0


class Law(NamedTuple):
    """The law of one row: see the head of this file. Velocities low ≤ high; the largest impulse, most ≥ 0."""

    low: Any = 0.0
    high: Any = ANY
    most: Any = ANY


def row_impulse(law: Law, g: Any, u: Any) -> Any:
    """The impulse of one row with the velocity u without it; g: the velocity that a unit impulse gives it."""
    target = where(u < law.low, law.low, law.high)
    touched = logical_or(u < law.low, u > law.high)
    return where(touched, clip((target - u) / maximum(g, 1.0 / ANY), -law.most, law.most), 0.0)


def row_part(law: Law, part: Any, p: Any, u: Any, give: Any, size: Any, compliance: Any) -> tuple[Any, Any]:
    """(K, d) of a row: held with some give, or pushing with an impulse that is known."""
    held = logical_and(logical_and(absolute(part) > 0.5, absolute(part) < 1.5), law.most > 0.0)
    stiffness = 1.0 / (give * size + TINY)
    K = where(held, stiffness / (1.0 + stiffness * compliance), 0.0)
    pushed = where(part < -1.5, law.most, where(part > 1.5, -law.most, 0.0))
    return K, where(held, K * (where(part < 0.0, law.low, law.high) - u - compliance * p), pushed - p)


def part_of(law: Law, p: Any) -> Any:
    """The part of its law that an impulse is on."""
    pinned = law.low == law.high  # nothing lies between the ends, held at one is held at the other
    positive, negative = where(p < law.most, LOWER, PUSHED), where(p > -law.most, UPPER, PULLED)
    part = where(p > 0.0, positive, where(p < 0.0, negative, where(pinned, LOWER, FREE)))
    return where(law.most > 0.0, part, FREE)


def next_part(law: Law, part: Any, p: Any, u: Any) -> Any:
    """The same part if (p, u) is on it, else the neighbour towards which it was left."""
    pinned = law.low == law.high
    inward_lower = where(pinned, where(p < -law.most, PULLED, LOWER), where(p < 0.0, FREE, LOWER))
    inward_upper = where(pinned, where(p > law.most, PUSHED, UPPER), where(p > 0.0, FREE, UPPER))
    lower, upper = where(p > law.most, PUSHED, inward_lower), where(p < -law.most, PULLED, inward_upper)
    free = where(u < law.low, LOWER, where(u > law.high, UPPER, FREE))
    pushed, pulled = where(u > law.low, LOWER, PUSHED), where(u < law.high, UPPER, PULLED)
    below, above = where(part < -1.5, pushed, lower), where(part > 1.5, pulled, upper)
    following = where(absolute(part) < 0.5, free, where(part < 0.0, below, above))
    return where(law.most > 0.0, following, FREE)
