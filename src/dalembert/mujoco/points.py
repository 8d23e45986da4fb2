"""Contact points of a capsule and a box, as in MuJoCo: spheres around one or two points of the capsule's segment.

The first is the nearest one to the box: an end of the segment over a face, or the point nearest to one of the 12 edges.
The second one is as far from it as the segment stays over the same face, or along the same edge.
All in axes of the box, from its middle; places on the segment count from −1 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision import FAR, Ground, Hull, ground_points, pair_points
from dalembert.dynamics.collision.hulls import TabledHull
from dalembert.dynamics.collision.lines import from_box, unit
from dalembert.dynamics.collision.witness import chosen
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, minimum, sqrt, where
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.model.mujoco import LEAST, HeightMap
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot
from dalembert.typing import Array

from .boxes import box_box, product, turned
from .convex import POINTS, convex_points
from .polygons import lowest_corners

EACH_WAY = (-1.0, 1.0)


class CapsuleSegment(NamedTuple):
    """Middle (3,), half (3,) to its second end, and the half's length [m]."""

    middle: Array
    half: Array
    length: Any


class Nearest(NamedTuple):
    """The nearest point: its squared distance [m²], where it is on the segment, and whether there is one.

    face (3,): across which axis the face is that it is over, as 0, 0, 1; zeros where it is inside the box. edge (3,):
    along which axis its edge is; zeros where it is none. cornered: whether it is nearest to an end of that edge. corner
    (3,): the sides (±1) of the nearest corner, of an edge between its ends of the lower one. along: where on the edge.
    """

    squared: Any
    place: Any
    exists: Any
    face: Array
    edge: Array
    cornered: Any
    corner: Array
    along: Any


def capsule_box(radius: Any, length: Any, X_a: Pose, b: Array, X_b: Pose, reach: Any) -> list[tuple[Any, Array, Array]]:
    """Distance, position and normal of two points of a capsule, and a box with half sizes b; far ones do not exist.

    reach [m]: margin and gap.
    """
    axis = product(X_b.R.T, X_a.R[:, 2])
    segment = CapsuleSegment(product(X_b.R.T, X_a.p - X_b.p), 0.5 * length * axis, 0.5 * length)
    limit = reach + 2.0 * (radius + segment.length + b[0] + b[1] + b[2])  # MuJoCo's, in m beside m²
    nearest = _nearest(segment, b, limit)
    step, second = _second(segment, b, axis, nearest)
    line = where(length > 0.0, 1.0, 0.0)  # else it is a sphere, which MuJoCo's capsules never are
    points = []
    for place, exists in ((nearest.place, nearest.exists + 1.0 - line), (nearest.place + step, second * line)):
        centre = product(X_b.R, segment.middle + place * segment.half) + X_b.p
        distance, position, normal = _sphere_box(product(X_b.R.T, centre - X_b.p), radius, b)
        points.append((where(exists > 0.5, distance, FAR), X_b.p + X_b.R @ position, X_b.R @ normal))
    return points


def _nearest(segment: CapsuleSegment, b: Array, limit: Any) -> Nearest:
    """Nearest point; ties go to the first in MuJoCo's order: the ends, then the edges, axis by axis."""
    none = np.zeros(3)
    best = Nearest(limit, 0.0, 0.0, none, none, 0.0, none, 0.0)
    for place in EACH_WAY:
        end = segment.middle + place * segment.half
        outside = [where(absolute(x) > size, 1.0, 0.0) for x, size in zip(end, b, strict=True)]
        beyond = end - clip(end, -b, b)
        squared = dot(beyond, beyond)
        over = Nearest(squared, place, 1.0, np.array(outside), none, 0.0, none, 0.0)
        best = chosen(logical_and(sum(outside) < 1.5, squared < best.squared), over, best)
    for j in range(3):
        for high in EACH_WAY:
            for low in EACH_WAY:
                corner = np.insert([low, high], j, -1.0)
                edge, crossing = _on_edge(segment, b, j, corner)
                best = chosen(logical_and(crossing, edge.squared < best.squared - LEAST), edge, best)
    return best


