"""Contact points of two boxes, as in MuJoCo.

Two boxes are separated most, or overlap least, along one of 15 axes: a normal of a face of either, or what is
perpendicular to one edge of each. Along a normal, a face of one box, the reference, is a rectangle, and the face of the
other one that looks at it a parallelogram: they touch at the corners of what both have in common, at most 8. Along the
other axes two edges touch, in one point.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision import FAR
from dalembert.dynamics.collision.lines import between_segments
from dalembert.dynamics.collision.witness import chosen
from dalembert.math import abs as absolute
from dalembert.math import branch, logical_and, logical_not, logical_or, maximum, minimum, sqrt, visit, where
from dalembert.model.mujoco import LEAST
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot
from dalembert.typing import Array

POINTS = 8  # corners of what a rectangle and a parallelogram have in common
SLACK = 1e-13  # of all half sizes: boxes this much farther apart than they reach still touch
PARALLEL = 1e-16  # squared sine of the angle below which two edges count as parallel
BIAS = 1e-6  # share of its separation by which an axis of edges must beat those before it
ALONG = 0.99  # cosine: an axis of edges nearer to that of the best face gives way to it,
WORSE = 0.05  # unless the separation along the face's is worse by this share
UNCLEAR = 1e-9  # smaller components of the normal do not tell which of two parallel edges is meant
SAME = 1e-14  # squared distance, relative to the reference's size: nearer corners are merged
ROUNDING = 1e-12  # of an edge: a corner of the reference this far outside the parallelogram counts
CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


class FaceAxis(NamedTuple):
    """The best axis of a face: separation [m], whether it is the second box's, and which of its axes, as 0, 0, 1."""

    separation: Any
    second: Any
    unit: Array


class EdgeAxis(NamedTuple):
    """The best axis of two edges: separation [m], or the faces' with `found` 0.

    axis (3,): in axes of the first box, either way. first (3,), second (3,): along which axis of each box its edge is.
    """

    separation: Any
    found: Any
    axis: Array
    first: Array
    second: Array


class Placed(NamedTuple):
    """Two boxes: half sizes a and b, the second one's axes R and middle p_b in axes of the first, and the first's p_a
    in those of the second."""

    a: Array
    b: Array
    R: Array
    p_b: Array
    p_a: Array


def box_box(a: Array, X_a: Pose, b: Array, X_b: Pose, reach: Any) -> list[tuple[Any, Array, Array]]:
    """Distance, position and normal of 8 points of boxes with half sizes a and b; those that do not exist are far away.

    reach [m]: margin and gap; boxes that are farther apart do not touch.
    """
    R = np.array([product(X_b.R.T, axis) for axis in X_a.R.T])
    between = X_b.p - X_a.p
    boxes = Placed(a, b, R, product(X_a.R.T, between), product(X_b.R.T, -between))
    faces = _faces(boxes)
    edges, most = _edges(boxes, faces)
    touching = most <= reach + SLACK * (sum(a) + sum(b))
    on_edges = logical_and(edges.found > 0.5, logical_not(_is_of_face(boxes, faces, edges)))
    far = {"distance": np.full(POINTS, FAR), "position": np.zeros((POINTS, 3)), "normal": np.array([0.0, 0.0, 1.0])}

    def face() -> dict[str, Any]:
        return _face_points(boxes, faces, X_a, X_b)

    def edge() -> dict[str, Any]:
        distance, position, normal = _edge_point(boxes, edges)
        first = np.arange(POINTS) == 0
        position = np.where(first[:, None], X_a.p + X_a.R @ position, 0.0)
        return {"distance": np.where(first, distance, FAR), "position": position, "normal": X_a.R @ normal}

    found = branch(logical_and(touching, logical_not(on_edges)), face, far)
    found = branch(logical_and(touching, on_edges), edge, found)
    return [(*row, found["normal"]) for row in zip(found["distance"], found["position"], strict=True)]


def product(M: Array, x: Array) -> Array:
    """M x, each sum from the left: where two things are equally near, rounding decides which one MuJoCo takes."""
    return np.array([dot(row, x) for row in M])


def _faces(boxes: Placed) -> FaceAxis:
    """Best axis of a face; ties go to the first one, the first box before the second."""
    a, b, R, p_b, p_a = boxes
    sizes = absolute(R)
    best = FaceAxis(-FAR, 0.0, np.zeros(3))
    for second, (p, half, radius) in enumerate(((p_b, a, product(sizes, b)), (p_a, b, product(sizes.T, a)))):
        for i, unit in enumerate(np.eye(3)):
            separation = absolute(p[i]) - half[i] - radius[i]
            best = chosen(separation > best.separation, FaceAxis(separation, float(second), unit), best)
    return best


