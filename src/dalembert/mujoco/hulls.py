"""Contact points of the convex hull of a mesh and a plane, as in MuJoCo: up to four corners of one of its sides.

Among the sides at the deepest vertex, it is the one that faces the plane most. If that side has more than four corners,
four are kept, the deepest among them: the others move on, one at a time, as long as the area between the four grows,
however deep they are. Corners above the centre of the hull do not count. The rules were inferred from results of
MuJoCo 4.0.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision.hulls import Hull, TabledHull
from dalembert.math import logical_and, lookup, scan, sqrt, where
from dalembert.shapes.polyhedra import unit_inertia_of_surface
from dalembert.spatial.vectors import cross, dot

from .polygons import spread

CORNERS = 4
MOST_VERTICES = 1024  # of the hull of a mesh: they are numbers in a table, not code
TRIALS = 6  # for each corner of a side: each of three numbers goes round at most once, and fails as often


class Corner(NamedTuple):
    """A corner of a hull, (3,) in its frame [m]; present: 1 where it counts, else 0."""

    point: np.ndarray
    present: Any


class SideTables:
    """Vertices, sides and their corners of several hulls, below each other.

    hulls: number of the first vertex, of vertices, and the centre; vertices: place, number of the first row of `sides`
    and of its rows; sides: normal, number of the first row of `corners`, of its rows, and of this vertex among them.
    """

    def __init__(self, hulls: Sequence[Hull]) -> None:
        about: list[list[float]] = []
        vertices: list[list[float]] = []
        sides: list[list[float]] = []
        corners: list[np.ndarray] = []
        for hull in hulls:
            centre = unit_inertia_of_surface(hull.vertices, hull.triangles).com
            about.append([len(vertices), len(hull.vertices), *centre])
            around: list[list[list[float]]] = [[] for _ in hull.vertices]
            for normal, ring in hull.polygons:
                for k, vertex in enumerate(ring):
                    around[vertex].append([*normal, len(corners), len(ring), k])
                corners.extend(hull.vertices[list(ring)])
            for point, rows in zip(hull.vertices, around, strict=True):
                vertices.append([*point, len(sides), len(rows)])
                sides.extend(rows)
        self.hulls, self.vertices = np.array(about, float), np.array(vertices)
        self.sides, self.corners = np.array(sides), np.array(corners)
        self.most_vertices = int(self.hulls[:, 1].max())
        self.most_sides = int(self.vertices[:, 4].max())
        self.most_corners = int(self.sides[:, 4].max())

    @classmethod
    def of(cls, body: Hull | TabledHull) -> tuple[SideTables, Any]:
        """Tables with a hull in them, and its number there."""
        return (cls([body]), 0.0) if isinstance(body, Hull) else (cls(body.table.hulls), body.number)


def lowest_corners(body: Hull | TabledHull, down: np.ndarray) -> list[Corner]:
    """Four corners, of which some may not be present; the first is the deepest one. down (3,): in the hull's frame."""
    tables, number = SideTables.of(body)
    first, count, *centre = lookup(tables.hulls, number)
    vertex = farthest_row(down, tables.vertices, first, count, tables.most_vertices)
    begin, sides = lookup(tables.vertices[:, 3:], vertex)
    side = farthest_row(down, tables.sides, begin, sides, tables.most_sides)
    start, length, position = lookup(tables.sides[:, 3:], side)

    def corner(number: Any) -> np.ndarray:
        at = position + number
        return lookup(tables.corners, start + where(at >= length, at - length, at))

    numbers = np.arange(float(CORNERS))
    if tables.most_corners > CORNERS:

        def area(numbers: np.ndarray) -> Any:
            a, b, c, d = (corner(number) for number in numbers)
            across = cross(a - c, b - d)
            return sqrt(dot(across, across))

        numbers = spread(area, length, TRIALS * tables.most_corners, turns=False)
    corners = []
    for k, number in enumerate(numbers):
        point = corner(number)
        below = dot(down, point - np.array(centre)) > 0.0
        present = logical_and(k < length, below) if k else True
        corners.append(Corner(point, where(present, 1.0, 0.0)))
    return corners


def farthest_row(along: np.ndarray, table: np.ndarray, first: Any, count: Any, most: int) -> Any:
    """Number of the row whose vector is farthest along a direction, among `count` rows from the first one on."""
    vectors = table[:, :3]

    def step(best: Any, k: Any) -> dict[str, Any]:
        reach = dot(along, lookup(vectors, first + k))
        return {"best": where(reach > best[0], np.array([reach, k]), best)}

    begin = {"best": np.array([-np.inf, 0.0])}
    return first + scan(step, {"k": np.arange(float(most))}, begin, count=count)["best"][-1][1]
