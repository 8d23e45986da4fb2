"""Where MuJoCo lets a cylinder touch a box, a capsule or another cylinder: its ends are polygons of 16 corners there.

Of two flat sides that look at each other to 5°, the part that they have in common is held at up to four of its corners.
A straight line of a shape that lies in a flat side of the other, to 5°, is held at the two ends of what they have in
common. Anything else touches in the deepest point. All were found by looking at what MuJoCo 4.0.1 does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.collision import FAR, distance
from dalembert.collision.supports import tangents
from dalembert.math import abs as absolute
from dalembert.math import branch, logical_and, logical_not, logical_or, maximum, minimum, sqrt, where
from dalembert.model.geometry import Box, Capsule, Cylinder
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .mujoco_boxes import chosen
from .mujoco_polygons import CORNERS, common_corners

OPPOSITE = 0.996  # cosine of the angle to which two sides look at each other
ALONG = 0.0888  # sine of the angle to which a line lies in a side
EDGE_ON = 1e-5  # of a unit normal: below it, it is across an axis
TINY = 1e-30
POINTS: dict[tuple[type, type], int] = {
    (Capsule, Cylinder): 2,
    (Cylinder, Cylinder): 4,
    (Cylinder, Box): 4,
}  # of each pair of shapes
# corners of the sides of a box, in turn, as signs of the two other axes: first of the side towards + axis, then −
SIDES = {
    0: (((1, 1), (1, -1), (-1, -1), (-1, 1)), ((1, -1), (1, 1), (-1, 1), (-1, -1))),
    1: (((-1, -1), (1, -1), (1, 1), (-1, 1)), ((-1, 1), (1, 1), (1, -1), (-1, -1))),
    2: (((-1, 1), (1, 1), (1, -1), (-1, -1)), ((1, 1), (-1, 1), (-1, -1), (1, -1))),
}


class Side(NamedTuple):
    """A flat side of a shape: 1 where it may touch, else 0; its outward normal (3,) and its corners (k, 3), in turn."""

    present: Any
    normal: np.ndarray
    corners: np.ndarray


class Line(NamedTuple):
    """A straight line of a shape: 1 where it may touch, else 0; its ends (3,)."""

    present: Any
    start: np.ndarray
    end: np.ndarray


class Found(NamedTuple):
    """A point on one of two shapes: 1 where it touches, else 0; its distance from the other one along the normal."""

    present: Any
    distance: Any
    position: np.ndarray  # halfway (3,)
    normal: np.ndarray  # (3,) from the first shape to the second


def convex_points(a: Capsule | Cylinder, X_a: Pose, b: Box | Cylinder, X_b: Pose, margin: Any = 0.0) -> list[Found]:
    """Four points, or two of a capsule, of which those that are not `present` are `FAR` away."""
    deepest = distance(a, X_a, b, X_b)
    n = -deepest.normal
    sides_a, sides_b = _sides(a, X_a, n), _sides(b, X_b, -n)
    lines, lying = _lines(a, X_a, n, b, X_b, sides_a, sides_b, margin)
    faces, facing = _face_points(a, X_a, sides_a[0], sides_b, margin) if isinstance(a, Cylinder) else (lines, False)
    many = logical_and(facing, faces[0].present > 0.5)
    two = logical_and(logical_and(logical_not(facing), lying), lines[0].present > 0.5)
    points = []
    for k, face in enumerate(faces):
        alone = Found(float(k == 0), deepest.distance, deepest.position, n)
        line = lines[k] if k < 2 else alone
        point = chosen(many, face, chosen(two, line, alone))
        points.append(point._replace(distance=where(point.present > 0.5, point.distance, FAR)))
    return points


def _number(condition: Any) -> Any:
    return where(condition, 1.0, 0.0)


# ---- sides and lines of shapes


def _sides(shape: Any, X: Pose, n: np.ndarray) -> list[Side]:
    """Those that touch something along n or beside it: an end of a cylinder, up to three sides of a box; or none."""
    m = X.R.T @ n
    if isinstance(shape, Capsule):
        return []
    if isinstance(shape, Cylinder):
        up = where(m[2] < 0.0, -1.0, 1.0)
        ring = np.array([[x, -up * y] for x, y in CORNERS]) * shape.radius
        corners = [X.point(np.array([x, y, 0.5 * up * shape.length])) for x, y in ring]
        return [Side(_number(absolute(m[2]) > EDGE_ON), up * X.R[:, 2], np.array(corners))]
    half, sides = 0.5 * shape.size, []
    for axis, (upper, lower) in SIDES.items():
        up = where(m[axis] < 0.0, -1.0, 1.0)
        others = [k for k in range(3) if k != axis]
        corners = []
        for high, low in zip(upper, lower, strict=True):
            local = [up * half[axis]] * 3
            for k, s, t in zip(others, high, low, strict=True):
                local[k] = (s if s == t else s * up) * half[k]
            corners.append(X.point(np.array(local)))
        sides.append(Side(_number(absolute(m[axis]) > EDGE_ON), up * X.R[:, axis], np.array(corners)))
    return sides


def _lines_of(shape: Any, X: Pose, n: np.ndarray, side: Side, margin: Any) -> list[Line]:
    """Lines of a shape that may lie in a side of another one: that of a round shape nearest to it; edges of a box.

    Of a capsule it is the line through its deepest point along n, wherever the side is. MuJoCo takes it on a capsule
    that is wider by half the margin, and then moves it back by as much, along the normal of the side.
    """
    up = where(dot(X.R[:, 2], n) < 0.0, -1.0, 1.0)
    if isinstance(shape, Capsule):
        wider = (shape.radius + 0.5 * margin) * (X.R.T @ n)
        back = 0.5 * margin * side.normal
        ends = (np.array([wider[0], wider[1], 0.5 * z * shape.length]) for z in (up, -up))
        return [Line(1.0, *(X.point(end) + back for end in ends))]
    if isinstance(shape, Cylinder):
        x, y, _ = X.R.T @ side.normal
        scale = -shape.radius / sqrt(maximum(x * x + y * y, TINY))
        ends = (np.array([scale * x, scale * y, 0.5 * z * shape.length]) for z in (up, -up))
        return [Line(1.0, *(X.point(end) for end in ends))]
    m = X.R.T @ n
    corner = np.array([where(x < 0.0, -0.5, 0.5) * size for x, size in zip(m, shape.size, strict=True)])
    across = [absolute(x) <= EDGE_ON for x in m]
    lines = []
    for k in range(3):
        i, j = (other for other in range(3) if other != k)
        # all three edges at a corner; of an edge that one alone; of a side none
        single = logical_and(across[k], logical_not(logical_or(across[i], across[j])))
        present = logical_or(single, logical_not(logical_or(across[k], logical_or(across[i], across[j]))))
        other = np.array([-x if i == k else x for i, x in enumerate(corner)])
        lines.append(Line(_number(present), X.point(corner), X.point(other)))
    return lines


# ---- side on side


def _face_points(a: Cylinder, X_a: Pose, end: Side, sides: list[Side], margin: Any) -> tuple[list[Found], Any]:
    """The points of an end of a cylinder on that side of b which looks at it, and whether there is one."""
    other: Side = sides[0]
    facing: Any = False
    for side in sides:
        looks = logical_and(end.present * side.present > 0.5, dot(end.normal, side.normal) < -OPPOSITE)
        other, facing = chosen(logical_and(looks, logical_not(facing)), side, other), logical_or(facing, looks)

    def then() -> dict[str, Any]:
        up = where(dot(end.normal, X_a.R[:, 2]) < 0.0, -1.0, 1.0)
        level = 0.5 * up * a.length
        local = [X_a.R.T @ (corner - X_a.p) for corner in other.corners]
        n = X_a.R.T @ other.normal
        # in the plane of the end, turned over where it is the upper one: its corners are counter-clockwise then
        polygon = np.array([[x, -up * y] for x, y, _ in local])
        slope = np.array([n[0], -up * n[1]])
        height = level * n[2] - dot(n, local[0])
        corners = common_corners(polygon, a.radius, slope, height, margin)
        rows = [[*X_a.point(np.array([x, -up * y, level])), exists] for x, y, exists in corners]
        return {"rows": np.array(rows)}

    rows = branch(facing, then, {"rows": np.zeros((4, 4))})["rows"]
    points = []
    for row in rows:
        gap = dot(other.normal, row[:3] - other.corners[0])
        points.append(Found(row[3], gap, row[:3] - 0.5 * gap * other.normal, -other.normal))
    return points, facing


# ---- line on side


def _lines(
    a: Any, X_a: Pose, n: np.ndarray, b: Any, X_b: Pose, sides_a: list[Side], sides_b: list[Side], margin: Any
) -> tuple[list[Found], Any]:
    """Two points of the first line of a that lies in a side of b, or of b in one of a; and whether there is one."""
    pairs = [(side, line, -1.0) for side in sides_b for line in _lines_of(a, X_a, n, side, margin)]
    pairs += [(side, line, 1.0) for side in sides_a for line in _lines_of(b, X_b, -n, side, margin)]
    best: list[Found] | None = None
    lying: Any = False
    for side, line, sign in pairs:
        along = line.end - line.start
        flat = absolute(dot(along, side.normal)) < ALONG * sqrt(dot(along, along))
        flat = logical_and(flat, side.present * line.present > 0.5)
        first = logical_and(flat, logical_not(lying))
        points = _on_side(side, line, sign, margin)
        best = points if best is None else [chosen(first, x, y) for x, y in zip(points, best, strict=True)]
        lying = logical_or(lying, flat)
    assert best is not None
    return best, lying


def _on_side(side: Side, line: Line, sign: float, margin: Any) -> list[Found]:
    """The ends of the part of a line that is over a side.

    Where one of them is too far away, the other is there twice if it was cut off, since MuJoCo has it twice.
    """
    u, v = tangents(side.normal)
    origin = side.corners[0]
    flat = [np.array([dot(p - origin, u), dot(p - origin, v)]) for p in (line.start, line.end)]
    ring = [np.array([dot(p - origin, u), dot(p - origin, v)]) for p in side.corners]
    middle = sum(ring[1:], ring[0]) / len(ring)
    low: Any = 0.0
    high: Any = 1.0
    for p, q in zip(ring, [*ring[1:], ring[0]], strict=True):
        inward = np.array([p[1] - q[1], q[0] - p[0]])
        inward = where(dot(inward, middle - p) < 0.0, -1.0, 1.0) * inward
        x, y = (dot(inward, point - p) for point in flat)
        t = x / where(x == y, 1.0, x - y)
        outside = logical_and(x < 0.0, y < 0.0)
        low = where(outside, 2.0, where(x < 0.0, maximum(low, t), low))
        high = where(logical_and(x >= 0.0, y < 0.0), minimum(high, t), high)
    ends = [line.start + t * (line.end - line.start) for t in (low, high)]
    cut = low > 0.0, high < 1.0
    gaps = [dot(side.normal, p - origin) for p in ends]
    near = [logical_and(low <= high, gap <= margin) for gap in gaps]
    one, two = (
        Found(_number(x), gap, p - 0.5 * gap * side.normal, sign * side.normal)
        for x, gap, p in zip(near, gaps, ends, strict=True)
    )
    second_alone = logical_and(near[1], logical_not(near[0]))
    again = logical_or(
        logical_and(near[0], near[1]),
        logical_or(logical_and(near[0], cut[0]), logical_and(second_alone, cut[1])),
    )
    second = chosen(near[1], two, one)
    return [chosen(near[0], one, two), second._replace(present=_number(again))]
