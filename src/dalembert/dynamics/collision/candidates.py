"""Where a shape may touch the ground: a fixed list of candidate points for each kind of shape.

The list has the same length and order in every pose, so that a compiled step has room for all of them, and what is
known about a candidate at one time is a good start for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import maximum, minimum, sqrt, where
from dalembert.shapes import Box, Cone, Cylinder, Ellipsoid, Shape
from dalembert.shapes.farthest import UPRIGHT
from dalembert.shapes.hull import Hull
from dalembert.shapes.segment import Point, Segment
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot

from .ground import Ground
from .witness import Witness, inflated, present, witness

ALL_VERTICES = 12  # of a hull that has no more, every vertex is a candidate; else the corners of its lowest face
LYING = 0.2  # cosine of the angle from a cylinder's axis to the normal: then only its two lowest points may touch
ROUND = ((1.0, 0.0), (-0.5, 0.75**0.5), (-0.5, -(0.75**0.5)))  # thirds of a circle: cosines and sines


def ground_points(shape: Any, X: Pose, ground: Ground) -> list[Witness]:
    """The candidates of a shape, placed at X in the world, against the ground: A is the shape, B the ground.

    Sphere and ellipsoid: 1, the nearest point; capsule: 2, its ends; box: 8 corners; cylinder: 4, the lowest point of
    each rim and two more of the lower one, where it does not lie; cone: its tip and 3 of its rim; hull: its vertices,
    or, where these are more than 12, the 4 corners of its lowest face. Those that are not there have the gap `FAR`.
    Of another class: those of its core; without a core its lowest point, and the 4 corners of its lowest face.
    """
    if kernel := KERNELS.get(type(shape)):
        return kernel(shape, X, ground)
    inner, radius = shape.core()
    if inner is shape:
        return _opaque(shape, X, ground)
    points = ground_points(inner, X, ground)
    return points if isinstance(radius, float) and radius == 0.0 else [inflated(w, radius, 0.0) for w in points]


def _point(shape: Point, X: Pose, ground: Ground) -> list[Witness]:
    return [_at(X.p, ground)]


def _segment(shape: Segment, X: Pose, ground: Ground) -> list[Witness]:
    half = shape.half * X.R[:, 2]
    return [_at(end, ground) for end in (X.p + half, X.p - half)]


def _box(shape: Box, X: Pose, ground: Ground) -> list[Witness]:
    return [_at(X.point(corner), ground) for corner in shape.corners()]


def _ellipsoid(shape: Ellipsoid, X: Pose, ground: Ground) -> list[Witness]:
    p = X.p
    for _ in range(2):  # the lowest point along the normal below the centre, then along the normal below that one
        _, normal = ground.tangent(p)
        stretched = shape.radii * (X.R.T @ normal)
        p = X.p - X.R @ (shape.radii * stretched) / sqrt(dot(stretched, stretched))
    return [_at(p, ground)]


def _cylinder(shape: Cylinder, X: Pose, ground: Ground) -> list[Witness]:
    x, y, up = _rim_axes(X, ground)
    axis, half, r = X.R[:, 2], 0.5 * shape.length, shape.radius
    lower = where(up > 0.0, -half, half) * axis
    lowest = [_at(X.p + p, ground) for p in (half * axis + r * x, -half * axis + r * x)]
    others = [_at(X.p + lower + r * (c * x + s * y), ground) for c, s in ROUND[1:]]
    return [*lowest, *(present(absolute(up) > LYING, w) for w in others)]


def _cone(shape: Cone, X: Pose, ground: Ground) -> list[Witness]:
    x, y, _ = _rim_axes(X, ground)
    axis, half, r = X.R[:, 2], 0.5 * shape.length, shape.radius
    points = [half * axis, *(-half * axis + r * (c * x + s * y) for c, s in ROUND)]
    return [_at(X.p + p, ground) for p in points]


def _hull(shape: Hull, X: Pose, ground: Ground) -> list[Witness]:
    if len(shape.vertices) <= ALL_VERTICES:
        return [_at(X.point(vertex), ground) for vertex in shape.vertices]
    return _lowest_face(shape, [], X, ground)


def _opaque(shape: Shape, X: Pose, ground: Ground) -> list[Witness]:
    p = X.p
    for _ in range(2):  # as of an ellipsoid
        _, normal = ground.tangent(p)
        lowest = shape.support(-(X.R.T @ normal))
        p = X.point(lowest)
    return [_at(p, ground), *_lowest_face(shape, [lowest], X, ground)]


def _lowest_face(shape: Shape, known: list[np.ndarray], X: Pose, ground: Ground) -> list[Witness]:
    """The corners of the lowest face that are not among those known already."""
    _, normal = ground.tangent(X.p)
    lowest = shape.face(-(X.R.T @ normal))
    return [present(_is_another(p, [*known, *lowest[:k]]), _at(X.point(p), ground)) for k, p in enumerate(lowest)]


KERNELS: dict[type, Callable[[Any, Pose, Ground], list[Witness]]] = {
    Point: _point,
    Segment: _segment,
    Box: _box,
    Ellipsoid: _ellipsoid,
    Cylinder: _cylinder,
    Cone: _cone,
    Hull: _hull,
}


def _is_another(p: np.ndarray, others: list[np.ndarray]) -> Any:
    """Whether a vertex is none of others: on an edge or a corner the corners of a face coincide."""
    apart = [p - other for other in others]
    return reduce(minimum, [dot(d, d) for d in apart], 1.0) > 0.0


def _at(point: np.ndarray, ground: Ground) -> Witness:
    gap, normal = ground.tangent(point)
    return witness(gap, point, normal)


def _rim_axes(X: Pose, ground: Ground) -> tuple[np.ndarray, np.ndarray, Any]:
    """Unit vectors along the radius of a rim that points down most, and across; how far the axis of a body points up.

    A body that stands upright has no lowest radius: it is the body's x axis then.
    """
    _, normal = ground.tangent(X.p)
    axis = X.R[:, 2]
    up = dot(normal, axis)
    down = up * axis - normal
    square = dot(down, down)
    stands = square < UPRIGHT * UPRIGHT
    x = where(stands, X.R[:, 0], down / sqrt(maximum(square, UPRIGHT * UPRIGHT)))
    return x, cross(axis, x), up
