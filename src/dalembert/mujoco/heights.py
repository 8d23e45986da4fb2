"""Contact points of shapes and a height field, as in MuJoCo: one for each prism of the field that a shape overlaps.

A cell of its grid has two triangles, on both sides of the diagonal from its lowest to its highest x and y. Below each
is a prism, down to the base of the field. Of the cells below the box around a shape, in the axes of the field and with
the margin around, row after row along x, every prism that reaches up to that box is one convex body, which touches the
shape at the deepest point; the first 50 points of a pair count. There is no ground beyond the edges. All of it was
compared with MuJoCo 4.0.1.

A first loop, over all cells below all shapes, lists these prisms; a second one, over the few that are left, finds their
points. The code of both is emitted once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.contact.bounds import bounded
from dalembert.dynamics.collision import FAR, distance
from dalembert.dynamics.collision.groups import pose_of
from dalembert.dynamics.collision.hulls import Hull, TabledHull
from dalembert.dynamics.collision.prisms import Prism
from dalembert.math import (
    branch,
    floor,
    logical_and,
    logical_not,
    logical_or,
    lookup,
    maximum,
    minimum,
    sqrt,
    take,
    visit,
    where,
)
from dalembert.model.geometry import Box
from dalembert.model.mujoco import HeightMap
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot
from dalembert.typing import Array

from .expansion import expanded

MOST_POINTS = 50  # of a shape on a field
SHALLOW = 1e-9  # [m]: smaller depths count as 0
MOST_PRISMS = 1024  # slots for prisms that may touch something; if they do not suffice, accelerations are NaN
HULLS = (Hull, TabledHull)
Solids = Callable[[Any], tuple[Any, Any]]


class Field:
    """A height field as tables of numbers, in its own frame."""

    def __init__(self, heights: HeightMap) -> None:
        self.xs, self.ys, self.base = heights.xs, heights.ys, heights.base
        self.columns, self.rows = len(heights.xs) - 1, len(heights.ys) - 1  # of cells
        self.heights = heights.z

    def most_prisms(self, shape: Any, reach: float) -> int:
        """Largest number of prisms below a shape, however it lies."""
        width = 2.0 * (bounded(0, Pose.identity(), shape).radius + reach)
        counts = []
        for grid, cells in ((self.xs, self.columns), (self.ys, self.rows)):
            counts.append(min(cells, int(width * cells / (grid[-1] - grid[0])) + 2))
        return 2 * counts[0] * counts[1]

    def window(self, shape: Any, X: Pose, reach: Any) -> Array:
        """Below a shape at X: number of the first column and row of cells, of columns and rows, lowest height (5,)."""
        low, high = [], []
        for axis in range(3):
            d = X.R[axis]
            up = dot(shape.support(d), d)
            down = dot(shape.support(-d), -d) if isinstance(shape, HULLS) else up
            low.append(X.p[axis] - down)
            high.append(X.p[axis] + up)
        first, count = [], []
        for k, (grid, cells) in enumerate(((self.xs, self.columns), (self.ys, self.rows))):
            scale = cells / (grid[-1] - grid[0])
            begin = maximum(floor((low[k] - reach - grid[0]) * scale), 0.0)
            end = minimum(-floor(-(high[k] + reach - grid[0]) * scale), float(cells))
            first.append(begin)
            count.append(maximum(end - begin, 0.0))
        return np.array([*first, *count, low[2] - reach])

    def corners(self, column: Any, row: Any, second: Any) -> Array:
        """Corners (3, 3) of one triangle of a cell, counter-clockwise from above, the one at the right angle first."""
        x, y = ((lookup(grid, k), lookup(grid, k + 1.0)) for grid, k in ((self.xs, column), (self.ys, row)))
        other = second > 0.5
        p = np.array([x[0], y[0], self._height(column, row)])
        q = np.array([x[1], y[1], self._height(column + 1.0, row + 1.0)])
        angle = self._height(where(other, column + 1.0, column), where(other, row, row + 1.0))
        corner = np.array([where(other, x[1], x[0]), where(other, y[0], y[1]), angle])
        return np.array([corner, where(other, q, p), where(other, p, q)])

    def _height(self, column: Any, row: Any) -> Any:
        return lookup(self.heights.ravel(), column * float(self.rows + 1) + row)


def prism_point(body: Prism, shape: Any, X: Pose, reach: Any, searched: bool) -> tuple[Any, Array, Array]:
    """Distance, position and normal out of a prism, of a shape at X in its frame; `FAR` where they are apart.

    searched: by MuJoCo's search, which ends early; else exact. It is exact too where the search finds no depth, since
    its first corners are in one plane with the origin: MuJoCo begins with others then.
    """

    def exact() -> dict[str, Any]:
        w = distance(shape, X, body, Pose.identity())
        return {"row": np.array([where(w.distance >= reach, FAR, w.distance), *w.position, *w.normal])}

    if searched:
        found = expanded(body, shape, X)
        gap = where(found.touching > 0.5, found.distance, FAR)
        stuck = logical_and(gap > -SHALLOW, gap < 0.5 * FAR)
        row = branch(stuck, exact, {"row": np.array([gap, *found.position, *found.normal])})["row"]
    else:
        row = exact()["row"]
    return row[0], row[1:4], row[4:]


def ends_early(shape: Any, reach: float) -> bool:
    """Condition that MuJoCo's search of a shape on a prism ends early."""
    return reach == 0.0 and isinstance(shape, Box | Hull)


