"""Rays: where a line o + t d, with a unit direction d, enters a shape and where it leaves it.

Spheres, capsules, cylinders, ellipsoids, boxes and hulls have closed forms. Any other convex shape is approached from
both ends of the line, from one plane that touches it to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_or, maximum, repeat, scan, sqrt, where
from dalembert.math import map as mapped
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Sphere
from dalembert.shapes.segment import POINT
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .distance import between, core
from .groups import SIZES, Numbers, pose_numbers, pose_of
from .hulls import Hull, TabledHull

NEVER = 1e30  # [m] along a ray: it does not come there
PARALLEL = 1e-24  # square of the sine of the angle to an axis, below which a line is parallel to it
PASSES, CLOSE = 100, 1e-10  # from plane to plane, until a shape is so near, of its size
Z = np.array([0.0, 0.0, 1.0])


class RayCrossing(NamedTuple):
    """The part of a line inside a shape: from t = enter to t = leave [m], with outward normals (3,) at both ends.

    Lines that miss the shape have enter > leave.
    """

    enter: Any
    enter_normal: np.ndarray
    leave: Any
    leave_normal: np.ndarray

    def common(self, other: RayCrossing) -> RayCrossing:
        """The part inside this shape and another one."""
        later, sooner = other.enter > self.enter, other.leave < self.leave
        return RayCrossing(
            where(later, other.enter, self.enter),
            where(later, other.enter_normal, self.enter_normal),
            where(sooner, other.leave, self.leave),
            where(sooner, other.leave_normal, self.leave_normal),
        )

    def joined(self, other: RayCrossing) -> RayCrossing:
        """The part inside this shape or another one, which together are convex."""
        one, two = self.known(), other.known()
        sooner, later = two.enter < one.enter, two.leave > one.leave
        return RayCrossing(
            where(sooner, two.enter, one.enter),
            where(sooner, two.enter_normal, one.enter_normal),
            where(later, two.leave, one.leave),
            where(later, two.leave_normal, one.leave_normal),
        )

    def known(self) -> RayCrossing:
        """The same; nothing at all where it is missed."""
        missed = self.enter > self.leave
        return self._replace(enter=where(missed, NEVER, self.enter), leave=where(missed, -NEVER, self.leave))

    @property
    def hit(self) -> tuple[Any, np.ndarray]:
        """How far a ray goes until it meets the surface [m], from inside on its way out, and the outward normal."""
        crosses = self.enter <= self.leave
        ahead, inside = logical_and(crosses, self.enter >= 0.0), logical_and(crosses, self.leave >= 0.0)
        length = where(ahead, self.enter, where(inside, self.leave, NEVER))
        return length, where(ahead, self.enter_normal, self.leave_normal)


EVERYWHERE = RayCrossing(-NEVER, Z, NEVER, Z)


class Hit(NamedTuple):
    """The first surface on a ray: length [m], outward normal (3,), and the number of the solid."""

    length: Any
    normal: np.ndarray
    number: Any

    def first(self, other: Hit) -> Hit:
        """The nearer one."""
        nearer = other.length < self.length
        return Hit(*(where(nearer, y, x) for x, y in zip(self, other, strict=True)))


def first_hit(solids: Sequence[Any], X: Sequence[Pose], o: np.ndarray, d: np.ndarray) -> Hit:
    """The first of some solids on the ray from o (3,) along a unit vector d (3,); X: the poses of all bodies."""
    groups: dict[Any, list[int]] = {}
    for k, solid in enumerate(solids):
        kind = type(solid.shape)
        groups.setdefault(kind if kind in SIZES or kind is Hull else k, []).append(k)
    hits = [Hit(NEVER, Z, -1.0)]
    for members in groups.values():
        hits += _of_group([solids[k] for k in members], members, X, o, d)
    return reduce(Hit.first, hits)


def _of_group(solids: Sequence[Any], numbers: Sequence[int], X: Sequence[Pose], o: Any, d: Any) -> list[Hit]:
    """The hits of solids of one kind, as a loop."""
    sizes = Numbers([solid.shape for solid in solids])
    poses = np.array([pose_numbers(X[solid.body] @ solid.placement) for solid in solids])

    def step(size: Any, pose: Any) -> dict[str, Any]:
        X_WS = pose_of(pose)
        length, normal = crossing(sizes.shape(size), X_WS.R.T @ (o - X_WS.p), X_WS.R.T @ d).hit
        return {"row": np.array([length, *(X_WS.R @ normal)])}

    if len(solids) == 1:
        rows = np.array([step(sizes.sizes[0], poses[0])["row"]])
    else:
        rows = mapped(step, {"size": sizes.sizes, "pose": poses})["row"]
    return [Hit(row[0], row[1:], float(k)) for k, row in zip(numbers, rows, strict=True)]


def crossing(shape: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    """The part of the line inside a shape; o, d (3,) in the shape's frame."""
    if kernel := KERNELS.get(type(shape)):
        return kernel(shape, o, d)
    return _approached(shape, o, d)


