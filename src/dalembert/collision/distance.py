"""Signed distance of two shapes.

Spheres and capsules are cores, a point and a segment, with a radius around them: their distances are those of the cores
less the radii, and so are depths of overlap. Points, segments and boxes have closed forms, a point and a cylinder or
prism too; ellipsoids take Newton's method (`ellipsoids`). All others take an iteration where they are apart (`gjk`);
where they overlap, boxes and hulls the faces and edges of both (`axes`), round shapes a search (`penetration`). What is
found of round shapes is made exact in the end (`polish`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, maximum, sqrt, where
from dalembert.math.elementary import is_precise
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from . import gjk
from .axes import overlap
from .candidates import ground_points
from .cores import Segment, core_support
from .curvature import ROUND, moving
from .ellipsoids import between_ellipsoids
from .ground import Ground, plane
from .hulls import Hull, TabledHull, hull
from .lines import any_across, between_segments, crossing_normal, from_box, from_cylinder, segment_near_box, unit
from .penetration import Pair, penetration
from .polish import polished
from .prisms import Prism, from_prism
from .witness import Witness, chosen, inflated, nearer


class Level(NamedTuple):
    """A difference in height, as a share of a size, that counts as none: in double and in single precision."""

    double: float
    single: float

    def of(self, number: Any, size: Any) -> Any:
        """For a size [m]; number: any that the program computes, which tells its precision."""
        return where(is_precise(1.0 + absolute(number)), self.double, self.single) * size


EXACT = Level(0.0, 0.0)


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
    if isinstance(b, Plane):
        return distance(a, X_a, plane(b.normal, X_b), X_b)
    if isinstance(a, Plane):
        return distance(b, X_b, plane(a.normal, X_a), X_a).swapped()
    (core_a, radius_a), (core_b, radius_b) = core(a), core(b)
    X_AB = X_a.inverse() @ X_b
    local = between(core_a, core_b, X_AB)
    w = inflated(local, radius_a, radius_b)
    return Witness(w.distance, X_a.point(w.a), X_a.point(w.b), X_a.R @ w.normal)


def core(shape: Any) -> tuple[Any, Any]:
    """The core of a shape, that is, the shape without a radius all around, and that radius [m]."""
    match shape:
        case Sphere():
            return Segment(0.0), shape.radius
        case Capsule():
            return Segment(0.5 * shape.length), shape.radius
        case Mesh() | Polyhedron():
            return hull(shape), 0.0
        case Box() | Hull() | TabledHull() | Cylinder() | Ellipsoid() | Cone():
            return shape, 0.0
    raise DalembertError(f"a {type(shape).__name__} has distances to the ground only")


def between(a: Any, b: Any, X_AB: Pose, level: Level = EXACT) -> Witness:
    """The witness of two cores, in A's frame.

    level: flat shapes nearer than this touch, with the normal of a face if there is one: the direction between points
    so near to each other is rounding, and equal faces would take turns.
    """
    match a, b:
        case Segment(), Segment():
            return _segments(a, b, X_AB)
        case Segment(), Box():
            X_BA = X_AB.inverse()
            w = _segment_box(a, b, X_BA)
            return Witness(w.distance, X_AB.point(w.a), X_AB.point(w.b), X_AB.R @ w.normal)
        case Box(), Segment():
            return _segment_box(b, a, X_AB).swapped()
        case Cylinder(), Segment() if b.is_point:
            length, normal = from_cylinder(X_AB.p, a.radius, 0.5 * a.length)
            return Witness(length, X_AB.p - length * normal, X_AB.p, -normal)
        case Prism(), Segment() if b.is_point:
            length, normal = from_prism(X_AB.p, a)
            return Witness(length, X_AB.p - length * normal, X_AB.p, -normal)
        case Segment(), Cylinder() | Prism() if a.is_point:
            w = between(b, a, X_AB.inverse()).swapped()
            return Witness(w.distance, X_AB.point(w.a), X_AB.point(w.b), X_AB.R @ w.normal)
    if all(isinstance(shape, Ellipsoid) or (isinstance(shape, Segment) and shape.is_point) for shape in (a, b)):
        first, second = (shape if isinstance(shape, Ellipsoid) else None for shape in (a, b))
        return between_ellipsoids(first, second, X_AB, extent(a) + extent(b))
    return _convex(a, b, X_AB, level)


def _segments(a: Segment, b: Segment, X_AB: Pose) -> Witness:
    half_a, half_b = np.array([0.0, 0.0, a.half]), b.half * X_AB.R[:, 2]
    if not a.is_point and not b.is_point:
        p, q = between_segments(np.zeros(3), half_a, X_AB.p, half_b)
        length, normal = unit(p - q, crossing_normal(half_a, half_b))
        return Witness(length, p, q, normal)
    if not a.is_point:
        z = where(X_AB.p[2] > a.half, a.half, where(X_AB.p[2] < -a.half, -a.half, X_AB.p[2]))
        p, q = np.array([0.0, 0.0, z]), X_AB.p
        length, normal = unit(p - q, np.array([1.0, 0.0, 0.0]))
        return Witness(length, p, q, normal)
    if not b.is_point:
        t = -dot(X_AB.p, X_AB.R[:, 2])
        t = where(t > b.half, b.half, where(t < -b.half, -b.half, t))
        p, q = np.zeros(3), X_AB.p + t * X_AB.R[:, 2]
        length, normal = unit(p - q, any_across(half_b))
        return Witness(length, p, q, normal)
    length, normal = unit(-X_AB.p)
    return Witness(length, np.zeros(3), X_AB.p, normal)


def _segment_box(segment: Segment, box: Box, X: Pose) -> Witness:
    """A is the segment, placed at X in the frame of the box, B; in the frame of the box."""
    size = 0.5 * box.size
    if segment.is_point:
        length, normal = from_box(X.p, size)
        return Witness(length, X.p, X.p - length * normal, normal)
    half = segment.half * X.R[:, 2]
    p = X.p + segment_near_box(X.p, half, size) * half
    length, normal = from_box(p, size)
    outside = Witness(length, p, p - length * normal, normal)
    apart = length > gjk.TOUCHING * (extent(segment) + extent(box))
    w = overlap(box, segment, X, logical_not(apart)).swapped()
    return chosen(apart, outside, w)


def _convex(a: Any, b: Any, X_AB: Pose, level: Level) -> Witness:
    """The witness of two convex cores, at least one of which has only a farthest point along each direction."""
    size = extent(a) + extent(b)
    is_round = isinstance(a, ROUND) or isinstance(b, ROUND)
    converged = gjk.ROUGHLY if is_round else gjk.CONVERGED
    near, apart = gjk.nearest(partial(core_support, a), partial(core_support, b), X_AB, size, converged=converged)
    if is_round:
        deep = penetration(Pair(a, b, X_AB, size), logical_not(apart))
        return moving(a, b, X_AB, polished(a, b, X_AB, chosen(apart, near, deep), size), size)
    least = level.of(near.distance, size)
    if level is not EXACT:
        apart = logical_and(apart, near.distance > least)
    return chosen(apart, near, overlap(a, b, X_AB, logical_not(apart), least))


def extent(shape: Any) -> Any:
    """How far a core reaches from its origin [m], more or less."""
    match shape:
        case Segment():
            return shape.half
        case Box():
            return 0.5 * sqrt(dot(shape.size, shape.size))
        case Cylinder() | Cone():
            return shape.radius + 0.5 * shape.length
        case Ellipsoid():
            return maximum(maximum(shape.radii[0], shape.radii[1]), shape.radii[2])
        case TabledHull() | Prism():
            return shape.extent
        case Hull():
            return float(np.max(np.linalg.norm(shape.vertices, axis=1)))
    raise DalembertError(f"a {type(shape).__name__} has no extent")
