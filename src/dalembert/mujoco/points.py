"""Contact points of two shapes, with the normals and tangents of MuJoCo.

A plane meets a sphere in 1 point, a capsule in 2, a cylinder in 4, a box in the 4 corners on its lower side, an
ellipsoid in 1, and the hull of a mesh in up to 4 corners of one side (`hulls`). Spheres meet spheres, capsules,
boxes and cylinders in the nearest points, which are unique; so do two capsules, in 2 where they are parallel. A capsule
meets a box in up to 2 points (`capsule_box`), a box meets a box in up to 8 (`boxes`), a cylinder what it
lies on in up to 4 (`convex`). All other pairs take the points of this package, of which there may be others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision import FAR, Ground, Hull, ground_points, pair_points
from dalembert.dynamics.collision.hulls import TabledHull
from dalembert.dynamics.collision.lines import unit
from dalembert.math import abs as absolute
from dalembert.math import clip, sqrt, where
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.model.mujoco import LEAST, HeightMap
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot

from .boxes import box_box
from .capsule_box import capsule_box
from .convex import POINTS, convex_points
from .hulls import lowest_corners

X_AXIS = np.array([1.0, 0.0, 0.0])
PARALLEL = 1e-4  # the sine of an angle below which MuJoCo takes two axes as parallel
# the first shape of a pair comes earlier; a terrain is not MuJoCo's
ORDER = (Ground, Plane, HeightMap, Sphere, Capsule, Ellipsoid, Cylinder, Box, Mesh, Polyhedron)


class Point(NamedTuple):
    """Distance [m], position (3,) halfway, normal (3,) from the first shape to the second; a tangent, if it is set."""

    distance: Any
    position: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray | None = None

    def flipped(self) -> Point:
        """Return the point with the shapes swapped."""
        return self._replace(normal=-self.normal)

    @property
    def axes(self) -> np.ndarray:
        """(3, 3): rows normal and two tangents."""
        return contact_axes(self.normal, self.tangent)


def in_order(a: Any, b: Any) -> bool:
    """Condition that MuJoCo has these two shapes in this order."""
    ranks = [next((k for k, kind in enumerate(ORDER) if isinstance(x, kind)), len(ORDER)) for x in (a, b)]
    return ranks[0] <= ranks[1]


def contact_axes(normal: np.ndarray, tangent: np.ndarray | None = None) -> np.ndarray:
    """(3, 3): the normal, then `tangent`, or the world's y or z axis, made perpendicular to it, then both crossed."""
    if tangent is None:
        level = absolute(normal[1]) < 0.5
        tangent = np.array([0.0 * normal[0], where(level, 1.0, 0.0), where(level, 0.0, 1.0)])
    across = tangent - dot(normal, tangent) * normal
    first = across / sqrt(dot(across, across))
    return np.array([normal, first, cross(normal, first)])


def shape_points(a: Any, X_a: Pose, b: Any, X_b: Pose, reach: Any) -> list[Point]:
    """Contact points of two shapes placed in the world, in MuJoCo's order; those that do not exist now are far away.

    reach [m]: margin and gap, within which MuJoCo looks for them.
    """
    if isinstance(a, Plane):
        on_plane = PLANE.get(type(b))
        return house_points(a, X_a, b, X_b) if on_plane is None else on_plane(X_a.R @ a.normal, X_a.p, b, X_b)
    if isinstance(a, Capsule) and isinstance(b, Capsule):
        return _capsules(a, X_a, b, X_b)
    if isinstance(a, Capsule) and isinstance(b, Box):
        return [Point(*x) for x in capsule_box(a.radius, a.length, X_a, 0.5 * b.size, X_b, reach)]
    if isinstance(a, Box) and isinstance(b, Box):
        return [Point(*x) for x in box_box(0.5 * a.size, X_a, 0.5 * b.size, X_b, reach)]
    if (type(a), type(b)) in POINTS:
        return [Point(x.distance, x.position, x.normal) for x in convex_points(a, X_a, b, X_b, reach)]
    return house_points(a, X_a, b, X_b)


def house_points(a: Any, X_a: Pose, b: Any, X_b: Pose) -> list[Point]:
    """Contact points of rigid and compliant contact, for pairs that MuJoCo has no points of its own for."""
    return [Point(w.distance, w.position, -w.normal) for w in pair_points(a, X_a, b, X_b)]


def terrain_points(ground: Ground, shape: Any, X: Pose) -> list[Point]:
    """The contact points of a shape on a ground, which comes first."""
    return [Point(w.distance, w.position, w.normal) for w in ground_points(shape, X, ground)]


def _on_plane(normal: np.ndarray, origin: np.ndarray, p: np.ndarray, tangent: np.ndarray | None = None) -> Point:
    """The contact of a plane with a point of a body."""
    distance = dot(normal, p - origin)
    return Point(distance, p - 0.5 * distance * normal, normal, tangent)


