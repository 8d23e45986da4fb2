"""Flat sides and straight lines of a shape with which, in MuJoCo, it may touch another one along a given direction.

Where that direction meets a corner of the shape, these are all sides and edges around it; where it meets an edge, the
edge and the sides beside it; where it meets a side, that side alone. Ends of cylinders are polygons of 16 corners.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.dynamics.collision.distance import Rounding
from dalembert.dynamics.collision.hulls import Hull, TabledHull
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, logical_or, lookup, maximum, scan, sqrt, where
from dalembert.math import map as mapped
from dalembert.math.tolerances import TINY
from dalembert.model.geometry import Box, Capsule, Cylinder
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot
from dalembert.typing import Array

from .polygons import SideTables, farthest_row

EDGE_ON = 1e-5  # smaller components of a unit vector count as 0
# Differences in height below this share of the distance between two vertices are rounding. Vertices of a mesh are
# rounded to single precision, so that a flat side is many slightly tilted triangles, of which MuJoCo finds one.
LEVEL = Rounding(double=1e-11, single=1e-5)
WRITTEN_OUT = 4  # rows; more are a loop
TURNS = 16  # corners of the end of a cylinder
ANGLES = 2.0 * np.pi * np.arange(TURNS) / TURNS
# corners of the sides of a box, in turn, as signs of the two other axes: first of the side towards + axis, then −
BOX_SIDES = {
    0: (((1, 1), (1, -1), (-1, -1), (-1, 1)), ((1, -1), (1, 1), (-1, 1), (-1, -1))),
    1: (((-1, -1), (1, -1), (1, 1), (-1, 1)), ((-1, 1), (1, 1), (1, -1), (-1, -1))),
    2: (((-1, 1), (1, 1), (1, -1), (-1, -1)), ((1, 1), (-1, 1), (-1, -1), (1, -1))),
}


class FlaggedRows(NamedTuple):
    """Numbers (k, m) of which the first one of a row is 1 where it counts, else 0; `count`: those after it are 0."""

    numbers: Array
    count: Any

    def each(self, step: Callable[[Any, Any], Any], state: Array) -> Array:
        """state = step(state, row), row after row."""
        if len(self.numbers) <= WRITTEN_OUT:
            for row in self.numbers:
                state = step(state, row)
            return state

        def one(state: Any, row: Array) -> dict[str, Any]:
            return {"state": step(state, row)}

        return scan(one, {"row": self.numbers}, {"state": state}, count=self.count, history=False)["state"]


class SideRing(NamedTuple):
    """The corners (k, 3) of a side in turn, clockwise seen from outside, of which the first `count` are there [m]."""

    corners: Array
    count: Any


class Outline(Protocol):
    """Sides and lines of a shape that may touch, in world axes."""

    @property
    def sides(self) -> FlaggedRows:
        """Rows of flag, outward normal and number of each side."""

    def ring(self, number: Any) -> SideRing:
        """The corners of the side with this number."""

    def lines(self, normal: Array) -> FlaggedRows:
        """Rows of flag, start and end of each line that may lie in a side of another shape with this normal."""


def outline(shape: Any, X: Pose, n: Array, margin: Any) -> Outline:
    """Outline of a shape placed at X along n, which points out of it; shapes touch within the margin [m]."""
    match shape:
        case Capsule():
            return _Rounded(shape, X, n, margin)
        case Cylinder():
            return _Round(shape, X, n)
        case Box():
            return _Corners(shape, X, n)
    return _HullOutline(shape, X, n)


def number(condition: Any) -> Any:
    """1 where it holds, else 0."""
    return where(condition, 1.0, 0.0)


class _Rounded:
    """A capsule: no side, and the straight line farthest along n. MuJoCo finds it on a capsule with half of the margin
    around, and goes back by as much along the normal of the side that it lies in."""

    def __init__(self, shape: Capsule, X: Pose, n: Array, margin: Any) -> None:
        self.shape, self.X, self.m, self.around = shape, X, X.R.T @ n, 0.5 * margin
        self.sides = FlaggedRows(np.zeros((0, 5)), 0.0)

    def ring(self, number: Any) -> SideRing:
        raise AssertionError("a capsule has no sides")

    def lines(self, normal: Array) -> FlaggedRows:
        x, y = (self.shape.radius + self.around) * self.m[:2]
        up = where(self.m[2] < 0.0, -0.5, 0.5) * self.shape.length
        ends = [self.X.point(np.array([x, y, z])) + self.around * normal for z in (up, -up)]
        return FlaggedRows(np.array([[1.0, *ends[0], *ends[1]]]), 1.0)


class _Round:
    """A cylinder: an end, and the straight line that is nearest to a side of another shape."""

    def __init__(self, shape: Cylinder, X: Pose, n: Array) -> None:
        self.shape, self.X, along = shape, X, dot(X.R[:, 2], n)
        self.up = where(along < 0.0, -1.0, 1.0)
        self.sides = FlaggedRows(np.array([[number(absolute(along) > EDGE_ON), *(self.up * X.R[:, 2]), 0.0]]), 1.0)

    def ring(self, number: Any) -> SideRing:
        radius, height = self.shape.radius, 0.5 * self.up * self.shape.length
        corners = [[radius * np.cos(t), -self.up * radius * np.sin(t), height] for t in ANGLES]
        return SideRing(np.array([self.X.point(np.array(corner)) for corner in corners]), float(TURNS))

    def lines(self, normal: Array) -> FlaggedRows:
        x, y, _ = self.X.R.T @ normal
        scale = -self.shape.radius / sqrt(maximum(x * x + y * y, TINY))
        up = 0.5 * self.up * self.shape.length
        ends = [self.X.point(np.array([scale * x, scale * y, z])) for z in (up, -up)]
        return FlaggedRows(np.array([[1.0, *ends[0], *ends[1]]]), 1.0)


class _Corners:
    """A box: up to three sides and edges."""

    def __init__(self, shape: Box, X: Pose, n: Array) -> None:
        self.X, self.half, m = X, 0.5 * shape.size, X.R.T @ n
        self.up = [where(x < 0.0, -1.0, 1.0) for x in m]
        self.across = [absolute(x) <= EDGE_ON for x in m]
        sides = [
            [number(logical_not(flat)), *(up * X.R[:, k]), float(k)]
            for k, (up, flat) in enumerate(zip(self.up, self.across, strict=True))
        ]
        self.sides = FlaggedRows(np.array(sides), 3.0)

    def ring(self, number: Any) -> SideRing:
        corners = self._ring(0)
        for axis in (1, 2):
            corners = where(number == float(axis), self._ring(axis), corners)
        return SideRing(corners, 4.0)

    def _ring(self, axis: int) -> Array:
        upper, lower = BOX_SIDES[axis]
        others = [k for k in range(3) if k != axis]
        corners = []
        for high, low in zip(upper, lower, strict=True):
            local = [self.up[axis] * self.half[axis]] * 3
            for k, s, t in zip(others, high, low, strict=True):
                local[k] = (s if s == t else s * self.up[axis]) * self.half[k]
            corners.append(self.X.point(np.array(local)))
        return np.array(corners)

    def lines(self, normal: Array) -> FlaggedRows:
        corner = np.array([up * size for up, size in zip(self.up, self.half, strict=True)])
        rows = []
        for k in range(3):
            i, j = (other for other in range(3) if other != k)
            # all three edges at a corner; of an edge that one alone; of a side none
            others = logical_or(self.across[i], self.across[j])
            end = np.array([-x if i == k else x for i, x in enumerate(corner)])
            rows.append([number(logical_not(others)), *self.X.point(corner), *self.X.point(end)])
        return FlaggedRows(np.array(rows), 3.0)


class _HullOutline:
    """A hull: the sides and edges around the corner that is farthest along n."""

    def __init__(self, body: Hull | TabledHull, X: Pose, n: Array) -> None:
        self.X, self.m = X, X.R.T @ n
        self.level = LEVEL.of(self.m[0], 1.0)
        self.tables, number = SideTables.of(body)
        self.first, self.vertices, *_ = lookup(self.tables.hulls, number)
        vertex = farthest_row(self.m, self.tables.vertices, self.first, self.vertices, self.tables.most_vertices)
        self.vertex = lookup(self.tables.vertices[:, :3], vertex)
        self.begin, self.count = lookup(self.tables.vertices[:, 3:], vertex)

    def _corner(self, number: Any, steps: float) -> Array:
        """A corner of a side, so many steps on from the vertex."""
        start, length, position = lookup(self.tables.sides[:, 3:], number)
        at = position + steps
        return lookup(self.tables.corners, start + where(at >= length, at - length, where(at < 0.0, at + length, at)))

    def _flat(self, point: Array) -> Any:
        """1 where a corner is as far along n as the vertex, which is flat too."""
        way = point - self.vertex
        return number(absolute(dot(way, self.m)) <= self.level * sqrt(dot(way, way)))

    @cached_property
    def _flats(self) -> Any:
        """Number of flat corners of the whole hull: 1 for a corner, 2 for an edge, more for a side."""

        def one(flats: Any, k: Any) -> dict[str, Any]:
            return {"flats": flats + self._flat(lookup(self.tables.vertices[:, :3], self.first + k))}

        items = {"k": np.arange(float(self.tables.most_vertices))}
        return scan(one, items, {"flats": 0.0}, count=self.vertices, history=False)["flats"]

    @cached_property
    def _around(self) -> dict[str, Array]:
        """Columns for the sides at the vertex: number, normal, the corner before it, count of flat corners."""

        def one(k: Any) -> dict[str, Any]:
            row = self.begin + k
            start, length, _ = lookup(self.tables.sides[:, 3:], row)

            def corner(flats: Any, i: Any) -> dict[str, Any]:
                return {"flats": flats + self._flat(lookup(self.tables.corners, start + i))}

            items = {"i": np.arange(float(self.tables.most_corners))}
            flats = scan(corner, items, {"flats": 0.0}, count=length, history=False)["flats"]
            numbers = [row, *lookup(self.tables.sides[:, :3], row), *self._corner(row, -1.0), flats]
            return {"row": np.array(numbers)}

        rows = mapped(one, {"k": np.arange(float(self.tables.most_sides))}, self.count)["row"]
        return {"number": rows[:, 0], "normal": rows[:, 1:4], "before": rows[:, 4:7], "flats": rows[:, 7]}

    @cached_property
    def sides(self) -> FlaggedRows:
        def one(k: Any, side: Any, normal: Array, flats: Any) -> dict[str, Any]:
            present = logical_and(k < self.count, flats >= self._flats)
            return {"row": np.array([number(present), *(self.X.R @ normal), side])}

        items = {"k": np.arange(float(self.tables.most_sides)), "side": self._around["number"]}
        items |= {name: self._around[name] for name in ("normal", "flats")}
        return FlaggedRows(mapped(one, items, self.count)["row"], self.count)

    def ring(self, number: Any) -> SideRing:
        start, length, _ = lookup(self.tables.sides[:, 3:], number)

        def one(k: Any) -> dict[str, Any]:
            return {"point": self.X.point(lookup(self.tables.corners, start + length - 1.0 - k))}

        items = {"k": np.arange(float(self.tables.most_corners))}
        return SideRing(mapped(one, items, length)["point"], length)

    def lines(self, normal: Array) -> FlaggedRows:
        return self._lines

    @cached_property
    def _lines(self) -> FlaggedRows:
        start = self.X.point(self.vertex)

        def one(k: Any, before: Any) -> dict[str, Any]:
            present = logical_or(self._flats < 1.5, logical_and(self._flats < 2.5, self._flat(before) > 0.5))
            present = logical_and(k < self.count, present)
            return {"row": np.array([number(present), *start, *self.X.point(before)])}

        items = {"k": np.arange(float(self.tables.most_sides)), "before": self._around["before"]}
        return FlaggedRows(mapped(one, items, self.count)["row"], self.count)
