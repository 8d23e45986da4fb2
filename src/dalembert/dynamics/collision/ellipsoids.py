"""Signed distance of two ellipsoids, or of an ellipsoid and a point: Newton's method on the normal.

Along a unit vector n out of B, shapes A and B are apart by s(n) = −h_A(−n) − h_B(n), with the farthest points in closed
form; their distance is the largest s(n), negative where they overlap. Ellipsoids have no flat sides: s is smooth. Where
they are apart it has one maximum; where they overlap it may have several, and the better of two starts is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import held, logical_or, maximum, minimum, repeat, sqrt, where
from dalembert.math.tolerances import TINY
from dalembert.shapes import Ellipsoid
from dalembert.shapes.farthest import tangents
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .directions import around, computed_where, largest
from .lines import unit
from .witness import Witness

PASSES = 40
DIRECTIONS = around(7)  # 15° apart
LONGEST = 0.5  # [rad]: no step turns the normal by more
SHORT = 1e-4  # [rad]: a step so short is taken whether s grows, which rounding then decides, or not
SETTLED = 1e-6  # [rad]: the step after one so short is the last, since Newton's method squares the error
FLAT = 1e-9  # of the size of the shapes: the least curvature of s that a step relies on
DAMPED = 0.1  # of the size of the shapes: the first damping after a step that was too long


class Separation(NamedTuple):
    """The points of A and B that come first along a normal, in A's frame [m]; second derivatives of s (3, 3)."""

    a: np.ndarray
    b: np.ndarray
    hessian: np.ndarray


class Ellipsoids(NamedTuple):
    """Two shapes in A's frame, each a matrix Q with h(n) = √(n·Q n), None for a point; centre of B and size [m]."""

    Q_a: np.ndarray | None
    Q_b: np.ndarray | None
    centre: np.ndarray
    size: Any

    def apart(self, n: np.ndarray) -> Any:
        """s(n) [m]."""
        s = -dot(n, self.centre)
        for Q in (self.Q_a, self.Q_b):
            if Q is not None:
                s = s - sqrt(dot(n, Q @ n))
        return s

    def at(self, n: np.ndarray) -> Separation:
        """All about s(n), but its value: n · (a − b)."""
        a, b, hessian = np.zeros(3), self.centre, np.zeros((3, 3))
        for Q, side in ((self.Q_a, -1.0), (self.Q_b, 1.0)):
            if Q is not None:
                h = sqrt(dot(n, Q @ n))
                point = Q @ n / h
                hessian = hessian - (Q - np.multiply.outer(point, point)) / h
                a, b = (a - point, b) if side < 0.0 else (a, b + point)
        return Separation(a, b, hessian)

    def step(self, n: np.ndarray, damping: Any) -> np.ndarray:
        """Newton's step (3,) across a unit vector n to the maximum; damping [m] makes it shorter.

        Where s curves upwards on the sphere it is taken to curve downwards by as much.
        """
        a, b, hessian = self.at(n)
        u, v = tangents(n)
        s, g, Hu, Hv = dot(n, a - b), (dot(u, a - b), dot(v, a - b)), hessian @ u, hessian @ v
        k11, k12, k22 = dot(u, Hu) - s, dot(u, Hv), dot(v, Hv) - s
        half = 0.5 * (k11 - k22)
        upward = 0.5 * (k11 + k22) + sqrt(half * half + k12 * k12 + TINY)  # the larger of the two curvatures
        flat = FLAT * self.size
        shift = damping + where(upward > -flat, 2.0 * maximum(upward, 0.0) + flat, 0.0)
        k11, k22 = k11 - shift, k22 - shift
        scale = 1.0 / (k11 * k22 - k12 * k12)
        return (k12 * g[1] - k22 * g[0]) * scale * u + (k12 * g[0] - k11 * g[1]) * scale * v

    def refined(self, n: np.ndarray) -> np.ndarray:
        """The normal (3,) of the maximum of s near n."""

        def one(n: Any, damping: Any, settled: Any) -> dict[str, Any]:
            step = self.step(n, damping)
            angle = sqrt(dot(step, step) + TINY)
            turned = turn(n, minimum(1.0, LONGEST / angle) * step)
            good = logical_or(self.apart(turned) >= self.apart(n), angle < SHORT)
            damping = where(good, 0.0, maximum(4.0 * damping, DAMPED * self.size))
            return {"n": where(good, turned, n), "damping": damping, "settled": angle < SETTLED}

        return repeat(one, PASSES, {"n": n, "damping": 0.0, "settled": 0.0}, settled="settled")["n"]


def turn(n: np.ndarray, step: np.ndarray) -> np.ndarray:
    """n turned by a small step across it; a unit vector."""
    return (n + step) / sqrt(1.0 + dot(step, step))


def between_ellipsoids(a: Ellipsoid | None, b: Ellipsoid | None, X_AB: Pose, size: Any) -> Witness:
    """The witness of two ellipsoids, None for a point, in A's frame; size [m] of both together."""
    shapes = _placed(a, b, X_AB, size)
    outside = shapes.refined(unit(-X_AB.p)[1])
    overlapping = shapes.apart(outside) <= 0.0
    deep = computed_where(overlapping, lambda X: _deepest(_placed(a, b, X, size)), X_AB, 3)
    normal = held(where(overlapping, deep, outside))
    n = turn(normal, shapes.step(normal, 0.0))  # its slopes are those of the solution
    at = shapes.at(n)
    return Witness(dot(n, at.a - at.b), at.a, at.b, n)


def _deepest(shapes: Ellipsoids) -> np.ndarray:
    """The normal (3,) along which shapes that overlap do so least."""
    directions = np.array([unit(-shapes.centre)[1], *DIRECTIONS])
    first = largest(shapes.apart, directions)
    second = largest(shapes.apart, directions, away=first)
    n, other = shapes.refined(first), shapes.refined(second)
    return where(shapes.apart(other) > shapes.apart(n), other, n)


def _placed(a: Ellipsoid | None, b: Ellipsoid | None, X_AB: Pose, size: Any) -> Ellipsoids:
    Q_a = None if a is None else np.diag(a.radii * a.radii)
    Q_b = None if b is None else X_AB.R @ np.diag(b.radii * b.radii) @ X_AB.R.T
    return Ellipsoids(Q_a, Q_b, X_AB.p, size)