def _on_edge(segment: CapsuleSegment, b: Array, j: int, corner: Array) -> tuple[Nearest, Any]:
    """The point nearest to the edge along axis j that begins at a corner; whether the two are not parallel."""
    unit = np.eye(3)[j]
    between = b * corner * (1.0 - unit) - segment.middle
    ee, es, ss = b[j] * b[j], -b[j] * segment.half[j], segment.length * segment.length
    e, s = -b[j] * between[j], dot(segment.half, between)
    determinant = ee * ss - es * es
    crossing = absolute(determinant) >= LEAST
    inverse = 1.0 / where(crossing, determinant, 1.0)
    along, place = (ss * e - es * s) * inverse, (ee * s - es * e) * inverse
    end = where(along > 1.0, 1.0, where(along < -1.0, -1.0, 0.0))
    place = where(end == 0.0, place, (s - end * es) / where(crossing, ss, 1.0))
    stop = clip(place, -1.0, 1.0)
    along = where(stop == place, where(end == 0.0, along, end), (e - stop * es) / ee)
    end = where(along > 1.0, 1.0, where(along < -1.0, -1.0, end))
    along = clip(along, -1.0, 1.0)
    apart = between - stop * segment.half + unit * (b[j] * along)
    corner = where(end > 0.0, corner * (1.0 - 2.0 * unit), corner)
    cornered = where(end == 0.0, 0.0, 1.0)
    return Nearest(dot(apart, apart), stop, 1.0, np.zeros(3), unit, cornered, corner, along), crossing


def _second(segment: CapsuleSegment, b: Array, axis: Array, nearest: Nearest) -> tuple[Any, Any]:
    """Distance of the second point from the first along the segment, and 1 if there is a second one, else 0."""
    forward = np.array([where(x > 0.0, 1.0, -1.0) for x in segment.half])
    leaving = 0.5 * (1.0 - forward * nearest.corner)  # 1 for axes along which the segment goes on over the box
    across = np.array([_steps(2.0 * size, absolute(x)) for size, x in zip(b, segment.half, strict=True)])
    by_corner, corner_has = _from_corner(axis, across, leaving, nearest.place)
    by_edge, edge_has = _from_edge(axis, across, leaving, forward, nearest)
    by_face = _from_face(segment, b, nearest)
    at_edge, cornered = sum(nearest.edge) > 0.5, nearest.cornered > 0.5
    step = where(at_edge, where(cornered, by_corner, by_edge), by_face)
    has = where(at_edge, where(cornered, corner_has, edge_has), sum(nearest.face))
    return step, has * nearest.exists


def _steps(width: Any, each: Any) -> Any:
    """Number of steps across the box; infinitely many (`FAR`) if a step does not move that way."""
    moving = each > 0.0
    return where(moving, width / where(moving, each, 1.0), FAR)


def _from_corner(axis: Array, across: Array, leaving: Array, place: Any) -> tuple[Any, Any]:
    """Along the edge or over the face that leaves the corner: the axis unlike both others says which."""
    count = sum(leaving)
    alone = count < 1.5
    odd = where(alone, leaving, 1.0 - leaving)
    towards = where(alone, 1.0, -1.0)
    after = turned(odd, across)
    steep = dot(odd, axis)
    on_edge = minimum(1.0 - towards * place, after[2])
    on_face = minimum(minimum(1.0 + towards * place, after[0]), after[1])
    step = where(steep * steep > 0.5, towards * on_edge, -towards * on_face)
    return step, where(absolute(count - 1.5) < 1.0, 1.0, 0.0)


def _from_edge(axis: Array, across: Array, leaving: Array, forward: Array, nearest: Nearest) -> tuple[Any, Any]:
    """Over that face at the edge which the segment is less steep to, if it goes on over one of the two."""
    flags = turned(nearest.edge, leaving)
    slopes, spans = turned(nearest.edge, absolute(axis)), turned(nearest.edge, across)
    later = slopes[0] <= slopes[1]
    span, onwards = where(later, spans[1], spans[0]), where(later, flags[1], flags[0]) > 0.5
    towards = where(onwards, 1.0, -1.0)
    rising = turned(nearest.edge, forward)[2]
    left = 0.5 * spans[2] * (1.0 - rising * towards * nearest.along)  # to the end of the edge
    step = minimum(minimum(1.0 - towards * nearest.place, span), left)
    return towards * step, absolute(flags[0] - flags[1])


