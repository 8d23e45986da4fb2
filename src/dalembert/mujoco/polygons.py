"""Intersection of two convex polygons, and the four of its corners that MuJoCo keeps.

A polygon is cut along the sides of the other, one after the other (Sutherland and Hodgman 1974). If more than four
corners are left, those of a large quadrilateral are kept: MuJoCo moves its corners on, one at a time, as long as its
area grows. The result depends on where it starts, so that the order of the corners is the same here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision.hulls import Hull, TabledHull
from dalembert.math import abs as absolute
from dalembert.math import (
    floor,
    logical_and,
    logical_not,
    logical_or,
    lookup,
    maximum,
    minimum,
    repeat,
    scan,
    sqrt,
    take,
    visit,
    where,
)
from dalembert.math import map as mapped
from dalembert.shapes.polyhedra import unit_inertia_of_surface
from dalembert.spatial.vectors import cross, dot
from dalembert.typing import Array

LARGER = 1.0 + 1e-11  # areas that differ by less count as equal: between them rounding decides in MuJoCo
MOVES = 20  # for each corner: several times the largest count observed


class FlatPolygon(NamedTuple):
    """Corners (k, 3) in turn, clockwise, of which the first `count` are there: x, y, and a height above their plane."""

    corners: Array
    count: Any

    @property
    def sides(self) -> Array:
        """(k, 3): of each corner's side to the next one, a vector inwards, and how far the corner is along it."""

        def side(i: Any, p: Any, q: Array) -> dict[str, Any]:
            across = where(i + 1.0 < self.count, q, self.corners[0]) - p
            return {"side": np.array([across[1], -across[0], across[1] * p[0] - across[0] * p[1]])}

        following = np.concatenate([self.corners[1:], self.corners[:1]])
        items = {"i": np.arange(float(len(self.corners))), "p": self.corners, "q": following}
        return mapped(side, items, self.count)["side"]


def common_corners(outer: FlatPolygon, polygon: FlatPolygon, most: Any) -> Array:
    """(4, 4): up to four corners of what a polygon has in common with an outer one, and 1 for those that exist, else 0.

    Corners higher than `most` do not count.
    """
    table, count = _cut(outer, polygon)
    table, count = _low(table, count, most)
    chosen = take(table, spread(lambda numbers: _area(take(table, numbers)), count, MOVES * len(table), turns=True))
    return np.array([[*corner, where(k < count, 1.0, 0.0)] for k, corner in enumerate(chosen)])


def _cut(outer: FlatPolygon, polygon: FlatPolygon) -> tuple[Array, Any]:
    """The rows of a table that begins with the corners of what is left of a polygon, and how many they are.

    The table holds the polygon twice, before and after a cut, then the sides of the outer one. An item is one side of
    the polygon, from the corner before to this one, and the side that closes it comes last.
    """
    cuts, corners = len(outer.corners), len(polygon.corners)
    room = corners + cuts
    items = [(k, i) for k in range(cuts) for i in range(corners + k + 1)]
    starts = np.array([float(items.index((k, 0))) for k in range(cuts)] + [float(len(items))])
    begins = np.array([float(i == 0) for _, i in items])
    numbers = np.array([float(i) for _, i in items])
    target = np.array([float(room * ((k + 1) % 2)) for k, _ in items])
    at = np.array([[float(room * (k % 2) + i), float(2 * room + k)] for k, i in items])

    def side(rows: Array, first: Any, last: Any, count: Any, kept: Any, begin: Any, i: Any, to: Any) -> dict:
        starts = begin > 0.5
        count, kept = where(starts, kept, count), where(starts, 0.0, kept)
        here, inward, offset = rows[0], rows[1][:2], rows[1][2]
        first, last = where(starts, here, first), where(starts, here, last)
        corner = where(i < count, here, first)
        real = logical_and(logical_not(starts), i <= count)
        a, b = dot(inward, last[:2]) - offset, dot(inward, corner[:2]) - offset
        crosses = logical_and(real, logical_and(minimum(a, b) < 0.0, maximum(a, b) >= 0.0))
        stays = logical_and(real, b >= 0.0)
        t = a / where(crosses, a - b, 1.0)
        after = kept + where(crosses, 1.0, 0.0)
        return {
            "first": first,
            "last": corner,
            "count": count,
            "kept": after + where(stays, 1.0, 0.0),
            "to": np.array([where(crosses, to + kept, -1.0), where(stays, to + after, -1.0)]),
            "rows": np.array([last + t * (corner - last), corner]),
        }

    table = np.concatenate([polygon.corners, np.zeros((2 * room - corners, 3)), outer.sides])
    carry = {"first": np.zeros(3), "last": np.zeros(3), "count": 0.0, "kept": polygon.count}
    given = {"begin": begins, "i": numbers, "target": target}
    end = visit(side, given, table, at, carry, lookup(starts, outer.count))
    half = where(outer.count - 2.0 * floor(0.5 * outer.count) > 0.5, 1.0, 0.0) * float(room)
    return take(end["table"], half + np.arange(float(room))), end["kept"]