def apart(corners: Array, shape: Any, X: Pose, reach: Any) -> Any:
    """Condition that a shape is farther than `reach` above a triangle or beyond its longest side; False for hulls."""
    if isinstance(shape, HULLS):
        return False
    a, b, c = corners
    along = c - b
    found: Any = False
    for n, point in ((cross(b - a, c - a), a), (np.array([along[1], -along[0], 0.0]), b)):
        d = -(X.R.T @ n)
        separation = dot(n, X.p - point) - dot(shape.support(d), d)
        found = logical_or(found, separation > reach * sqrt(dot(n, n)))
    return found


def below(field: Field, windows: Array, total: Any, most: int, solid: Solids) -> tuple[Array, Any]:
    """The prisms that may touch: number of the window, column, row and triangle of each (k, 4), and how many.

    windows (n, 19): see `Field.window`, then the number of the pair, that of its first prism among `total` ones, and
    the pose of its shape. solid(number): the shape of a pair, and how far it reaches.
    """

    def one(_: Any, count: Any, at: Any, number: Any) -> dict[str, Any]:
        here = take(windows, np.array([at]))[0]
        beyond = number - here[6] >= 2.0 * here[2] * here[3]
        at = at + where(beyond, 1.0, 0.0)
        here = where(beyond, take(windows, np.array([at]))[0], here)
        column, row, columns, _, lowest, pair, first = here[:7]
        k = number - first
        down = floor((k + 0.5) / (2.0 * columns))
        left = k - 2.0 * columns * down
        along = floor(0.5 * left)
        place = column + along, row + down, left - 2.0 * along
        corners, (shape, reach) = field.corners(*place), solid(pair)
        top = maximum(corners[0, 2], maximum(corners[1, 2], corners[2, 2]))
        near = logical_and(top >= lowest, logical_not(apart(corners, shape, pose_of(here[7:]), reach)))
        to = np.array([where(near, count, -1.0)])
        return {"count": count + where(near, 1.0, 0.0), "at": at, "to": to, "rows": np.array([[at, *place]])}

    room = min(most, MOST_PRISMS)
    items = {"number": np.arange(float(most))}
    end = visit(one, items, np.zeros((room, 4)), None, {"count": 0.0, "at": 0.0}, total)
    return end["table"], end["count"]
