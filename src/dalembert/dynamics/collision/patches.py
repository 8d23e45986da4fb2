"""Where two shapes touch each other: several points, so that a face that rests on a face is held at its corners.

Seen along the normal, the sides of the two shapes that look at each other are polygons of four corners, which may
coincide: an edge has two different ones, a corner has one. The corners of what they have in common are candidates; four
of them far from each other, and deep, are kept.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_or, maximum, minimum, sqrt, where
from dalembert.math.tolerances import TINY
from dalembert.shapes import Ellipsoid, Plane
from dalembert.shapes.farthest import tangents
from dalembert.shapes.segment import Point
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .candidates import ground_points
from .distance import EXACT, Rounding, between, core
from .ground import Ground, plane
from .lines import cut
from .passing import passing
from .witness import FAR, Witness, inflated

LEVEL = Rounding(3e-8, 3e-6)  # what stands flat to this keeps the same normal from step to step, and so comes to rest
WIDTH = 1e-4  # of the size: edges are seen as this wide, so that those that are almost parallel meet along a line
ROUNDING = 1e-9  # of the size: a corner this far outside still counts
MISSED = 1e-6  # of the size: nearest points that are nearer than all corners by this much are a contact as well
NARROW = 1e-4  # a polygon that is narrower than this part of its length is a line
STEEP = 10.0  # how much farther apart points must be for each metre of gap
FIRST = (0.83, 0.56)  # the direction in which the first point is looked for: along no edge, as a rule


def pair_points(a: Any, X_a: Pose, b: Any, X_b: Pose, later: tuple[Pose, Pose] | None = None) -> list[Witness]:
    """The candidates of two shapes placed in the world: 4, or 1 where one of them is a sphere or an ellipsoid.

    Fewer may touch; the others have the gap `FAR`. b may be a `Ground` or a plane: see `ground_points`. later: where
    both will be after a step: those that meet, or pass close by each other, have the normal of that instant, and places
    on A and B which need not face each other yet: see `passing`.
    """
    if isinstance(b, Ground):
        return ground_points(a, X_a, b)
    if type(b) is Plane:
        return ground_points(a, X_a, plane(b.normal, X_b))
    if type(a) is Plane:
        return [w.swapped() for w in ground_points(b, X_b, plane(a.normal, X_a))]
    (core_a, radius_a), (core_b, radius_b) = core(a), core(b)
    X_AB, single = X_a.inverse() @ X_b, _is_round(core_a) or _is_round(core_b)
    nearest = partial(between, core_a, core_b, level=EXACT if single else LEVEL)
    deepest = nearest(X_AB)
    if later is not None:
        radius = radius_a + radius_b
        level = LEVEL.of(deepest.distance, core_a.extent + core_b.extent + radius)
        ahead = X_a.inverse() @ later[0], X_a.inverse() @ later[1]
        deepest = passing(core_a, core_b, X_AB, ahead, deepest, nearest, radius, level)
        if not single:  # several points share the motion of their bodies past each other: one place for both of them
            deepest = _facing(deepest, ahead, X_AB)
    points = [deepest] if single else _patch(core_a, core_b, X_AB, deepest)
    local = [inflated(w, radius_a, radius_b) for w in points]
    return [Witness(w.distance, X_a.point(w.a), X_a.point(w.b), X_a.R @ w.normal) for w in local]


def _is_round(shape: Any) -> bool:
    return isinstance(shape, Ellipsoid | Point)


def _facing(w: Witness, later: tuple[Pose, Pose], X_AB: Pose) -> Witness:
    """The witness with points that face each other: nearer to that of the shape which moves more."""
    of_a, of_b = later[0].p, later[1].p - X_AB.p
    share = dot(of_b, of_b) / (dot(of_a, of_a) + dot(of_b, of_b) + TINY)
    a = w.a - share * w.aside
    return w._replace(a=a, b=a - w.distance * w.normal)


class _Polygon(NamedTuple):
    """Four corners, in turn: coordinates (2,) across the normal, and height along it."""

    corners: list[np.ndarray]
    heights: list[Any]

    def height(self, x: np.ndarray) -> Any:
        """Height of the plane of the corners at x (2,); of a line, at the foot of x on it."""
        p, z = self.corners, self.heights
        d, e = p[2] - p[0], p[3] - p[1]
        dz, ez = z[2] - z[0], z[3] - z[1]
        r = x - p[0]
        scale = 1.0 / where(self.wide, _cross(d, e), 1.0)
        on_plane = z[0] + (_cross(r, e) * dz + _cross(d, r) * ez) * scale
        start, line, bottom, rise = self.line
        length = dot(line, line)
        t = clip(dot(x - start, line) / where(length > 0.0, length, 1.0), 0.0, 1.0)
        return where(self.wide, on_plane, bottom + t * rise)

    @property
    def wide(self) -> Any:
        """Whether it is more than a line or a point."""
        d, e = self.corners[2] - self.corners[0], self.corners[3] - self.corners[1]
        return absolute(_cross(d, e)) > NARROW * (dot(d, d) + dot(e, e)) + TINY

    @property
    def line(self) -> tuple[np.ndarray, np.ndarray, Any, Any]:
        """The longer diagonal: start (2,), direction (2,), height of its start, and rise to its end."""
        p, z = self.corners, self.heights
        d, e = p[2] - p[0], p[3] - p[1]
        longer = dot(d, d) >= dot(e, e)
        rise = where(longer, z[2] - z[0], z[3] - z[1])
        return where(longer, p[0], p[1]), where(longer, d, e), where(longer, z[0], z[1]), rise

    def sides(self, size: Any) -> list[tuple[np.ndarray, Any]]:
        """Four half-planes m · x ≥ o, (m, o) each, that it lies in; of a line those of a strip around it."""
        d, e = self.corners[2] - self.corners[0], self.corners[3] - self.corners[1]
        turn = where(_cross(d, e) < 0.0, -1.0, 1.0)
        start, line, _, _ = self.line
        length = sqrt(dot(line, line) + TINY)
        along = where(length > ROUNDING * size, line / length, np.array([1.0, 0.0]))
        across = np.array([-along[1], along[0]])
        strip = [(along, 0.0), (-along, -length), (across, 0.0), (-across, 0.0)]
        planes = []
        for k, (m, o) in enumerate(strip):
            c = self.corners[k]
            edge = self.corners[(k + 1) % 4] - c
            inward = turn * np.array([-edge[1], edge[0]]) / sqrt(dot(edge, edge) + TINY)
            normal = where(self.wide, inward, m)
            offset = where(self.wide, dot(inward, c) - ROUNDING * size, o + dot(m, start) - WIDTH * size)
            planes.append((normal, offset))
        return planes

    def clipped(self, p: np.ndarray, q: np.ndarray, size: Any) -> tuple[Any, Any]:
        """The part [s, t] of the segment from p to q that is inside; s > t where there is none."""
        low: Any = 0.0
        high: Any = 1.0
        for normal, offset in self.sides(size):
            low, high = cut(low, high, dot(normal, p) - offset, dot(normal, q) - offset)
        return low, high


def _patch(a: Any, b: Any, X_AB: Pose, deepest: Witness) -> list[Witness]:
    """In A's frame; deepest: the witness of their distance."""
    n = deepest.normal
    u, v = tangents(n)
    origin = deepest.a
    size = a.extent + b.extent
    points_a = a.face(-n)
    points_b = [X_AB.point(p) for p in b.face(X_AB.R.T @ n)]
    of_a, of_b = (_seen(points, origin, u, v, n) for points in (points_a, points_b))
    places = _common(of_a, of_b, size)
    gaps = [where(valid, of_a.height(x) - of_b.height(x), FAR) for x, valid in places]
    chosen = _spread([x for x, _ in places], gaps, 10.0 * WIDTH * size)
    witnesses = []
    for x, gap in chosen:
        z = of_b.height(x)
        on_b = origin + x[0] * u + x[1] * v + z * n
        real = gap < 0.5 * FAR
        witnesses.append(Witness(gap, on_b + where(real, gap, 0.0) * n, on_b, n))
    others, least = (reduce(minimum, [gap for _, gap in chosen[k:]]) for k in (1, 0))
    alone = others > 0.5 * FAR  # edges that cross, a corner: the nearest points themselves
    alone = logical_or(alone, least > deepest.distance + MISSED * size)  # or what faces have in common is elsewhere
    first = Witness(*(where(alone, x, y) for x, y in zip(deepest, witnesses[0], strict=True)))
    return [first, *witnesses[1:]]