def _low(table: Array, count: Any, most: Any) -> tuple[Array, Any]:
    """The corners that are low enough, and how many they are."""

    def corner(rows: Array, kept: Any, i: Any) -> dict[str, Any]:
        low = logical_and(i < count, rows[0][2] <= most)
        return {"kept": kept + where(low, 1.0, 0.0), "to": np.array([where(low, kept, -1.0)]), "rows": rows}

    numbers = np.arange(float(len(table)))
    end = visit(corner, {"i": numbers}, table, numbers[:, None], {"kept": 0.0}, count)
    return end["table"], end["kept"]


def _area(corners: Array) -> Any:
    p, q = corners[0] - corners[2], corners[1] - corners[3]
    return absolute(p[0] * q[1] - p[1] * q[0])


def spread(area: Callable[[Array], Any], count: Any, trials: int, turns: bool) -> Array:
    """Numbers (4,) of corners that span a large area, of `count` in turn; of fewer than five the first four.

    area: function of four numbers. A trial moves corner 3 one further; when that gains area, corner 2 moves as long as
    it gains, then corner 1, then 3 again. When corner 3 gains nothing the search ends, or, with `turns`, corner 0 moves
    on, whatever the area, until it has gone once round.
    """

    def step(corners: Array, size: Any, best: Any, moving: Any, _: Any) -> dict[str, Any]:
        trial = np.array([_next(x, count, moving == float(k)) for k, x in enumerate(corners)])
        new, last = area(trial), moving > 2.5
        gains = new > size * LARGER
        stuck = logical_and(last, logical_not(gains))
        corners = where(gains, trial, corners)
        if turns:
            corners = _turned(corners, count, stuck)
        return {
            "corners": corners,
            "size": where(gains, new, size),
            "best": where(gains, trial, best),
            "moving": where(gains, where(last, 2.0, moving), where(logical_or(last, moving < 1.5), 3.0, 1.0)),
            "done": where(corners[0] >= count if turns else stuck, 1.0, 0.0),
        }

    first = np.arange(4.0)
    few = where(count < 4.5, 1.0, 0.0)
    begin = {"corners": first, "size": area(first), "best": first, "moving": 3.0, "done": few}
    return repeat(step, trials, begin, "done")["best"]


def _turned(corners: Array, count: Any, wanted: Any) -> Array:
    """Corners of which the first moves on, and pushes the others before it."""
    a, b, c, d = corners
    pushed_b = logical_and(wanted, a == b)
    b = _next(b, count, pushed_b)
    pushed_c = logical_and(pushed_b, c == b)
    c = _next(c, count, pushed_c)
    d = _next(d, count, logical_and(pushed_c, d == c))
    return np.array([a + where(wanted, 1.0, 0.0), b, c, d])


def _next(number: Any, count: Any, moves: Any) -> Any:
    following = number + 1.0
    return where(moves, where(following >= count, 0.0, following), number)


CORNERS = 4
MOST_VERTICES = 1024  # of the hull of a mesh: they are numbers in a table, not code
TRIALS = 6  # for each corner of a side: each of three numbers goes round at most once, and fails as often


class Corner(NamedTuple):
    """A corner of a hull, (3,) in its frame [m]; present: 1 where it counts, else 0."""

    point: Array
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
        corners: list[Array] = []
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


def lowest_corners(body: Hull | TabledHull, down: Array) -> list[Corner]:
    """Four corners, of which some may not be present; the first is the deepest one. down (3,): in the hull's frame."""
    tables, number = SideTables.of(body)
    first, count, *centre = lookup(tables.hulls, number)
    vertex = farthest_row(down, tables.vertices, first, count, tables.most_vertices)
    begin, sides = lookup(tables.vertices[:, 3:], vertex)
    side = farthest_row(down, tables.sides, begin, sides, tables.most_sides)
    start, length, position = lookup(tables.sides[:, 3:], side)

    def corner(number: Any) -> Array:
        at = position + number
        return lookup(tables.corners, start + where(at >= length, at - length, at))

    numbers = np.arange(float(CORNERS))
    if tables.most_corners > CORNERS:

        def area(numbers: Array) -> Any:
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


def farthest_row(along: Array, table: Array, first: Any, count: Any, most: int) -> Any:
    """Number of the row whose vector is farthest along a direction, among `count` rows from the first one on."""
    vectors = table[:, :3]

    def step(best: Any, k: Any) -> dict[str, Any]:
        reach = dot(along, lookup(vectors, first + k))
        return {"best": where(reach > best[0], np.array([reach, k]), best)}

    begin = {"best": np.array([-np.inf, 0.0])}
    return first + scan(step, {"k": np.arange(float(most))}, begin, count=count, history=False)["best"][1]