def _from_face(segment: CapsuleSegment, b: Array, nearest: Nearest) -> Any:
    """Step from an end over a face to the place where the segment leaves that face, or to its other end."""
    towards, step = -nearest.place, 2.0
    end = segment.middle + nearest.place * segment.half
    for k in range(3):
        moving = logical_and(absolute(segment.half[k]) > 0.0, nearest.face[k] < 0.5)
        inverse = 1.0 / where(moving, segment.half[k], 1.0)
        for side in EACH_WAY:
            length = (side * b[k] - end[k]) * inverse * towards
            step = where(reduce(logical_and, (moving, length > 0.0, length < step)), length, step)
    return towards * step


def _sphere_box(centre: Array, radius: Any, b: Array) -> tuple[Any, Array, Array]:
    """Distance, position and normal from the sphere to the box."""
    between, outward = from_box(centre, b)
    return between - radius, centre - 0.5 * (between + radius) * outward, -outward


X_AXIS = np.array([1.0, 0.0, 0.0])
PARALLEL = 1e-4  # the sine of an angle below which MuJoCo takes two axes as parallel
# the first shape of a pair comes earlier; a terrain is not MuJoCo's
ORDER = (Ground, Plane, HeightMap, Sphere, Capsule, Ellipsoid, Cylinder, Box, Mesh, Polyhedron)


class ContactPoint(NamedTuple):
    """Distance [m], position (3,) halfway, normal (3,) from the first shape to the second; a tangent, if it is set."""

    distance: Any
    position: Array
    normal: Array
    tangent: Array | None = None

    def flipped(self) -> ContactPoint:
        """Return the point with the shapes swapped."""
        return self._replace(normal=-self.normal)

    @property
    def axes(self) -> Array:
        """(3, 3): rows normal and two tangents."""
        return contact_axes(self.normal, self.tangent)


def in_order(a: Any, b: Any) -> bool:
    """Condition that MuJoCo has these two shapes in this order."""
    ranks = [next((k for k, kind in enumerate(ORDER) if isinstance(x, kind)), len(ORDER)) for x in (a, b)]
    return ranks[0] <= ranks[1]


def contact_axes(normal: Array, tangent: Array | None = None) -> Array:
    """(3, 3): the normal, then `tangent`, or the world's y or z axis, made perpendicular to it, then both crossed."""
    if tangent is None:
        level = absolute(normal[1]) < 0.5
        tangent = np.array([0.0 * normal[0], where(level, 1.0, 0.0), where(level, 0.0, 1.0)])
    across = tangent - dot(normal, tangent) * normal
    first = across / sqrt(dot(across, across))
    return np.array([normal, first, cross(normal, first)])


def shape_points(a: Any, X_a: Pose, b: Any, X_b: Pose, reach: Any) -> list[ContactPoint]:
    """Contact points of two shapes placed in the world, in MuJoCo's order; those that do not exist now are far away.

    reach [m]: margin and gap, within which MuJoCo looks for them.
    """
    if isinstance(a, Plane):
        on_plane = PLANE.get(type(b))
        return house_points(a, X_a, b, X_b) if on_plane is None else on_plane(X_a.R @ a.normal, X_a.p, b, X_b)
    if isinstance(a, Capsule) and isinstance(b, Capsule):
        return _capsules(a, X_a, b, X_b)
    if isinstance(a, Capsule) and isinstance(b, Box):
        return [ContactPoint(*x) for x in capsule_box(a.radius, a.length, X_a, 0.5 * b.size, X_b, reach)]
    if isinstance(a, Box) and isinstance(b, Box):
        return [ContactPoint(*x) for x in box_box(0.5 * a.size, X_a, 0.5 * b.size, X_b, reach)]
    if (type(a), type(b)) in POINTS:
        return [ContactPoint(x.distance, x.position, x.normal) for x in convex_points(a, X_a, b, X_b, reach)]
    return house_points(a, X_a, b, X_b)


def house_points(a: Any, X_a: Pose, b: Any, X_b: Pose) -> list[ContactPoint]:
    """Contact points of rigid and compliant contact, for pairs that MuJoCo has no points of its own for."""
    return [ContactPoint(w.distance, w.position, -w.normal) for w in pair_points(a, X_a, b, X_b)]


