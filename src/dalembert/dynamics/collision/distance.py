"""Signed distance of two shapes.

Spheres and capsules are cores, a point and a segment, with a radius around them: their distances are those of the cores
less the radii, and so are depths of overlap. Points, segments and boxes have closed forms, a point and a cylinder or
prism too; ellipsoids take Newton's method (`ellipsoids`). All others take an iteration where they are apart (`gjk`);
where they overlap, boxes and hulls the faces and edges of both (`axes`), round shapes a search (`penetration`). What is
found of round shapes is made exact in the end (`polish`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, where
from dalembert.math.elementary import is_precise
from dalembert.shapes import Box, Cone, Cylinder, Ellipsoid, Plane, Shape
from dalembert.shapes.segment import Point, Segment
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from . import gjk
from .axes import overlap
from .candidates import ground_points
from .curvature import ROUND, moving
from .ellipsoids import between_ellipsoids
from .ground import Ground, plane
from .hulls import Hull, TabledHull
from .lines import any_across, between_segments, crossing_normal, from_box, from_cylinder, segment_near_box, unit
from .opaque import Opaque
from .penetration import CorePair, penetration
from .polish import polished
from .prisms import Prism, from_prism
from .witness import Witness, chosen, inflated, nearer


class Rounding(NamedTuple):
    """A difference in height, as a share of a size, that counts as none: in double and in single precision."""

    double: float
    single: float

    def of(self, number: Any, size: Any) -> Any:
        """For a size [m]; number: any that the program computes, which tells its precision."""
        return where(is_precise(1.0 + absolute(number)), self.double, self.single) * size


EXACT = Rounding(0.0, 0.0)


def distance(a: Any, X_a: Pose, b: Any, X_b: Pose) -> Witness:
    """Signed distance of two shapes placed in the world, with the points and the normal that it is along.

    Where they overlap it is the least motion of A, along the normal, after which they only touch. b may be a `Ground`,
    which needs no pose.
    """
    if isinstance(b, Ground):
        points = ground_points(a, X_a, b)
        nearest = points[0]
        for other in points[1:]:
            nearest = nearer(nearest, other)
        return nearest
    if type(b) is Plane:
        return distance(a, X_a, plane(b.normal, X_b), X_b)
    if type(a) is Plane:
        return distance(b, X_b, plane(a.normal, X_a), X_a).swapped()
    (core_a, radius_a), (core_b, radius_b) = core(a), core(b)
    X_AB = X_a.inverse() @ X_b
    local = between(core_a, core_b, X_AB)
    w = inflated(local, radius_a, radius_b)
    return Witness(w.distance, X_a.point(w.a), X_a.point(w.b), X_a.R @ w.normal)


def core(shape: Any) -> tuple[Any, Any]:
    """The core of a shape, that is, the shape without a radius all around, and that radius [m].

    Of a class for which no kernel is written, it is `Opaque`.
    """
    inner, radius = shape.core() if isinstance(shape, Shape) else (shape, 0.0)
    if type(inner) in CORES:
        return inner, radius
    if inner is shape:
        return Opaque(shape), 0.0
    inner, more = core(inner)
    return inner, radius + more


def between(a: Any, b: Any, X_AB: Pose, level: Rounding = EXACT) -> Witness:
    """The witness of two cores, in A's frame.

    level: flat shapes nearer than this touch, with the normal of a face if there is one: the direction between points
    so near to each other is rounding, and equal faces would take turns.
    """
    if kernel := KERNELS.get((type(a), type(b))):
        return kernel(a, b, X_AB)
    if kernel := KERNELS.get((type(b), type(a))):
        w = kernel(b, a, X_AB.inverse()).swapped()
        return Witness(w.distance, X_AB.point(w.a), X_AB.point(w.b), X_AB.R @ w.normal)
    return _convex(a, b, X_AB, level)


def _points(a: Point, b: Point, X_AB: Pose) -> Witness:
    length, normal = unit(-X_AB.p)
    return Witness(length, np.zeros(3), X_AB.p, normal)


def _segment_point(a: Segment, b: Point, X_AB: Pose) -> Witness:
    z = where(X_AB.p[2] > a.half, a.half, where(X_AB.p[2] < -a.half, -a.half, X_AB.p[2]))
    p, q = np.array([0.0, 0.0, z]), X_AB.p
    length, normal = unit(p - q, np.array([1.0, 0.0, 0.0]))
    return Witness(length, p, q, normal)


def _point_segment(a: Point, b: Segment, X_AB: Pose) -> Witness:
    t = -dot(X_AB.p, X_AB.R[:, 2])
    t = where(t > b.half, b.half, where(t < -b.half, -b.half, t))
    p, q = np.zeros(3), X_AB.p + t * X_AB.R[:, 2]
    length, normal = unit(p - q, any_across(b.half * X_AB.R[:, 2]))
    return Witness(length, p, q, normal)


def _segments(a: Segment, b: Segment, X_AB: Pose) -> Witness:
    half_a, half_b = np.array([0.0, 0.0, a.half]), b.half * X_AB.R[:, 2]
    p, q = between_segments(np.zeros(3), half_a, X_AB.p, half_b)
    length, normal = unit(p - q, crossing_normal(half_a, half_b))
    return Witness(length, p, q, normal)


def _box_point(box: Box, b: Point, X: Pose) -> Witness:
    length, normal = from_box(X.p, 0.5 * box.size)
    return Witness(length, X.p, X.p - length * normal, normal).swapped()


def _box_segment(box: Box, segment: Segment, X: Pose) -> Witness:
    size, half = 0.5 * box.size, segment.half * X.R[:, 2]
    p = X.p + segment_near_box(X.p, half, size) * half
    length, normal = from_box(p, size)
    outside = Witness(length, p, p - length * normal, normal)
    apart = length > gjk.TOUCHING * (segment.extent + box.extent)
    w = overlap(box, segment, X, logical_not(apart)).swapped()
    return chosen(apart, outside, w).swapped()


def _cylinder_point(a: Cylinder, b: Point, X_AB: Pose) -> Witness:
    length, normal = from_cylinder(X_AB.p, a.radius, 0.5 * a.length)
    return Witness(length, X_AB.p - length * normal, X_AB.p, -normal)


def _prism_point(a: Prism, b: Point, X_AB: Pose) -> Witness:
    length, normal = from_prism(X_AB.p, a)
    return Witness(length, X_AB.p - length * normal, X_AB.p, -normal)


def _ellipsoids(a: Any, b: Any, X_AB: Pose) -> Witness:
    first, second = (shape if isinstance(shape, Ellipsoid) else None for shape in (a, b))
    return between_ellipsoids(first, second, X_AB, a.extent + b.extent)


Kernel = Callable[[Any, Any, Pose], Witness]

# exact types of both cores → the witness in the first one's frame; all other pairs take `_convex`
KERNELS: dict[tuple[type, type], Kernel] = {
    (Point, Point): _points,
    (Segment, Point): _segment_point,
    (Point, Segment): _point_segment,
    (Segment, Segment): _segments,
    (Box, Point): _box_point,
    (Box, Segment): _box_segment,
    (Cylinder, Point): _cylinder_point,
    (Prism, Point): _prism_point,
    (Ellipsoid, Ellipsoid): _ellipsoids,
    (Ellipsoid, Point): _ellipsoids,
    (Point, Ellipsoid): _ellipsoids,
}
CORES = {Point, Segment, Box, Cylinder, Cone, Ellipsoid, Hull, TabledHull, Prism}


def _convex(a: Any, b: Any, X_AB: Pose, level: Rounding) -> Witness:
    """The witness of two convex cores, at least one of which has only a farthest point along each direction."""
    size = a.extent + b.extent
    is_round = isinstance(a, ROUND) or isinstance(b, ROUND)
    converged = gjk.ROUGHLY if is_round else gjk.CONVERGED
    near, apart = gjk.nearest(a.support, b.support, X_AB, size, converged=converged)
    if is_round:
        deep = penetration(CorePair(a, b, X_AB, size), logical_not(apart))
        return moving(a, b, X_AB, polished(a, b, X_AB, chosen(apart, near, deep), size), size)
    least = level.of(near.distance, size)
    if level is not EXACT:
        apart = logical_and(apart, near.distance > least)
    return chosen(apart, near, overlap(a, b, X_AB, logical_not(apart), least))