def _plane_capsule(normal: np.ndarray, origin: np.ndarray, capsule: Capsule, X: Pose) -> list[Point]:
    axis = X.R[:, 2]
    ends = [X.p + sign * 0.5 * capsule.length * axis for sign in (1.0, -1.0)]
    across = axis - dot(normal, axis) * normal
    upright = dot(across, across) < LEAST  # the axis then leaves no tangent
    tangent = where(upright, contact_axes(normal)[1], axis)
    return [_on_plane(normal, origin, end - capsule.radius * normal, tangent) for end in ends]


def _plane_box(normal: np.ndarray, origin: np.ndarray, box: Box, X: Pose) -> list[Point]:
    """The lower one of each two opposite corners."""
    points = []
    for x, y in ((-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)):
        corner = X.R @ (0.5 * box.size * np.array([x, y, -1.0]))
        lower = where(dot(normal, corner) > 0.0, -1.0, 1.0)
        points.append(_on_plane(normal, origin, X.p + lower * corner))
    return points


def _plane_cylinder(normal: np.ndarray, origin: np.ndarray, cylinder: Cylinder, X: Pose) -> list[Point]:
    """The lowest points of both rims, and two more of the lower rim, a third of a turn away."""
    along = dot(normal, X.R[:, 2])
    axis = where(along > 0.0, -1.0, 1.0) * X.R[:, 2]  # towards the plane
    steep = dot(normal, axis) * axis - normal
    length = sqrt(dot(steep, steep))
    flat = length < LEAST
    low = where(flat, X.R[:, 0], steep / where(flat, 1.0, length)) * cylinder.radius
    half = 0.5 * cylinder.length * axis
    side = cross(low, half)
    side = side / sqrt(dot(side, side)) * (cylinder.radius * 0.75**0.5)
    first, second = (_on_plane(normal, origin, X.p + low + end) for end in (half, -half))
    thirds = [_on_plane(normal, origin, X.p + half - 0.5 * low + sign * side) for sign in (1.0, -1.0)]
    return [first, second, *thirds]


def _plane_hull(normal: np.ndarray, origin: np.ndarray, hull: Hull | TabledHull, X: Pose) -> list[Point]:
    corners = lowest_corners(hull, -(X.R.T @ normal))
    points = [_on_plane(normal, origin, X.point(corner.point)) for corner in corners]
    return [
        point._replace(distance=where(corner.present > 0.5, point.distance, FAR))
        for corner, point in zip(corners, points, strict=True)
    ]


PLANE: dict[type, Callable[..., list[Point]]] = {
    Capsule: _plane_capsule,
    Box: _plane_box,
    Cylinder: _plane_cylinder,
    Hull: _plane_hull,
    TabledHull: _plane_hull,
}


def _spheres(p_a: np.ndarray, r_a: Any, p_b: np.ndarray, r_b: Any) -> Point:
    between, normal = unit(p_b - p_a, X_AXIS)
    distance = between - r_a - r_b
    return Point(distance, p_a + (r_a + 0.5 * distance) * normal, normal)


def _capsules(a: Capsule, X_a: Pose, b: Capsule, X_b: Pose) -> list[Point]:
    """The nearest points of two segments; of parallel ones both ends of where they lie beside each other."""
    u, w = 0.5 * a.length * X_a.R[:, 2], 0.5 * b.length * X_b.R[:, 2]
    difference = X_a.p - X_b.p
    uu, uw, ww = dot(u, u), -dot(u, w), dot(w, w)
    p, q = -dot(u, difference), dot(w, difference)
    determinant = uu * ww - uw * uw
    parallel = determinant <= PARALLEL * PARALLEL * uu * ww

    def at(x: Any, y: Any) -> Point:
        return _spheres(X_a.p + x * u, a.radius, X_b.p + y * w, b.radius)

    whole = where(parallel, 1.0, determinant)
    x = (ww * p - uw * q) / whole
    y = where(absolute(x) > 1.0, (q - uw * clip(x, -1.0, 1.0)) / ww, (uu * q - uw * p) / whole)
    x = where(absolute(y) > 1.0, (p - uw * clip(y, -1.0, 1.0)) / uu, x)
    beside = [clip((p - sign * uw) / uu, -1.0, 1.0) for sign in (1.0, -1.0)]  # the ends of b, along a
    first = where(parallel, beside[0], clip(x, -1.0, 1.0))
    second = where(parallel, clip((q - uw * beside[0]) / ww, -1.0, 1.0), clip(y, -1.0, 1.0))
    other = at(beside[1], clip((q - uw * beside[1]) / ww, -1.0, 1.0))
    return [at(first, second), other._replace(distance=where(parallel, other.distance, FAR))]