def terrain_points(ground: Ground, shape: Any, X: Pose) -> list[ContactPoint]:
    """The contact points of a shape on a ground, which comes first."""
    return [ContactPoint(w.distance, w.position, w.normal) for w in ground_points(shape, X, ground)]


def _on_plane(normal: Array, origin: Array, p: Array, tangent: Array | None = None) -> ContactPoint:
    """The contact of a plane with a point of a body."""
    distance = dot(normal, p - origin)
    return ContactPoint(distance, p - 0.5 * distance * normal, normal, tangent)


def _plane_capsule(normal: Array, origin: Array, capsule: Capsule, X: Pose) -> list[ContactPoint]:
    axis = X.R[:, 2]
    ends = [X.p + sign * 0.5 * capsule.length * axis for sign in (1.0, -1.0)]
    across = axis - dot(normal, axis) * normal
    upright = dot(across, across) < LEAST  # the axis then leaves no tangent
    tangent = where(upright, contact_axes(normal)[1], axis)
    return [_on_plane(normal, origin, end - capsule.radius * normal, tangent) for end in ends]


def _plane_box(normal: Array, origin: Array, box: Box, X: Pose) -> list[ContactPoint]:
    """The lower one of each two opposite corners."""
    points = []
    for x, y in ((-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)):
        corner = X.R @ (0.5 * box.size * np.array([x, y, -1.0]))
        lower = where(dot(normal, corner) > 0.0, -1.0, 1.0)
        points.append(_on_plane(normal, origin, X.p + lower * corner))
    return points


def _plane_cylinder(normal: Array, origin: Array, cylinder: Cylinder, X: Pose) -> list[ContactPoint]:
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


def _plane_hull(normal: Array, origin: Array, hull: Hull | TabledHull, X: Pose) -> list[ContactPoint]:
    corners = lowest_corners(hull, -(X.R.T @ normal))
    points = [_on_plane(normal, origin, X.point(corner.point)) for corner in corners]
    return [
        point._replace(distance=where(corner.present > 0.5, point.distance, FAR))
        for corner, point in zip(corners, points, strict=True)
    ]


PLANE: dict[type, Callable[..., list[ContactPoint]]] = {
    Capsule: _plane_capsule,
    Box: _plane_box,
    Cylinder: _plane_cylinder,
    Hull: _plane_hull,
    TabledHull: _plane_hull,
}


def _capsules(a: Capsule, X_a: Pose, b: Capsule, X_b: Pose) -> list[ContactPoint]:
    """The nearest points of two segments; of parallel ones both ends of where they lie beside each other."""
    u, w = 0.5 * a.length * X_a.R[:, 2], 0.5 * b.length * X_b.R[:, 2]
    difference = X_a.p - X_b.p
    uu, uw, ww = dot(u, u), -dot(u, w), dot(w, w)
    p, q = -dot(u, difference), dot(w, difference)
    determinant = uu * ww - uw * uw
    parallel = determinant <= PARALLEL * PARALLEL * uu * ww

    def at(x: Any, y: Any) -> ContactPoint:
        p_a = X_a.p + x * u
        between, normal = unit((X_b.p + y * w) - p_a, X_AXIS)
        distance = between - a.radius - b.radius
        return ContactPoint(distance, p_a + (a.radius + 0.5 * distance) * normal, normal)

    whole = where(parallel, 1.0, determinant)
    x = (ww * p - uw * q) / whole
    y = where(absolute(x) > 1.0, (q - uw * clip(x, -1.0, 1.0)) / ww, (uu * q - uw * p) / whole)
    x = where(absolute(y) > 1.0, (p - uw * clip(y, -1.0, 1.0)) / uu, x)
    beside = [clip((p - sign * uw) / uu, -1.0, 1.0) for sign in (1.0, -1.0)]  # the ends of b, along a
    first = where(parallel, beside[0], clip(x, -1.0, 1.0))
    second = where(parallel, clip((q - uw * beside[0]) / ww, -1.0, 1.0), clip(y, -1.0, 1.0))
    other = at(beside[1], clip((q - uw * beside[1]) / ww, -1.0, 1.0))
    return [at(first, second), other._replace(distance=where(parallel, other.distance, FAR))]
