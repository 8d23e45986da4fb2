"""Rays above a height field: from cell to cell, in each of which the height along a ray is a parabola."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_or, lookup, maximum, minimum, repeat, sqrt, where
from dalembert.spatial.vectors import dot

from .ground import Ground, HalfSpace, HeightField, value_and_slope
from .rays import NEVER, Hit, below

SLACK = 1e-9  # [m] beyond both ends of a cell, in which a meeting still counts


def ground_hit(ground: Ground, o: np.ndarray, d: np.ndarray, number: float) -> Hit:
    """Where a ray from o (3,) along a unit vector d (3,) meets a plane or a height field, from above."""
    if isinstance(ground, HeightField):
        return _field_hit(ground, o, d, number)
    assert isinstance(ground, HalfSpace)
    length, normal = below(ground.normal, ground.offset, o, d).hit
    return Hit(where(length < NEVER, length, NEVER), normal, number)


def _field_hit(field: HeightField, o: np.ndarray, d: np.ndarray, number: float) -> Hit:
    grids = field.xs, field.ys
    crossings = [_Crossings(grid, o[k], d[k]) for k, grid in enumerate(grids)]

    def above(t: Any) -> Any:
        return o[2] + t * d[2] - field(o[0] + t * d[0], o[1] + t * d[1])

    def step(t: Any, i: Any, j: Any, length: Any, settled: Any) -> dict[str, Any]:
        next_x, next_y = (c.time(k) for c, k in zip(crossings, (i, j), strict=True))
        end = minimum(next_x, next_y)
        last = end >= NEVER
        met = _met(above, t, where(last, t + 2.0, end), last)
        there = met < NEVER
        return {
            "t": where(last, t, maximum(end, t)),
            "i": i + where(next_x <= next_y, crossings[0].sign, 0.0),
            "j": j + where(next_x <= next_y, 0.0, crossings[1].sign),
            "length": met,
            "settled": logical_or(there, last),
        }

    passes = len(field.xs) + len(field.ys) + 2
    zero = 0.0 * dot(o, d)
    begin = {"t": zero, "i": crossings[0].first, "j": crossings[1].first, "length": NEVER + zero, "settled": 0.0}
    length = repeat(step, passes, begin, settled="settled")["length"]
    place = o + where(length < NEVER, length, 0.0) * d
    _, (zx, zy) = value_and_slope(field, place[0], place[1])
    return Hit(length, np.array([-zx, -zy, 1.0]) / sqrt(1.0 + zx * zx + zy * zy), number)


class _Crossings:
    """When a ray crosses the lines of a grid; first: number of the first of them, sign: in which order they come."""

    def __init__(self, grid: np.ndarray, start: Any, rate: Any) -> None:
        self.grid, self.start = grid, start
        self.stands = absolute(rate) == 0.0
        self.rate = where(self.stands, 1.0, rate)
        self.sign = where(rate > 0.0, 1.0, -1.0)
        passed = sum((where(start >= x, 1.0, 0.0) for x in grid), 0.0 * start)
        behind = sum((where(start > x, 1.0, 0.0) for x in grid), 0.0 * start)
        self.first = where(rate > 0.0, passed, behind - 1.0)

    def time(self, k: Any) -> Any:
        """The time [m] at which the line with a number is crossed; NEVER beyond the outermost."""
        known = logical_and(k >= 0.0, k <= float(len(self.grid) - 1))
        t = (lookup(self.grid, k) - self.start) / self.rate
        return where(logical_and(known, absolute(self.rate) > 0.0), where(self.stands, NEVER, t), NEVER)


def _met(above: Any, t0: Any, t1: Any, last: Any) -> Any:
    """Where a parabola through its values at both ends and in the middle goes through zero from above; else NEVER.

    last: what begins at t0 has no end.
    """
    half = 0.5 * (t1 - t0)
    f0, f1, f2 = above(t0), above(t0 + half), above(t1)
    bend = where(last, 0.0, f0 - 2.0 * f1 + f2)  # beyond the last line of the grid, the ground is level
    a, b = 0.5 * bend, f1 - f0 - 0.5 * bend  # f0 + b s + a s², s = (t − t0) / half
    root = b * b - 4.0 * a * f0
    low = -b + sqrt(maximum(root, 0.0))
    bends = a < 0.0
    later = where(bends, -b / where(bends, a, -1.0), -1.0)  # of a ray that starts on the ground and comes back to it
    s = where(low != 0.0, 2.0 * f0 / where(low != 0.0, low, 1.0), later)
    slack = SLACK / maximum(half, SLACK)
    inside = logical_and(s >= -slack, logical_or(last, s <= 2.0 + slack))
    falls = root >= 0.0
    return where(logical_and(inside, falls), maximum(t0 + s * half, 0.0), NEVER)