def _edges(boxes: Placed, faces: FaceAxis) -> tuple[EdgeAxis, Any]:
    """The best axis of two edges, and the largest separation along all axes."""
    a, b, R, p_b, _ = boxes
    none = np.zeros(3)
    best, most = EdgeAxis(faces.separation, 0.0, none, none, none), faces.separation
    for first in np.eye(3):
        for j, second in enumerate(np.eye(3)):
            across = cross(first, R[:, j])
            squared = dot(across, across)
            distinct = squared >= PARALLEL
            axis = across / sqrt(where(distinct, squared, 1.0))
            radii = dot(a, absolute(axis)) + dot(b * (1.0 - second), absolute(product(R.T, axis)))
            separation = absolute(dot(axis, p_b)) - radii
            most = where(distinct, maximum(most, separation), most)
            better = separation - BIAS * absolute(separation) > best.separation
            better = reduce(logical_and, (better, separation > faces.separation, distinct))
            best = chosen(better, EdgeAxis(separation, 1.0, axis, first, second), best)
    return best, most


def _is_of_face(boxes: Placed, faces: FaceAxis, edges: EdgeAxis) -> Any:
    """Condition that the axis of the edges is about that of the best face, and hardly better."""
    normal = where(faces.second > 0.5, product(boxes.R, faces.unit), faces.unit)
    enough = faces.separation + WORSE * absolute(faces.separation) + LEAST
    return logical_and(absolute(dot(edges.axis, normal)) > ALONG, edges.separation < enough)


def _edge_point(boxes: Placed, edges: EdgeAxis) -> tuple[Any, Array, Array]:
    """Distance, position and normal, in axes of the first box: halfway between the nearest points of two edges.

    Where the normal is about that of a face, two edges of that face are equally far along it: the nearest pair counts.
    """
    a, b, R, p_b, _ = boxes
    n = where(dot(edges.axis, p_b) < 0.0, -1.0, 1.0) * edges.axis
    of_b = product(R.T, n)
    corner_a, corner_b = (np.array([where(x >= 0.0, 1.0, -1.0) for x in y]) * z for y, z in ((n, a), (of_b, -b)))
    others = [np.array([where(absolute(x) < UNCLEAR, -1.0, 1.0) for x in y]) for y in (n, of_b)]
    half_a, half_b = edges.first * a, product(R, edges.second * b)
    least, on_a, on_b = FAR, np.zeros(3), np.zeros(3)
    for sides_a in (corner_a, corner_a * others[0]):
        for sides_b in (corner_b, corner_b * others[1]):
            middle_b = p_b + product(R, (1.0 - edges.second) * sides_b)
            one, two = between_segments((1.0 - edges.first) * sides_a, half_a, middle_b, half_b)
            squared = dot(two - one, two - one)
            nearer = squared < least
            least, on_a, on_b = where(nearer, squared, least), where(nearer, one, on_a), where(nearer, two, on_b)
    return dot(on_b - on_a, n), 0.5 * (on_a + on_b), n


def turned(unit: Array, x: Array) -> Array:
    """x in turned axes, the third of which is that of the unit vector."""
    turned = [np.roll(x, -k - 1) for k in range(3)]
    return where(unit[0] > 0.5, turned[0], where(unit[1] > 0.5, turned[1], turned[2]))


def _face_points(boxes: Placed, faces: FaceAxis, X_a: Pose, X_b: Pose) -> dict[str, Any]:
    """The corners of what the reference and the other one's face have in common, halfway between both."""
    first = faces.second < 0.5
    half, other = (turned(faces.unit, where(first, boxes.a, boxes.b)), where(first, boxes.b, boxes.a))
    p = turned(faces.unit, where(first, boxes.p_b, boxes.p_a))
    r = np.array([turned(faces.unit, axis) for axis in where(first, boxes.R, boxes.R.T).T]).T
    side = where(p[2] >= 0.0, 1.0, -1.0)
    up = np.array([1.0, 1.0, side])  # z leaves the reference
    corners, u, w = _parallelogram(half, other, up * p, up[:, None] * r)
    rows = _common(half, corners, u, w)
    X = Pose(where(first, X_a.R, X_b.R), where(first, X_a.p, X_b.p))
    axes = np.array([turned(faces.unit, row) for row in X.R])  # as columns those of the reference, in the world
    heights = [side * (half[2] + where(row[2] < FAR, 0.5 * row[2], 0.0)) for row in rows]
    position = [X.p + axes @ np.array([row[0], row[1], z]) for row, z in zip(rows, heights, strict=True)]
    normal = where(first, side, -side) * axes[:, 2]
    return {"distance": rows[:, 2], "position": np.array(position), "normal": normal}