def _slab(axis: int, half: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    """The part of the line between two planes across an axis."""
    n = np.eye(3)[axis]
    moves = d[axis] != 0.0
    rate = where(moves, d[axis], 1.0)
    sign = where(rate > 0.0, 1.0, -1.0)
    out = where(absolute(o[axis]) > half, NEVER, -NEVER)
    enter = where(moves, (-sign * half - o[axis]) / rate, out)
    leave = where(moves, (sign * half - o[axis]) / rate, -out)
    return RayCrossing(enter, -sign * n, leave, sign * n)


def _round(o: np.ndarray, d: np.ndarray, radius: Any) -> tuple[Any, Any]:
    """Where a line enters and leaves a circle or sphere about the origin; d of any length but 0."""
    a = dot(d, d)
    moves = a > PARALLEL
    a = where(moves, a, 1.0)
    middle = -dot(o, d) / a
    nearest = o + middle * d
    inside = radius * radius - where(moves, dot(nearest, nearest), dot(o, o))
    half = where(moves, sqrt(maximum(inside, 0.0) / a), NEVER)
    middle, missed = where(moves, middle, 0.0), inside < 0.0
    return where(missed, NEVER, middle - half), where(missed, -NEVER, middle + half)


def _ball(centre: np.ndarray, radius: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    enter, leave = _round(o - centre, d, radius)
    return RayCrossing(enter, _outward(o - centre, d, enter), leave, _outward(o - centre, d, leave))


def _outward(o: np.ndarray, d: np.ndarray, t: Any, scale: Any = 1.0) -> np.ndarray:
    """The unit vector along a place on a line, scaled along each axis."""
    p = (o + where(absolute(t) < NEVER, t, 0.0) * d) * scale
    length = dot(p, p)
    return p / sqrt(where(length > 0.0, length, 1.0))


def _sphere(shape: Sphere, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    return _ball(np.zeros(3), shape.radius, o, d)


def _tube(radius: Any, half: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    """A cylinder along z."""
    across = np.array([1.0, 1.0, 0.0])
    enter, leave = _round(o[:2], d[:2], radius)
    side = RayCrossing(enter, _outward(o, d, enter, across), leave, _outward(o, d, leave, across))
    return _slab(2, half, o, d).common(side)


def _cylinder(shape: Cylinder, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    return _tube(shape.radius, 0.5 * shape.length, o, d)


def _capsule(shape: Capsule, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    half = 0.5 * shape.length
    ends = [_ball(sign * half * Z, shape.radius, o, d) for sign in (1.0, -1.0)]
    return _tube(shape.radius, half, o, d).joined(ends[0]).joined(ends[1])


def _box(shape: Box, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    return reduce(RayCrossing.common, [_slab(axis, 0.5 * shape.size[axis], o, d) for axis in range(3)])


def _ellipsoid(shape: Ellipsoid, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    scale = 1.0 / shape.radii
    enter, leave = _round(o * scale, d * scale, 1.0)
    return RayCrossing(enter, _outward(o, d, enter, scale * scale), leave, _outward(o, d, leave, scale * scale))


def _plane(shape: Plane, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    """Met from above alone."""
    return below(shape.normal / np.linalg.norm(shape.normal), 0.0, o, d)


def below(normal: np.ndarray, offset: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    """The part of the line from where it goes below a plane."""
    rate = dot(normal, d)
    sinks = rate < 0.0
    enter = where(sinks, (offset - dot(normal, o)) / where(sinks, rate, -1.0), NEVER)
    return RayCrossing(enter, normal, NEVER, normal)


def _hull(shape: Hull, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    normals, offsets = shape.faces
    return _between_faces({"face": np.column_stack([normals, offsets])}, lambda face: (face[:3], face[3]), o, d)


def _tabled(shape: TabledHull, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    return _between_faces({"k": np.arange(float(shape.table.face_count))}, shape.plane, o, d)


def _between_faces(
    items: Any, plane: Callable[..., tuple[np.ndarray, Any]], o: np.ndarray, d: np.ndarray
) -> RayCrossing:
    """The part of the line inside all planes of faces."""

    def step(row: Any, item: Any) -> dict[str, Any]:
        normal, offset = plane(item)
        inside = _flat(RayCrossing(row[0], row[1:4], row[4], row[5:]).common(_half_space(normal, offset, o, d)))
        return {"row": inside}

    start = np.array([-NEVER, 0.0, 0.0, 1.0, NEVER, 0.0, 0.0, 1.0])
    row = scan(step, items, {"row": start}, history=False)["row"]
    return RayCrossing(row[0], row[1:4], row[4], row[5:])


def _half_space(normal: np.ndarray, offset: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    rate, depth = dot(normal, d), offset - dot(normal, o)
    t = depth / where(rate != 0.0, rate, 1.0)
    out = logical_and(rate == 0.0, depth < 0.0)
    enter = where(rate < 0.0, t, where(out, NEVER, -NEVER))
    return RayCrossing(enter, normal, where(rate > 0.0, t, where(out, -NEVER, NEVER)), normal)


def _flat(x: RayCrossing) -> np.ndarray:
    return np.array([x.enter, *x.enter_normal, x.leave, *x.leave_normal])


def _approached(shape: Any, o: np.ndarray, d: np.ndarray) -> RayCrossing:
    """Any convex shape, from both ends of the line."""
    middle, size = -dot(o, d), shape.extent + 0.0
    enter, enter_normal = _met(shape, o, d, middle - 2.0 * size, size)
    leave, leave_normal = _met(shape, o, -d, -middle - 2.0 * size, size)
    return RayCrossing(enter, enter_normal, -leave, leave_normal)


def _met(shape: Any, o: np.ndarray, d: np.ndarray, start: Any, size: Any) -> tuple[Any, np.ndarray]:
    """Where a line from t = start on meets a shape, and the normal there; a size [m] bounds how far the shape goes."""
    inner, radius = core(shape)

    def step(t: Any, normal: np.ndarray, settled: Any) -> dict[str, Any]:
        w = between(POINT, inner, Pose(np.eye(3), -(o + t * d)))
        gap, rate = w.distance - radius, dot(w.normal, d)
        near = gap <= CLOSE * size
        past = logical_and(rate >= 0.0, gap > CLOSE * size)
        onwards = t + where(rate < 0.0, gap / where(rate < 0.0, -rate, 1.0), 0.0)
        beyond = onwards > start + 4.0 * size
        there = where(logical_or(past, beyond), NEVER, where(near, t, onwards))
        return {"t": there, "normal": w.normal, "settled": logical_or(near, logical_or(past, beyond))}

    begin = {"t": start + 0.0 * dot(o, d), "normal": Z + 0.0 * o, "settled": 0.0}
    end = repeat(step, PASSES, begin, settled="settled")
    return end["t"], end["normal"]


KERNELS: dict[type, Callable[[Any, np.ndarray, np.ndarray], RayCrossing]] = {
    Sphere: _sphere,
    Capsule: _capsule,
    Cylinder: _cylinder,
    Ellipsoid: _ellipsoid,
    Box: _box,
    Plane: _plane,
    Hull: _hull,
    TabledHull: _tabled,
}
