"""Cores of shapes that end in corners, edges and faces, and loops over these, whose code is emitted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.math import logical_and, logical_or, lookup, maximum, scan, visit, where
from dalembert.shapes.farthest import WRITTEN_OUT
from dalembert.shapes.segment import Segment
from dalembert.spatial.vectors import dot

from .hulls import Edges, Hull, TabledHull
from .prisms import Prism

HULLS = (Hull, TabledHull)
Step = Callable[..., dict[str, Any]]
QUARTERS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])


def first_point(shape: Any, d: np.ndarray, wanted: Any) -> np.ndarray:
    """The point farthest along d; where it is not wanted, anything, and hulls of many vertices are not gone through."""
    if not isinstance(shape, TabledHull) and not (isinstance(shape, Hull) and len(shape.vertices) > WRITTEN_OUT):
        return shape.support(d)

    def step(best: Any, point: Any) -> dict[str, Any]:
        along = dot(point, d)
        return {"best": where(along > best[3], np.array([*point, along]), best)}

    return over_vertices(shape, step, np.array([0.0, 0.0, 0.0, -np.inf]), wanted)[:3]


def over_vertices(shape: Any, step: Step, start: np.ndarray, wanted: Any = True) -> np.ndarray:
    """step(best, point) for each corner, one after the other; where this is not wanted, start."""
    if isinstance(shape, TabledHull):
        return _loop(lambda best, k: step(best, shape.vertex(k)), _numbers(shape.table.vertex_count), start, wanted)
    if isinstance(shape, Segment):
        corners = np.array([[0.0, 0.0, -shape.half], [0.0, 0.0, shape.half]])
    else:
        corners = shape.vertices if isinstance(shape, Hull) else _unit_box().vertices * (0.5 * shape.size)
    return _loop(step, {"point": corners}, start, wanted)


def over_faces(shape: Any, step: Step, start: np.ndarray) -> np.ndarray:
    """step(best, normal, offset) for each face, one after the other; a segment has none."""
    if isinstance(shape, Segment):
        return start
    if isinstance(shape, TabledHull):
        return _loop(lambda best, k: step(best, *shape.plane(k)), _numbers(shape.table.face_count), start)
    if isinstance(shape, Hull):
        normals, offsets = shape.faces
    else:
        normals, offsets = np.concatenate([np.eye(3), -np.eye(3)]), 0.5 * np.concatenate([shape.size, shape.size])
    return _loop(step, {"normal": normals, "offset": offsets}, start)


def over_edges(shape: Any, step: Step, start: np.ndarray) -> np.ndarray:
    """step(best, start, direction, left, right) for each edge, one after the other; a segment is four, a point none."""
    if isinstance(shape, Segment) and shape.is_point:
        return start
    if isinstance(shape, TabledHull):
        return _loop(lambda best, k: step(best, *shape.edge(k)), _numbers(shape.table.edge_count), start)
    return _loop(step, dict(zip(Edges._fields, _edges(shape), strict=True)), start)


def edge(shape: Any, k: Any) -> Edges:
    """The edge of a hull or box with a number: numbers (3,) instead of (n, 3)."""
    if isinstance(shape, TabledHull | Prism):
        return shape.edge(k)
    row = lookup(np.column_stack(shape.edges if isinstance(shape, Hull) else _unit_box().edges), k)
    size = 1.0 if isinstance(shape, Hull) else 0.5 * shape.size
    return Edges(size * row[:3], size * row[3:6], row[6:9], row[9:])


def promising_edges(shape: Any, points: Sequence[np.ndarray], known: Any, wanted: Any) -> tuple[np.ndarray, Any]:
    """The numbers (n,) of those edges along the normals of which all points (3,) are farther away than what is known,
    and how many they are; none where they are not wanted.

    The normals of an edge are an arc of less than half a turn: a point is farthest along one of its ends, unless it is
    in front of the edge.
    """

    def step(_: Any, count: Any, k: Any, *rows: Any) -> dict[str, Any]:
        start, _, left, right = shape.edge(k) if isinstance(shape, TabledHull) else rows
        promising = wanted
        for p in points:
            along = maximum(dot(left, p - start), dot(right, p - start))
            promising = logical_and(promising, logical_or(along >= 0.0, along > known))
        to = np.array([where(promising, count, -1.0)])
        return {"count": count + where(promising, 1.0, 0.0), "to": to, "rows": np.array([[k]])}

    if isinstance(shape, TabledHull):
        items = _numbers(shape.table.edge_count)
    else:
        rows = dict(zip(Edges._fields, _edges(shape), strict=True))
        items = _numbers(len(rows["start"])) | rows
    end = visit(step, items, np.zeros((len(items["k"]), 1)), carry={"count": 0.0})
    return end["table"][:, 0], end["count"]


def _loop(step: Step, items: dict[str, np.ndarray], start: np.ndarray, wanted: Any = True) -> np.ndarray:
    count = None if wanted is True else where(wanted, float(len(next(iter(items.values())))), 0.0)
    return scan(step, items, {"best": start}, count=count, history=False)["best"]


def _numbers(count: int) -> dict[str, np.ndarray]:
    return {"k": np.arange(float(count))}


def _edges(shape: Any) -> Edges:
    """Edges of a hull, or of a box or segment, whose size may be traced."""
    if isinstance(shape, Hull):
        return shape.edges
    if isinstance(shape, Segment):
        along = np.array([0.0, 0.0, shape.half])
        return Edges(np.array([-along] * 4), np.array([2.0 * along] * 4), QUARTERS, np.roll(QUARTERS, -1, axis=0))
    unit, half = _unit_box().edges, 0.5 * shape.size
    return Edges(unit.start * half, unit.direction * half, unit.left, unit.right)


@cache
def _unit_box() -> Hull:
    """The box from −1 to 1."""
    corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return Hull(corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]))