def _seen(points: list[np.ndarray], origin: np.ndarray, u: np.ndarray, v: np.ndarray, n: np.ndarray) -> _Polygon:
    relative = [p - origin for p in points]
    return _Polygon([np.array([dot(r, u), dot(r, v)]) for r in relative], [dot(r, n) for r in relative])


def _common(p: _Polygon, q: _Polygon, size: Any) -> list[tuple[np.ndarray, Any]]:
    """Corners of what two polygons have in common, 12 places, with whether each is one."""
    places = []
    for k in range(4):
        start, end = p.corners[k], p.corners[(k + 1) % 4]
        low, high = q.clipped(start, end, size)
        inside = low <= high
        places.append((start + clip(low, 0.0, 1.0) * (end - start), inside))
        places.append((start + high * (end - start), logical_and(inside, high < 1.0)))
    for corner in q.corners:
        low, high = p.clipped(corner, corner, size)
        places.append((corner, low <= high))
    return places


def _spread(places: list[np.ndarray], gaps: list[Any], least: Any) -> list[tuple[np.ndarray, Any]]:
    """Four of several points (2,), with their gaps: far from each other, and deep.

    The gap is `FAR` where there is no other one at least that far away [m].
    """

    def best(scores: list[Any]) -> tuple[np.ndarray, Any, Any]:
        x, gap, score = places[0], gaps[0], scores[0]
        for place, other, value in zip(places[1:], gaps[1:], scores[1:], strict=True):
            better = value > score
            x, gap, score = where(better, place, x), where(better, other, gap), maximum(value, score)
        return x, gap, score

    costs = [STEEP * gap for gap in gaps]
    first, gap, _ = best([dot(x, FIRST) - cost for x, cost in zip(places, costs, strict=True)])
    chosen = [(first, gap)]
    away = [x - first for x in places]
    second, gap, _ = best([sqrt(dot(r, r) + TINY) - cost for r, cost in zip(away, costs, strict=True)])
    line = second - first
    length = sqrt(dot(line, line) + TINY)
    chosen.append((second, where(length > least, gap, FAR)))
    for side in (1.0, -1.0):
        off = [side * _cross(line, r) / length for r in away]
        x, gap, _ = best([o - cost for o, cost in zip(off, costs, strict=True)])
        distance_off = side * _cross(line, x - first) / length
        chosen.append((x, where(distance_off > least, gap, FAR)))
    return chosen


def _cross(p: np.ndarray, q: np.ndarray) -> Any:
    return p[0] * q[1] - p[1] * q[0]
