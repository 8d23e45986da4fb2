"""Nearest points of convex shapes by bisection: slow, plain, exact to rounding, and without anything that is tested.

Along a unit vector n out of B, shapes are apart by s(n) = n · (a − b), with the first points a of A against n and b of
B along n; their signed distance is the largest s. Near its maximum s(m) / |m| of all vectors m in a plane has one
maximum along every line. Its slope needs no difference of numbers that are almost equal, and where it jumps, at a flat
side, the points on both sides of the jump are mixed so that none is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

WIDTH = 1e-2  # how far the answer is looked for on either side of the start, as the tangent of an angle
HALVINGS = 50
TINY = 1e-300
EDGE = 0.9  # of the width: an answer beyond it may be none


class Solid(NamedTuple):
    """A placed shape: its farthest point along a direction, in its frame, without a radius [m] all around."""

    farthest: Callable[[np.ndarray], np.ndarray]
    radius: float
    R: np.ndarray
    p: np.ndarray

    def first(self, n: np.ndarray) -> np.ndarray:
        return self.p + self.R @ self.farthest(self.R.T @ n)


class Exact(NamedTuple):
    """Signed distance, points on A and B, and normal out of B."""

    distance: float
    a: np.ndarray
    b: np.ndarray
    normal: np.ndarray


def ellipsoid(radii: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda d: radii * radii * d / np.linalg.norm(radii * d)


def segment(half: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda d: np.array([0.0, 0.0, np.copysign(half, d[2])])


def _rim(radius: float, d: np.ndarray) -> np.ndarray:
    """(2,): the point of a circle farthest along d; where all are, its centre."""
    return radius * d[:2] / max(np.hypot(*d[:2]), TINY)


def cylinder(radius: float, half: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda d: np.array([*_rim(radius, d), np.copysign(half, d[2])])


def cone(radius: float, half: float) -> Callable[[np.ndarray], np.ndarray]:
    tip = np.array([0.0, 0.0, half])

    def farthest(d: np.ndarray) -> np.ndarray:
        base = np.array([*_rim(radius, d), -half])
        return tip if d @ tip > d @ base else base

    return farthest


def corners(points: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda d: points[np.argmax(points @ d)]


def box(half: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda d: np.copysign(half, d)


class _Sample(NamedTuple):
    m: np.ndarray
    a: np.ndarray
    b: np.ndarray

    def slope(self, t: np.ndarray) -> float:
        """Of s(m) / |m| along t, times |m|³."""
        w = self.a - self.b
        return float((t @ w) * (self.m @ self.m) - (self.m @ w) * (self.m @ t))


def _highest(sample: Callable[[float], _Sample], along: np.ndarray) -> _Sample:
    """Where the slope along a line vanishes; where it jumps, a mix of both sides without slope."""
    low, high = -WIDTH, WIDTH
    below, above = sample(low), sample(high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        here = sample(middle)
        if here.slope(along) > 0.0:
            low, below = middle, here
        else:
            high, above = middle, here
    up, down = below.slope(along), above.slope(along)
    share = up / (up - down) if up > 0.0 > down else 0.5
    return _Sample(*(x + share * (y - x) for x, y in zip(below, above, strict=True)))


def exact(a: Solid, b: Solid, start: np.ndarray) -> Exact:
    """The answer near a normal (3,), out of B towards A."""
    u = np.cross(start, np.eye(3)[np.argmin(np.abs(start))])
    u /= np.linalg.norm(u)
    v = np.cross(start, u)

    def at(x: float, y: float) -> _Sample:
        m = start + x * u + y * v
        return _Sample(m, a.first(-m), b.first(m))

    best = _highest(lambda x: _highest(lambda y: at(x, y), v), u)
    assert max(abs(best.m @ u), abs(best.m @ v)) < EDGE * WIDTH
    n = best.m / np.linalg.norm(best.m)
    distance = float(n @ (best.a - best.b)) - a.radius - b.radius
    return Exact(distance, best.a - a.radius * n, best.b + b.radius * n, n)
