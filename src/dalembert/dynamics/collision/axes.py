"""How deep two convex shapes overlap: the direction along which they overlap least.

For bodies bounded by planes that direction is the normal of a face of one of them, or lies across an edge of each. The
feature that is found is held, and the depth computed from it in closed form, for derivatives as well.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import held, logical_and, logical_or, scan, sqrt, where
from dalembert.shapes import Box
from dalembert.shapes.segment import Segment
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot

from .cores import HULLS, edge, first_point, over_edges, over_faces, promising_edges
from .directions import computed_where
from .lines import PARALLEL
from .witness import Witness

FACE_A, FACE_B, EDGES = 0.0, 1.0, 2.0
LEAST = -1e9  # [m] below every separation


class Feature(NamedTuple):
    """The feature that separates two shapes: a face of A or of B, or an edge of each; vectors in their shape's frame.

    Of a face: its outward normal, a point of it, and the point of the other shape that comes first.
    Of edges: their directions, whose vector product points out of A, and a point of each.
    """

    kind: Any
    direction_a: np.ndarray
    point_a: np.ndarray
    direction_b: np.ndarray
    point_b: np.ndarray


class Candidate(NamedTuple):
    """A feature, and how far apart the shapes are along its normal [m], negative where they overlap."""

    separation: Any
    feature: Feature


def overlap(a: Any, b: Any, X_AB: Pose, wanted: Any, level: Any = 0.0) -> Witness:
    """The least overlap of two of `Segment`, `Box` and `Hull`, in A's frame; where it is not wanted, anything.

    level [m]: of overlaps that differ by less, that along a face of A is taken, then that along a face of B.
    """
    numbers = computed_where(wanted, lambda X: _flat(_best(a, b, X, level, wanted)), X_AB, 14)
    return _witness(_restored(held(numbers)).feature, X_AB)


def _best(a: Any, b: Any, X_AB: Pose, level: Any, wanted: Any) -> Candidate:
    """The feature along whose normal the shapes are farthest apart, or overlap least."""
    of_a = _face_candidate(a, b, X_AB, FACE_A, wanted)
    of_b = _face_candidate(b, a, X_AB.inverse(), FACE_B, wanted)
    best = _larger(_larger(Candidate(LEAST, Feature(FACE_A, *np.zeros((4, 3)))), of_a, level), of_b, level)
    if (isinstance(a, Segment) or isinstance(b, Segment)) and (isinstance(a, HULLS) or isinstance(b, HULLS)):
        edges = _segment_edges(a, b, X_AB)
    elif isinstance(a, HULLS) or isinstance(b, HULLS):
        edges = _hull_edges(a, b, X_AB, (of_a, of_b), best.separation, wanted)
    else:
        edges = _box_edges(a, b, X_AB)
    return _larger(best, edges, level)


# ---- faces


def _face_candidate(a: Any, b: Any, X_AB: Pose, kind: float, wanted: Any) -> Candidate:
    """The best of the faces of a shape against the first point of another one; a segment has none."""
    none = np.array([LEAST, kind, *np.zeros(12)])
    if isinstance(a, Segment):
        return _restored(none)
    if isinstance(a, Box):
        half = 0.5 * a.size
        rows = []
        for k in range(3):
            # of two opposite faces, the one on the side of a symmetric shape's centre
            for sign in (1.0, -1.0) if isinstance(b, HULLS) else (where(X_AB.p[k] < 0.0, -1.0, 1.0),):
                normal = np.array([sign if i == k else 0.0 for i in range(3)])
                rows.append(_face(normal, normal * half, b, X_AB, kind))
        return reduce(_larger, rows)
    inside = X_AB.point(b.middle)

    def better(best: Any, normal: Any, offset: Any) -> dict[str, Any]:
        # no point of b is before its first point: where one is too far in, that is too
        known = _restored(best).feature
        before = X_AB.point(known.point_b if kind == FACE_A else known.point_a)
        promising = logical_and(wanted, dot(normal, inside) - offset > best[0])
        promising = logical_and(promising, logical_or(dot(normal, before) - offset > best[0], best[0] <= LEAST))
        candidate = _face(normal, normal * offset, b, X_AB, kind, promising)
        return {"best": where(promising, _flat(_larger(_restored(best), candidate)), best)}

    return _restored(over_faces(a, better, none))


def _face(normal: np.ndarray, point: np.ndarray, b: Any, X_AB: Pose, kind: float, wanted: Any = True) -> Candidate:
    first = first_point(b, -(X_AB.R.T @ normal), wanted)
    separation = dot(normal, X_AB.point(first) - point)
    face, other = (normal, point), (np.zeros(3), first)
    return Candidate(separation, Feature(kind, *(face + other if kind == FACE_A else other + face)))


# ---- edges


def _box_edges(a: Any, b: Any, X_AB: Pose) -> Candidate:
    """Edges of boxes and segments."""
    best = Candidate(LEAST, Feature(EDGES, *np.zeros((4, 3))))
    for i in _directions(a):
        for j in _directions(b):
            across = cross(np.eye(3)[i], X_AB.R[:, j])
            square = dot(across, across)
            crossing = square > PARALLEL
            n = across / sqrt(where(crossing, square, 1.0))
            side = where(dot(n, X_AB.p) < 0.0, -1.0, 1.0)
            n = side * n  # from A to B
            middle_a, middle_b = _middle(a, n, i), _middle(b, -(X_AB.R.T @ n), j)
            separation = dot(n, X_AB.point(middle_b) - middle_a)
            feature = Feature(EDGES, side * np.eye(3)[i], middle_a, np.eye(3)[j], middle_b)
            best = _larger(best, Candidate(where(crossing, separation, LEAST), feature))
    return best


def _directions(shape: Any) -> tuple[int, ...]:
    """The axes along which a box or segment has edges."""
    return (0, 1, 2) if isinstance(shape, Box) else () if shape.is_point else (2,)


def _middle(shape: Any, d: np.ndarray, axis: int) -> np.ndarray:
    """The middle of the edge along an axis that is farthest along d."""
    point = shape.support(d)
    return np.array([0.0 if k == axis else x for k, x in enumerate(point)])


def _hull_edges(a: Any, b: Any, X_AB: Pose, faces: tuple[Candidate, Candidate], known: Any, wanted: Any) -> Candidate:
    """Edges of hulls: two of them make a face of the set of all differences where their arcs on the sphere of normals
    cross.   Gregorius, The separating axis test between convex polyhedra, 2013.

    Of all edges those are listed first whose arc may hold something better than what is known.
    """
    on_b, on_a = X_AB.point(faces[0].feature.point_b), X_AB.inverse().point(faces[1].feature.point_a)
    inside_b, inside_a = X_AB.point(b.middle), X_AB.inverse().point(a.middle)
    of_a, count_a = promising_edges(a, (inside_b, on_b), known, wanted)
    of_b, count_b = promising_edges(b, (inside_a, on_a), known, wanted)

    def outer(best: Any, number: Any) -> dict[str, Any]:
        start_a, along_a, left_a, right_a = edge(a, number)
        R, turn_a = X_AB.R.T, X_AB.R.T @ cross(right_a, left_a)  # in B's axes, in which its edges are constants
        left, right, direction = R @ left_a, R @ right_a, R @ along_a
        origin = R @ (start_a - X_AB.p)

        def inner(best: Any, number: Any) -> dict[str, Any]:
            start_b, along_b, left_b, right_b = edge(b, number)
            turn_b = cross(right_b, left_b)
            cba, dba = -dot(left_b, turn_a), -dot(right_b, turn_a)
            adc, bdc = dot(left, turn_b), dot(right, turn_b)
            meet = logical_and(logical_and(cba * dba < 0.0, adc * bdc < 0.0), cba * bdc > 0.0)
            across = cross(direction, along_b)
            square = dot(across, across)
            meet = logical_and(meet, square > PARALLEL * dot(direction, direction) * dot(along_b, along_b))
            n = across / sqrt(where(meet, square, 1.0))
            side = where(dot(n, left + right) < 0.0, -1.0, 1.0)  # out of A
            separation = where(meet, side * dot(n, start_b - origin), LEAST)
            feature = Feature(EDGES, side * along_a, start_a, along_b, start_b)
            return {"best": _flat(_larger(_restored(best), Candidate(separation, feature)))}

        return {"best": scan(inner, {"number": of_b}, {"best": best}, count=count_b, history=False)["best"]}

    start = np.array([LEAST, *np.zeros(13)])
    return _restored(scan(outer, {"number": of_a}, {"best": start}, count=count_a, history=False)["best"])


def _segment_edges(a: Any, b: Any, X_AB: Pose) -> Candidate:
    """A segment against the edges of a hull whose faces look to both of its ends."""
    start = np.array([LEAST, *np.zeros(13)])
    segment, body = (a, b) if isinstance(a, Segment) else (b, a)
    X = X_AB.inverse() if isinstance(a, Segment) else X_AB  # the segment in the hull's frame
    along = X.R[:, 2]

    def step(best: Any, point: Any, direction: Any, left: Any, right: Any) -> dict[str, Any]:
        across = cross(direction, along)
        square = dot(across, across)
        meet = logical_and(dot(left, along) * dot(right, along) < 0.0, square > PARALLEL * dot(direction, direction))
        n = across / sqrt(where(meet, square, 1.0))
        side = where(dot(n, left + right) < 0.0, -1.0, 1.0)  # out of the hull
        separation = where(meet, side * dot(n, X.p - point), LEAST)
        of_hull, of_segment = (side * direction, point), (np.array([0.0, 0.0, 1.0]), np.zeros(3))
        feature = Feature(EDGES, *(of_segment + of_hull if isinstance(a, Segment) else of_hull + of_segment))
        return {"best": _flat(_larger(_restored(best), Candidate(separation, feature)))}

    if segment.is_point:
        return _restored(start)
    return _restored(over_edges(body, step, start))


# ---- features


def _larger(x: Candidate, y: Candidate, level: Any = 0.0) -> Candidate:
    """The one with the larger separation; x of those that differ by less than `level` [m]."""
    better = y.separation > x.separation + level
    feature = Feature(*(where(better, new, old) for old, new in zip(x.feature, y.feature, strict=True)))
    return Candidate(where(better, y.separation, x.separation), feature)


def _flat(candidate: Candidate) -> np.ndarray:
    """The feature as 14 numbers, for a loop to carry."""
    kind, *vectors = candidate.feature
    return np.array([candidate.separation, kind, *(x for vector in vectors for x in vector)])


def _restored(numbers: np.ndarray) -> Candidate:
    vectors = (numbers[k : k + 3] for k in (2, 5, 8, 11))
    return Candidate(numbers[0], Feature(numbers[1], *vectors))


def _witness(feature: Feature, X_AB: Pose) -> Witness:
    """Separation, points and normal of a feature, in A's frame."""
    kind, d_a, a, d_b, b = feature
    b, d_b = X_AB.point(b), X_AB.R @ d_b
    edges, of_a = kind == EDGES, kind == FACE_A
    across = cross(d_a, d_b)
    square = dot(across, across)
    outward = where(edges, across / sqrt(where(edges, square, 1.0)), where(of_a, d_a, -d_b))  # from A to B
    separation = dot(outward, b - a)
    # where the edges pass each other
    between = b - a
    t = dot(cross(between, d_b), across) / where(edges, square, 1.0)
    on_a = where(edges, a + t * d_a, where(of_a, b - separation * outward, a))
    return Witness(separation, on_a, on_a + separation * outward, -outward)
