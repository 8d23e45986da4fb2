"""Upright prisms below a triangle of a height field: small hulls whose numbers may be traced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.math import logical_and, logical_or, maximum, sqrt, take, where
from dalembert.spatial.vectors import dot

from .hulls import Edges, Hull
from .lines import on_segment, unit

NEXT = (1, 2, 0)
DOWN = np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True, eq=False)
class Prism(Hull, inherits=True):
    """Corners (6, 3): those of a triangle, counter-clockwise seen from above, below, then those above them [m]."""

    @cached_property
    def faces(self) -> tuple[np.ndarray, np.ndarray]:
        """Outward unit normals (5, 3) and offsets (5,): of the sides from each corner to the next, top, bottom."""
        low, high = self.vertices[:3], self.vertices[3:]
        sides = []
        for k in range(3):
            x, y, _ = low[NEXT[k]] - low[k]
            scale = 1.0 / sqrt(x * x + y * y)
            sides.append(np.array([y * scale, -x * scale, 0.0]))
        (ux, uy, uz), (vx, vy, vz) = high[1] - high[0], high[2] - high[0]
        across = np.array([uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx])
        normals = np.array([*sides, across / sqrt(dot(across, across)), DOWN])
        points = [*low, high[0], low[0]]
        return normals, np.array([dot(n, p) for n, p in zip(normals, points, strict=True)])

    @cached_property
    def edges(self) -> Edges:
        """The edges below, above and upright, three of each."""
        (*sides, top, bottom), _ = self.faces
        low, high = self.vertices[:3], self.vertices[3:]
        rows = [(low[k], low[NEXT[k]] - low[k], sides[k], bottom) for k in range(3)]
        rows += [(high[k], high[NEXT[k]] - high[k], top, sides[k]) for k in range(3)]
        rows += [(low[k], high[k] - low[k], sides[k - 1], sides[k]) for k in range(3)]
        return Edges(*(np.array(column) for column in zip(*rows, strict=True)))

    def edge(self, k: Any) -> Edges:
        """The one with a number: numbers (3,) instead of (n, 3)."""
        (row,) = take(np.column_stack(self.edges), np.array([k]))
        return Edges(row[:3], row[3:6], row[6:9], row[9:])

    @property
    def extent(self) -> Any:
        """How far it reaches from its origin [m]."""
        farthest: Any = 0.0
        for point in self.vertices:
            farthest = maximum(farthest, dot(point, point))
        return sqrt(farthest)


def prism(corners: np.ndarray, bottom: Any) -> Prism:
    """Below a triangle with these corners (3, 3), counter-clockwise seen from above, down to a height [m]."""
    below = np.array([[x, y, bottom] for x, y, _ in corners])
    return Prism(np.concatenate([below, corners]), np.zeros((0, 3), int))


def from_prism(p: np.ndarray, body: Prism) -> tuple[Any, np.ndarray]:
    """Signed distance of a point (3,) from a prism, and the unit normal (3,) out of it.

    Where the foot of the point on the plane of a face is within all others, it is the nearest; else that is on an edge.
    """
    normals, offsets = body.faces
    heights = [dot(n, p) - offset for n, offset in zip(normals, offsets, strict=True)]
    deepest, inward = heights[0], normals[0]
    on_face, out, front = False, heights[0], normals[0]
    for i, (height, n) in enumerate(zip(heights, normals, strict=True)):
        higher = height > deepest
        deepest, inward = where(higher, height, deepest), where(higher, n, inward)
        within: Any = height > 0.0
        for j, other in enumerate(normals):
            if j != i:
                within = logical_and(within, heights[j] <= height * dot(n, other))
        on_face = logical_or(on_face, within)
        out, front = where(within, height, out), where(within, n, front)
    best, nearest = np.inf, p
    for start, along in zip(body.edges.start, body.edges.direction, strict=True):
        point = on_segment(p, start + 0.5 * along, 0.5 * along)
        square = dot(p - point, p - point)
        closer = square < best
        best, nearest = where(closer, square, best), where(closer, point, nearest)
    length, normal = unit(p - nearest, inward)
    length, normal = where(on_face, out, length), where(on_face, front, normal)
    inside = deepest <= 0.0
    return where(inside, deepest, length), where(inside, inward, normal)
