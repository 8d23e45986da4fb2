"""Contact points of boxes, cylinders, capsules and hulls of meshes, up to four of a pair, as in MuJoCo.

Two flat sides that face each other to 5° touch at up to four corners of their common part.
A straight line of a shape that lies in a flat side of the other, to 5°, touches at the two ends of their common part.
Everything else touches at the deepest point. All of it was compared with MuJoCo 4.0.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision import FAR, Hull, distance
from dalembert.dynamics.collision.hulls import TabledHull
from dalembert.dynamics.collision.lines import cut
from dalembert.dynamics.collision.witness import chosen
from dalembert.math import abs as absolute
from dalembert.math import branch, logical_and, logical_not, logical_or, scan, sqrt, where
from dalembert.model.geometry import Box, Capsule, Cylinder
from dalembert.shapes.farthest import tangents
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot
from dalembert.typing import Array

from .polygons import FlatPolygon, common_corners
from .sides import Outline, SideRing, number, outline

OPPOSITE = 0.996  # cosine of the angle to which two sides look at each other
ALONG = 0.0888  # sine of the angle to which a line lies in a side
TOWARDS = 1e-15  # component of the normal towards the other shape below which a side holds no line
CORNERS = 4
UP = np.array([0.0, 0.0, 1.0])
_HULLS = (Hull, TabledHull)
POINTS: dict[tuple[type, type], int] = {
    (Capsule, Cylinder): 2,
    (Cylinder, Cylinder): CORNERS,
    (Cylinder, Box): CORNERS,
    **{(Capsule, hull): 2 for hull in _HULLS},
    **{(shape, hull): CORNERS for shape in (Cylinder, Box) for hull in _HULLS},
    **{(one, other): CORNERS for one in _HULLS for other in _HULLS},
}  # of each pair of shapes


class ConvexPoint(NamedTuple):
    """A point on one of two shapes: 1 where it touches, else 0; its distance from the other one along the normal."""

    present: Any
    distance: Any
    position: Array  # halfway (3,)
    normal: Array  # (3,) from the first shape to the second


NOWHERE = ConvexPoint(0.0, FAR, np.zeros(3), UP)


class Facing(NamedTuple):
    """Two sides that look at each other: by how much (the cosine between their normals), and their numbers."""

    cosine: Any
    of_a: Any
    of_b: Any
    normal_a: Array  # (3,)
    normal_b: Array  # (3,)


class Lying(NamedTuple):
    """A line from start to end, (3,) each, in a side of another shape; found: 1, or 0 where there is none."""

    found: Any
    side: Any
    normal: Array  # (3,) of the side
    start: Array
    end: Array


def convex_points(a: Any, X_a: Pose, b: Any, X_b: Pose, margin: Any = 0.0) -> list[ConvexPoint]:
    """Four points, or two of a capsule, of which those that are not `present` are `FAR` away."""
    deepest = distance(a, X_a, b, X_b)
    n = -deepest.normal
    of_a, of_b = outline(a, X_a, n, margin), outline(b, X_b, -n, margin)
    faces, facing = _face_points(of_a, of_b, margin)
    lines, lying = _line_points(of_a, of_b, n, logical_not(facing), margin)
    many = logical_and(facing, faces[0].present > 0.5)
    two = logical_and(lying, lines[0].present > 0.5)
    points = []
    for k in range(POINTS[type(a), type(b)]):
        alone = ConvexPoint(float(k == 0), deepest.distance, deepest.position, n)
        line = lines[k] if k < 2 else alone
        point = chosen(many, faces[k], chosen(two, line, alone))
        points.append(point._replace(distance=where(point.present > 0.5, point.distance, FAR)))
    return points


# ---- side on side


def _face_points(a: Outline, b: Outline, margin: Any) -> tuple[list[ConvexPoint], Any]:
    """The corners of what those sides have in common that look at each other most, and whether there are any."""
    if not len(a.sides.numbers):
        return [NOWHERE] * CORNERS, False
    best = _facing(a, b)
    facing = best.of_a >= 0.0

    def then() -> dict[str, Any]:
        ring_a, ring_b = a.ring(best.of_a), b.ring(best.of_b)
        origin, (u, v) = ring_a.corners[0], tangents(best.normal_a)
        flat_a, flat_b = (_seen(ring, origin, u, v, best.normal_a) for ring in (ring_a, ring_b))
        corners = common_corners(flat_a, flat_b, margin)
        # heights are along the normal of a, distances along that of b
        rows = [[-best.cosine * z, *(origin + x * u + y * v), exists] for x, y, z, exists in corners]
        return {"rows": np.array(rows)}

    rows = branch(facing, then, {"rows": np.zeros((CORNERS, 5))})["rows"]
    return [_between(row[4], row[0], row[1:4], best.normal_b, -1.0) for row in rows], facing


def _facing(a: Outline, b: Outline) -> Facing:
    """The two sides that look at each other most; numbers −1 where none do."""

    def outer(best: Any, one: Any) -> Array:
        def inner(best: Any, two: Any) -> Array:
            cosine = dot(one[1:4], two[1:4])
            better = logical_and(one[0] * two[0] > 0.5, cosine < best[0])
            return where(better, np.array([cosine, one[4], two[4], *one[1:4], *two[1:4]]), best)

        return b.sides.each(inner, best)

    numbers = a.sides.each(outer, np.array([-OPPOSITE, -1.0, -1.0, *UP, *UP]))
    return Facing(numbers[0], numbers[1], numbers[2], numbers[3:6], numbers[6:])


def _seen(ring: SideRing, origin: Array, *axes: Array) -> FlatPolygon:
    return FlatPolygon(np.array([[dot(p - origin, axis) for axis in axes] for p in ring.corners]), ring.count)


def _between(present: Any, gap: Any, point: Array, normal: Array, sign: float) -> ConvexPoint:
    """A point at this height over a side with a normal; sign: of that normal, from the first shape to the second."""
    return ConvexPoint(present, gap, point - 0.5 * gap * normal, sign * normal)


# ---- line on side


def _line_points(a: Outline, b: Outline, n: Array, wanted: Any, margin: Any) -> tuple[list[ConvexPoint], Any]:
    """Two points of the first line of a that lies in a side of b, or else of b in one of a; and if there is any."""
    first, second = _lying(b, a, -n), _lying(a, b, n)
    on_b = logical_and(wanted, first.found > 0.5)
    on_a = logical_and(logical_and(wanted, second.found > 0.5), logical_not(on_b))
    points, others = _on_side(b, first, on_b, -1.0, margin), _on_side(a, second, on_a, 1.0, margin)
    return [chosen(on_b, x, y) for x, y in zip(points, others, strict=True)], logical_or(on_b, on_a)


def _lying(body: Outline, other: Outline, outward: Array) -> Lying:
    """The first line of another shape that lies in a side of a body."""

    def outer(state: Any, side: Any) -> Array:
        normal = side[1:4]
        looks = logical_and(side[0] > 0.5, dot(normal, outward) > TOWARDS)

        def inner(state: Any, line: Any) -> Array:
            along = line[4:] - line[1:4]
            flat = absolute(dot(along, normal)) < ALONG * sqrt(dot(along, along))
            new = logical_and(logical_and(looks, line[0] > 0.5), logical_and(flat, state[0] < 0.5))
            return where(new, np.array([1.0, side[4], *normal, *line[1:]]), state)

        return other.lines(normal).each(inner, state)

    numbers = body.sides.each(outer, np.array([0.0, 0.0, *UP, *np.zeros(6)]))
    return Lying(numbers[0], numbers[1], numbers[2:5], numbers[5:8], numbers[8:])


def _on_side(body: Outline, lying: Lying, wanted: Any, sign: float, margin: Any) -> list[ConvexPoint]:
    """The ends of the part of a line that is over a side of a body.

    Where one of them is too far away, the other is there twice if it was cut off, since MuJoCo has it twice.
    """
    if not len(body.sides.numbers):
        return [NOWHERE] * 2
    normal, line = lying.normal, lying.end - lying.start

    def then() -> dict[str, Any]:
        ring = body.ring(lying.side)
        origin, (u, v) = ring.corners[0], tangents(normal)
        polygon = _seen(ring, origin, u, v, normal)
        start, end = ([dot(p - origin, u), dot(p - origin, v)] for p in (lying.start, lying.end))

        def inside(low: Any, high: Any, side: Any) -> dict[str, Any]:
            low, high = cut(low, high, *(dot(side[:2], point) - side[2] for point in (start, end)))
            return {"low": low, "high": high}

        parts = scan(inside, {"side": polygon.sides}, {"low": 0.0, "high": 1.0}, count=polygon.count, history=False)
        low, high = parts["low"], parts["high"]
        gaps = [dot(normal, lying.start + t * line - origin) for t in (low, high)]
        return {"numbers": np.array([low, high, *gaps])}

    low, high, *gaps = branch(wanted, then, {"numbers": np.zeros(4)})["numbers"]
    cut_off = low > 0.0, high < 1.0
    near = [logical_and(low <= high, gap <= margin) for gap in gaps]
    one, two = (
        _between(number(x), gap, lying.start + t * line, normal, sign)
        for x, gap, t in zip(near, gaps, (low, high), strict=True)
    )
    second_alone = logical_and(near[1], logical_not(near[0]))
    again = logical_or(
        logical_and(near[0], near[1]),
        logical_or(logical_and(near[0], cut_off[0]), logical_and(second_alone, cut_off[1])),
    )
    second = chosen(near[1], two, one)
    return [chosen(near[0], one, two), second._replace(present=number(again))]
