"""Cores of shapes that end in corners, edges and faces, and loops over these, whose code is there once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import scan, where

from .hulls import Edges, Hull, TabledHull
from .supports import support

HULLS = (Hull, TabledHull)
QUARTERS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])


class Segment(NamedTuple):
    """The line from −half to +half along z [m]: the core of a capsule; of a sphere it has no length."""

    half: Any

    @property
    def is_point(self) -> bool:
        """Whether it is known to have no length."""
        return isinstance(self.half, float) and self.half == 0.0


def core_support(shape: Any, d: np.ndarray) -> np.ndarray:
    """Like `support`, for segments as well."""
    if isinstance(shape, Segment):
        return np.array([0.0, 0.0, 0.0 if shape.is_point else where(d[2] < 0.0, -shape.half, shape.half)])
    return support(shape, d)


def over_vertices(shape: Any, step: Callable[..., dict[str, Any]], start: np.ndarray) -> np.ndarray:
    """step(best, point) for each corner, one after the other."""
    if isinstance(shape, TabledHull):
        items = {"k": np.arange(float(shape.table.vertex_count))}
        return scan(lambda best, k: step(best, shape.vertex(k)), items, {"best": start})["best"][-1]
    if isinstance(shape, Segment):
        corners = np.array([[0.0, 0.0, -shape.half], [0.0, 0.0, shape.half]])
    else:
        corners = shape.vertices if isinstance(shape, Hull) else _unit_box().vertices * (0.5 * shape.size)
    return scan(step, {"point": corners}, {"best": start})["best"][-1]


def over_faces(shape: Any, step: Callable[..., dict[str, Any]], start: np.ndarray) -> np.ndarray:
    """step(best, normal, offset) for each face, one after the other; a segment has none."""
    if isinstance(shape, Segment):
        return start
    if isinstance(shape, TabledHull):
        items = {"k": np.arange(float(shape.table.face_count))}
        return scan(lambda best, k: step(best, *shape.face(k)), items, {"best": start})["best"][-1]
    if isinstance(shape, Hull):
        normals, offsets = shape.faces
    else:
        normals, offsets = np.concatenate([np.eye(3), -np.eye(3)]), 0.5 * np.concatenate([shape.size, shape.size])
    return scan(step, {"normal": normals, "offset": offsets}, {"best": start})["best"][-1]


def over_edges(shape: Any, step: Callable[..., dict[str, Any]], start: np.ndarray) -> np.ndarray:
    """step(best, start, direction, left, right) for each edge, one after the other; a segment is four, a point none."""
    if isinstance(shape, Segment) and shape.is_point:
        return start
    if isinstance(shape, TabledHull):
        items = {"k": np.arange(float(shape.table.edge_count))}
        return scan(lambda best, k: step(best, *shape.edge(k)), items, {"best": start})["best"][-1]
    items = dict(zip(Edges._fields, _edges(shape), strict=True))
    return scan(step, items, {"best": start})["best"][-1]


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
