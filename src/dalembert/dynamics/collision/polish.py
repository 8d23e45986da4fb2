"""Nearest points and normals made exact: Newton's method, from an answer that an iteration has found.

About the best normal distance and depth are flat: an iteration that compares them finds it to the square root of
rounding only. The slope of the separation s(n) = n · (a − b), with the first points a of A against n and b of B along
n, vanishes there, and is known to rounding. With the curvatures of both surfaces (`curvature`), Newton's method takes
one or two steps; along a flat side the normal is that of the side. Which sides are flat where the points lie is
guessed from the normal, widely at first. Along a side that is none s gets smaller, or the points leave the side: then
it begins again with a narrower guess.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import held, logical_and, logical_not, logical_or, maximum, repeat, sqrt, where
from dalembert.math.elementary import is_precise
from dalembert.shapes import Box, Cone, Cylinder
from dalembert.shapes.farthest import tangents
from dalembert.shapes.segment import Segment
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .cores import over_faces
from .curvature import SHARED, by_rank, solved, surface, turned, turned_by
from .hulls import Hull, TabledHull
from .witness import Witness

PASSES = 16
WIDE = 1e-2  # [rad], and of the size of a hull: how far at first a flat side may be from normal and point
NARROWER = 0.03  # of that, after a guess that was wrong
BENT = 0.1  # of the squared angle and of the size: s may fall so far for a while, as normals of a cone are on a circle
LONGEST = 5e-2  # [rad]: a longer step leads to another minimum
NEAR = 5e-2  # of the size of the shapes: a point that moves farther is another one


class PolishLimits(NamedTuple):
    """Limits that depend on the precision of numbers."""

    narrow: Any  # the last guess
    settled: Any  # [rad]: the step after one so short would be below rounding, since Newton's method squares the error
    worse: Any  # of the size of the shapes: how much smaller s may become, by rounding
    meet: Any  # of the size of the shapes: how far from each other across the normal points may be


DOUBLE = PolishLimits(1e-9, 1e-7, 1e-14, 1e-9)
SINGLE = PolishLimits(1e-4, 1e-3, 1e-6, 1e-5)


def polished(a: Any, b: Any, X_AB: Pose, w: Witness, size: Any) -> Witness:
    """The witness w of two cores in A's frame, made exact, or as it is where that fails; size [m] of both."""

    def first(n: np.ndarray) -> np.ndarray:
        """The first points of A against n and of B along n (2, 3)."""
        return np.array([a.support(-n), X_AB.point(b.support(X_AB.R.T @ n))])

    def step(n: Any, ends: Any, points: Any, along: Any, lost: Any, good: Any, settled: Any) -> dict[str, Any]:
        turn, moved = _newton(a, b, X_AB, n, ends, points, along, size)
        angle = sqrt(dot(turn, turn))
        ahead = (n + turn) / sqrt(1.0 + angle * angle)
        ends_ahead = first(ahead)
        fallen = dot(n, ends[0] - ends[1]) - dot(ahead, ends_ahead[0] - ends_ahead[1])
        grows = fallen <= (limits.worse + BENT * angle * angle) * size
        moved = moved + np.multiply.outer((ends_ahead - moved) @ ahead, ahead)  # onto the planes across the normal
        taken = logical_and(logical_and(grows, angle < LONGEST), _near(moved - points, NEAR * size))
        # a flat side that ends before the point is the wrong one
        beyond = maximum(outside(a, moved[0]), outside(b, X_AB.R.T @ (moved[1] - X_AB.p)))
        taken = logical_and(taken, beyond < (angle + limits.meet) * size)
        taken = logical_and(taken, logical_or(angle > limits.settled, lost + fallen <= limits.worse * size))
        done = logical_and(taken, angle < limits.settled)
        return {
            "n": where(taken, ahead, begin["n"]),
            "ends": where(taken, ends_ahead, begin["ends"]),
            "points": where(taken, moved, begin["points"]),
            "along": where(taken, along, NARROWER * along),
            "lost": where(taken, lost + fallen, 0.0),
            "good": where(logical_and(done, _meet(moved, ahead, limits.meet * size)), 1.0, good),
            "settled": logical_or(done, logical_and(logical_not(taken), along <= limits.narrow)),
        }

    normal = held(w.normal)
    precise = is_precise(1.0 + absolute(normal[0]))
    limits = PolishLimits(*(where(precise, double, single) for double, single in zip(DOUBLE, SINGLE, strict=True)))
    begin = {"n": normal, "ends": first(normal), "points": held(np.array([w.a, w.b]))}
    end = repeat(step, PASSES, {**begin, "along": WIDE, "lost": 0.0, "good": 0.0, "settled": 0.0}, settled="settled")
    n, a_point, b_point = held(end["n"]), held(end["points"][0]), held(X_AB.inverse().point(end["points"][1]))
    distance = dot(n, a_point - X_AB.point(b_point))
    exact = Witness(distance, a_point, a_point - distance * n, n)
    return Witness(*(where(held(end["good"]) > 0.5, x, y) for x, y in zip(exact, w, strict=True)))