def _parallelogram(half: Array, other: Array, p: Array, r: Array) -> Any:
    """Corners (4, 3) in turn, from the middle of the reference, and the edges u and w that join them.

    The face of a box with half sizes `other`, middle p and axes r that looks most at the reference.
    """
    steep = absolute(r[2])
    last = logical_and(steep[2] > steep[0], steep[2] > steep[1])
    middle = logical_and(steep[1] > steep[0], logical_not(last))
    unit = np.array([where(logical_or(last, middle), 0.0, 1.0), where(middle, 1.0, 0.0), where(last, 1.0, 0.0)])
    size, axes = turned(unit, other), np.array([turned(unit, row) for row in r])
    centre = p - where(axes[2, 2] > 0.0, 1.0, -1.0) * size[2] * axes[:, 2] - half * np.array([0.0, 0.0, 1.0])
    u, w = size[0] * axes[:, 0], size[1] * axes[:, 1]
    return [centre + x * u + y * w for x, y in CORNERS], 2.0 * u, 2.0 * w


def _common(half: Array, corners: list[Array], u: Array, w: Array) -> Array:
    """(8, 3): the corners of what the rectangle and the parallelogram have in common; those that are far do not exist.

    Each lies on an edge of the parallelogram, where that enters or leaves the rectangle, or is one of the rectangle's.
    """
    exists, rows = [], []
    for one, two in zip(corners, (*corners[1:], corners[0]), strict=True):
        in_both, start, end = _cut(half, one, two)
        exists += [in_both, in_both]
        rows += [start, end]
    area = u[0] * w[1] - u[1] * w[0]
    for sides in CORNERS:
        at = half[:2] * sides - corners[2][:2]
        x, y = (at[0] * w[1] - at[1] * w[0]) / area, (u[0] * at[1] - u[1] * at[0]) / area
        exists.append(maximum(absolute(x - 0.5), absolute(y - 0.5)) <= 0.5 + ROUNDING)
        rows.append(np.array([*(half[:2] * sides), corners[2][2] + x * u[2] + y * w[2]]))
    near = SAME * dot(half[:2], half[:2])

    def keep(table: Array, count: Any, exists: Any, row: Array) -> dict[str, Any]:
        distances = [dot(row[:2] - x[:2], row[:2] - x[:2]) + where(count > k, 0.0, FAR) for k, x in enumerate(table)]
        new = logical_and(exists > 0.5, reduce(minimum, distances) >= near)
        return {"count": count + where(new, 1.0, 0.0), "to": np.array([where(new, count, -1.0)]), "rows": row[None]}

    items = {"exists": np.array([where(x, 1.0, 0.0) for x in exists]), "row": np.array(rows)}
    everything = np.tile(np.arange(float(POINTS)), (len(rows), 1))
    return visit(keep, items, np.tile([0.0, 0.0, FAR], (POINTS, 1)), everything, {"count": 0.0})["table"]


def _cut(half: Array, start: Array, end: Array) -> tuple[Any, Array, Array]:
    """Condition that part of an edge is in the rectangle, and the ends (3,) of that part: sides cut in turn.

    Where it lies along a side but for rounding, it may be cut anywhere, as MuJoCo's is: hence this order.
    """
    exists = 1.0
    for k in (0, 1):
        for sign in (1.0, -1.0):
            out = [sign * x[k] - half[k] for x in (start, end)]
            crosses = out[0] * out[1] < 0.0
            t = out[0] / where(crosses, out[0] - out[1], 1.0)
            at = start + where(crosses, t, 0.0) * (end - start)
            beyond = [x > 0.0 for x in out]
            exists = where(logical_and(*beyond), 0.0, exists)
            start, end = (  # where only one end is beyond the side, and the other one on it, that is all there is
                where(beyond[0], where(crosses, at, end), start),
                where(beyond[1], where(crosses, at, start), end),
            )
    return exists > 0.5, start, end
