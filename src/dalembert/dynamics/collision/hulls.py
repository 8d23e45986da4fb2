"""Hulls as tables of numbers, and those that a robot's file states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.math import lookup, scan, where
from dalembert.shapes import Shape
from dalembert.shapes.farthest import TILT, around
from dalembert.shapes.hull import Edges, Hull, deviation, hull, quickhull
from dalembert.shapes.mesh import MujocoHull
from dalembert.spatial.vectors import dot

__all__ = ["Edges", "Hull", "HullTable", "TabledHull", "deviation", "hull", "stated_hull"]


class HullTable:
    """Several hulls as tables of numbers with as many rows for each, for loops whose code is emitted once.

    Rows that a hull does not need repeat its last one.
    """

    def __init__(self, hulls: Sequence[Hull]) -> None:
        self.hulls = hulls
        self.vertices, self.vertex_count = _stacked([hull.vertices for hull in hulls])
        self.extents = np.array([np.max(np.linalg.norm(hull.vertices, axis=1)) for hull in hulls])
        self.middles = np.array([hull.vertices.mean(axis=0) for hull in hulls])

    @property
    def face_count(self) -> int:
        """Rows for the faces of each hull."""
        return len(self.faces) // len(self.hulls)

    @property
    def edge_count(self) -> int:
        """Rows for the edges of each hull."""
        return len(self.edges) // len(self.hulls)

    @cached_property
    def faces(self) -> np.ndarray:
        """Outward unit normals and offsets (n, 4)."""
        return _stacked([np.column_stack(hull.faces) for hull in self.hulls])[0]

    @cached_property
    def edges(self) -> np.ndarray:
        """Start, direction, and normals on both sides (n, 12)."""
        return _stacked([np.column_stack(hull.edges) for hull in self.hulls])[0]


def _stacked(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Arrays (n, m) below each other, each with as many rows as the longest, and that number."""
    count = max(len(part) for part in parts)
    rows = [np.concatenate([part, np.repeat(part[-1:], count - len(part), axis=0)]) for part in parts]
    return np.concatenate(rows), count


class TabledHull(Shape):
    """One hull of a table; number: which one, perhaps a traced value."""

    def __init__(self, table: HullTable, number: Any) -> None:
        self.table, self.number = table, number

    def support(self, d: np.ndarray) -> np.ndarray:
        def step(best: Any, k: Any) -> dict[str, Any]:
            point = self.vertex(k)
            along = dot(point, d)
            return {"best": where(along > best[3], np.array([*point, along]), best)}

        first = self.vertex(0.0)
        start = np.array([*first, dot(first, d)])
        return scan(step, {"k": np.arange(1.0, self.table.vertex_count)}, {"best": start}, history=False)["best"][:3]

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        return around(self, d, TILT)

    @property
    def extent(self) -> Any:
        """How far it reaches from its origin [m]."""
        return lookup(self.table.extents, self.number)

    @property
    def middle(self) -> np.ndarray:
        """A point (3,) inside it."""
        return lookup(self.table.middles, self.number)

    def vertex(self, k: Any) -> np.ndarray:
        """(3,)."""
        return lookup(self.table.vertices, self.number * float(self.table.vertex_count) + k)

    def plane(self, k: Any) -> tuple[np.ndarray, Any]:
        """Outward unit normal (3,) and offset of the plane of a face."""
        row = lookup(self.table.faces, self.number * float(self.table.face_count) + k)
        return row[:3], row[3]

    def edge(self, k: Any) -> Edges:
        """One edge: numbers (3,) instead of (n, 3)."""
        row = lookup(self.table.edges, self.number * float(self.table.edge_count) + k)
        return Edges(row[:3], row[3:6], row[6:9], row[9:])


def stated_hull(stated: MujocoHull) -> Hull:
    """The hull that an MJCF file's mesh has in MuJoCo, with all its vertices."""
    number = {point.tobytes(): k for k, point in enumerate(stated.points)}
    extreme, triangles = quickhull(stated.points)
    numbers = np.array([number[point.tobytes()] for point in extreme])
    rings = np.split(stated.corners, np.cumsum(stated.counts)[:-1])
    sides = zip(stated.normals, (tuple(int(k) for k in ring) for ring in rings), strict=True)
    return Hull(stated.points, numbers[triangles], tuple(sides))