def _newton(
    a: Any, b: Any, X_AB: Pose, n: np.ndarray, ends: np.ndarray, points: np.ndarray, along: Any, size: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step across n (3,), and the points (2, 3) after it: as they were, along flat sides."""
    T = np.array(tangents(n)).T
    on_b = X_AB.R.T @ (points[1] - X_AB.p)
    sides = surface(a, points[0], -n, along), turned(surface(b, on_b, X_AB.R.T @ n, along), X_AB.R)
    A, B = (side.seen(T) for side in sides)
    d, apart = dot(n, ends[0] - ends[1]), T.T @ (ends[0] - ends[1])
    to_a, to_b = (-(T.T @ (side.P @ n)) for side in sides)
    M = (A.K + B.K + d * np.eye(2)) / size
    turn = turned_by(M, apart / size, *by_rank(a, b, ((A, to_a), (B, to_b))))
    x_a, x_b = (side.P @ (T.T @ (p - end)) for side, p, end in zip((A, B), points, ends, strict=True))
    x_a, x_b = x_a - A.K @ turn, x_b + B.K @ turn
    slid = solved(A.P + B.P + SHARED * np.eye(2), d * turn - apart - x_a + x_b)
    return T @ turn, ends + np.array([T @ (x_a + A.P @ slid), T @ (x_b - B.P @ slid)])


def _near(ways: np.ndarray, most: Any) -> Any:
    """Whether two points (2, 3) move no farther than that."""
    return logical_and(*(dot(way, way) < most * most for way in ways))


def _meet(points: np.ndarray, n: np.ndarray, most: Any) -> Any:
    """Whether two points (2, 3) face each other along n, but for that [m]."""
    w = points[0] - points[1]
    aside = w - dot(n, w) * n
    return dot(aside, aside) < most * most


@singledispatch
def outside(shape: Any, p: np.ndarray) -> Any:
    """How far a point (3,) in the plane of a flat side, or on its line, is beyond its ends [m], more or less.

    This one: a shape without flat sides.
    """
    return -1.0


@outside.register
def _(shape: Segment, p: np.ndarray) -> Any:
    return absolute(p[2]) - shape.half


@outside.register
def _(shape: Box, p: np.ndarray) -> Any:
    x, y, z = (absolute(c) - 0.5 * size for c, size in zip(p, shape.size, strict=True))
    return maximum(maximum(x, y), z)


@outside.register(Cylinder)
@outside.register(Cone)
def _(shape: Cylinder | Cone, p: np.ndarray) -> Any:
    out = sqrt(p[0] * p[0] + p[1] * p[1])
    return maximum(absolute(p[2]) - 0.5 * shape.length, out - shape.radius)


@outside.register(Hull)
@outside.register(TabledHull)
def _(shape: Hull | TabledHull, p: np.ndarray) -> Any:
    def face(best: Any, normal: Any, offset: Any) -> dict[str, Any]:
        return {"best": maximum(best, np.array([dot(normal, p) - offset]))}

    return over_faces(shape, face, np.array([-np.inf]))[0]
