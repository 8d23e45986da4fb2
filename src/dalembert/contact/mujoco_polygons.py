"""Corners of what a polygon and the end of a cylinder have in common, and the four of them that MuJoCo keeps.

A polygon is cut along one side of the other after the other (Sutherland and Hodgman 1974). Of more than four corners,
those of a large quadrilateral are kept: MuJoCo moves its corners on, one at a time, as long as its area grows. Which
ones it arrives at depends on where it starts, so that the order of the corners is the same here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, maximum, minimum, repeat, take, visit, where
from dalembert.spatial.vectors import dot

TURNS = 16  # corners of the end of a cylinder
ANGLES = 2.0 * np.pi * np.arange(TURNS) / TURNS
CORNERS = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
OUTWARD = np.column_stack([np.cos(ANGLES + np.pi / TURNS), np.sin(ANGLES + np.pi / TURNS)])  # normals of its sides
REACH = float(np.cos(np.pi / TURNS))  # distance of its sides, of the radius
LARGER = 1.0 + 1e-11  # areas that differ by less are the same: between them rounding decides in MuJoCo
MOVES = 400  # far more than were ever needed


def common_corners(polygon: np.ndarray, radius: Any, slope: np.ndarray, height: Any, most: Any) -> np.ndarray:
    """(4, 3): up to four corners (x, y) of what a convex polygon (k, 2) has in common with the end of a cylinder, and 1
    for those that exist, else 0.

    Corners whose height + slope · (x, y) is above `most` do not count.
    """
    table, count = _cut(polygon, radius)
    table, count = _low(table, count, slope, height, most)
    few = count < 4.5
    largest = repeat(_moved(table, count), MOVES, _first(table, few), "done")["best"]
    chosen = take(table, where(few, np.arange(4.0), largest))
    return np.array([[x, y, where(k < count, 1.0, 0.0)] for k, (x, y) in enumerate(chosen)])


def _cut(polygon: np.ndarray, radius: Any) -> tuple[np.ndarray, Any]:
    """The rows of a table that begins with the corners of what is left of a polygon, and how many they are.

    The table holds the polygon twice: before and after a cut. An item is one side of it, from the corner before to
    this one, and the side that closes it comes last.
    """
    room = len(polygon) + TURNS
    items = [(k, i) for k in range(TURNS) for i in range(len(polygon) + k + 1)]
    begins = np.array([float(i == 0) for _, i in items])
    numbers = np.array([float(i) for _, i in items])
    outward = np.array([OUTWARD[k] for k, _ in items])
    target = np.array([float(room * ((k + 1) % 2)) for k, _ in items])
    at = np.array([[float(room * (k % 2) + i)] for k, i in items])

    def side(rows: Any, first: Any, last: Any, count: Any, kept: Any, begin: Any, i: Any, out: Any, to: Any) -> dict:
        starts = begin > 0.5
        count, kept = where(starts, kept, count), where(starts, 0.0, kept)
        first, last = where(starts, rows[0], first), where(starts, rows[0], last)
        corner = where(i < count, rows[0], first)
        real = logical_and(logical_not(starts), i <= count)
        before, here = radius * REACH - dot(out, last), radius * REACH - dot(out, corner)
        crosses = logical_and(real, logical_and(minimum(before, here) < 0.0, maximum(before, here) >= 0.0))
        stays = logical_and(real, here >= 0.0)
        t = before / where(crosses, before - here, 1.0)
        after = kept + where(crosses, 1.0, 0.0)
        return {
            "first": first,
            "last": corner,
            "count": count,
            "kept": after + where(stays, 1.0, 0.0),
            "to": np.array([where(crosses, to + kept, -1.0), where(stays, to + after, -1.0)]),
            "rows": np.array([last + t * (corner - last), corner]),
        }

    given = {"begin": begins, "i": numbers, "out": outward, "target": target}
    carry = {"first": np.zeros(2), "last": np.zeros(2), "count": 0.0, "kept": float(len(polygon))}
    table = np.concatenate([polygon, np.zeros((2 * room - len(polygon), 2))])
    end = visit(side, given, table, at, carry)
    return end["table"][:room], end["kept"]


def _low(table: np.ndarray, count: Any, slope: np.ndarray, height: Any, most: Any) -> tuple[np.ndarray, Any]:
    """The corners that are low enough, and how many they are."""

    def corner(rows: Any, kept: Any, i: Any) -> dict[str, Any]:
        low = logical_and(i < count, height + dot(slope, rows[0]) <= most)
        return {"kept": kept + where(low, 1.0, 0.0), "to": np.array([where(low, kept, -1.0)]), "rows": rows}

    numbers = np.arange(float(len(table)))
    end = visit(corner, {"i": numbers}, table, numbers[:, None], {"kept": 0.0}, count)
    return end["table"], end["kept"]


def _first(table: np.ndarray, few: Any) -> dict[str, Any]:
    """The first four corners, of which the last is the first to move."""
    return {
        "corners": np.arange(4.0),
        "area": _area(table[:4]),
        "best": np.arange(4.0),
        "moving": 3.0,
        "done": where(few, 1.0, 0.0),
    }


def _area(corners: np.ndarray) -> Any:
    p, q = corners[0] - corners[2], corners[1] - corners[3]
    return absolute(p[0] * q[1] - p[1] * q[0])


def _moved(table: np.ndarray, count: Any) -> Any:
    """One trial: corner 3 one further; when that gains area, corner 2 as long as it gains, then corner 1, then 3 again.

    When corner 3 gains nothing, corner 0 moves on, whatever the area; after a whole turn of it all is done.
    """

    def step(corners: Any, area: Any, best: Any, moving: Any, _: Any) -> dict[str, Any]:
        trial = np.array([_next(x, count, moving == float(k)) for k, x in enumerate(corners)])
        size = _area(take(table, trial))
        gains = size > area * LARGER
        stuck = logical_and(moving > 2.5, logical_not(gains))
        corners = where(gains, trial, corners)
        # who moves next: after 3 has gained 2, after 2 has not 1, after 1 has not 3 again
        after = where(moving > 2.5, 2.0, moving)
        otherwise = where(moving > 2.5, 3.0, where(moving > 1.5, 1.0, 3.0))
        a, b, c, d = corners
        pushed_b = logical_and(stuck, a == b)
        b = _next(b, count, pushed_b)
        pushed_c = logical_and(pushed_b, c == b)
        c = _next(c, count, pushed_c)
        d = _next(d, count, logical_and(pushed_c, d == c))
        a = a + where(stuck, 1.0, 0.0)
        return {
            "corners": np.array([a, b, c, d]),
            "area": where(gains, size, area),
            "best": where(gains, trial, best),
            "moving": where(gains, after, otherwise),
            "done": where(a >= count, 1.0, 0.0),
        }

    return step


def _next(number: Any, count: Any, moves: Any) -> Any:
    following = number + 1.0
    return where(moves, where(following >= count, 0.0, following), number)
