"""Where a round shape may overlap least with one that has corners, edges and faces.

The least overlap lies along the normal of a face; or across an edge, in the fan of directions between the faces on both
of its sides; or between a corner or edge and the straight side of a cylinder or cone; or along their axis. All of these
are tried, in closed form but for fans, which are searched by the slope of the overlap as the direction turns.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.math import branch, logical_and, logical_or, maximum, sqrt, where
from dalembert.math.tolerances import TINY
from dalembert.shapes import Cone, Cylinder
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot

from .cores import first_point, over_edges, over_faces, over_vertices
from .lines import unit

PARTS = 8  # of a fan, in each of which one minimum is looked for
SECANTS = 4
NONE = np.array([-np.inf, 0.0, 0.0, 1.0])


def flattest(body: Any, other: Any, X: Pose) -> np.ndarray:
    """The direction (3,) along which two shapes overlap least: out of the body, in its frame.

    body: a `Segment`, `Box` or hull; other: a round shape, placed at X in the body's frame.
    """

    def better(best: np.ndarray, n: np.ndarray, separation: Any) -> np.ndarray:
        return where(separation > best[0], np.array([separation, *n]), best)

    def face(best: Any, normal: Any, offset: Any) -> dict[str, Any]:
        return {"best": better(best, normal, dot(normal, _first(other, X, normal)) - offset)}

    def tried(best: np.ndarray, n: np.ndarray, point: np.ndarray) -> np.ndarray:
        """With a direction, at least as far as a point of the body is from the other shape along it."""
        first = _first(other, X, n)
        wanted = dot(n, first - point) > best[0]
        separation = dot(n, first - first_point(body, n, wanted))
        return where(wanted, better(best, n, separation), best)

    def edge(best: Any, start: Any, direction: Any, left: Any, right: Any) -> dict[str, Any]:
        def promising(p: np.ndarray) -> Any:
            """Whether somewhere in the fan a point of the other shape is farther away than what is known: on less than
            half a turn that is farthest at one of its ends, unless it is in front."""
            along = maximum(dot(left, p - start), dot(right, p - start))
            return logical_or(along >= 0.0, along > best[0])

        def fan() -> dict[str, Any]:
            better = best
            for n in (_in_fan(other, X, start, left, right), *_along_sides(other, X, direction)):
                better = tried(better, n, start)
            return {"best": better}

        wanted = logical_and(promising(X.p), promising(_first(other, X, left + right)))
        return branch(wanted, fan, {"best": best})

    def corner(best: Any, point: Any) -> dict[str, Any]:
        for n in _sideways(other, X, point):
            best = tried(best, n, point)
        return {"best": best}

    best = over_edges(body, edge, over_faces(body, face, NONE))
    if isinstance(other, Cylinder | Cone):
        best = over_vertices(body, corner, best)
        for n in (X.R[:, 2], -X.R[:, 2]):
            best = better(best, n, dot(n, _first(other, X, n) - body.support(n)))
    return best[1:]


def _first(other: Any, X: Pose, n: np.ndarray) -> np.ndarray:
    """The point of the other shape that is first against n, in the body's frame."""
    return X.point(other.support(-(X.R.T @ n)))


def side_normal(other: Cylinder | Cone) -> tuple[Any, Any]:
    """Parts across and along the axis of the unit normals of the straight side of a cylinder or cone."""
    if isinstance(other, Cylinder):
        return 1.0, 0.0
    slant = sqrt(other.radius * other.radius + other.length * other.length)
    return other.length / slant, other.radius / slant


def _sideways(other: Cylinder | Cone, X: Pose, point: np.ndarray) -> list[np.ndarray]:
    """The normals of the straight side, towards it, on which a point is nearest and farthest."""
    x, y, _ = X.R.T @ (point - X.p)
    across, along = side_normal(other)
    out = across / sqrt(x * x + y * y + TINY)
    return [-(X.R @ np.array([side * out * x, side * out * y, along])) for side in (1.0, -1.0)]


def _along_sides(other: Any, X: Pose, edge: np.ndarray) -> list[np.ndarray]:
    """The normals of the straight side of a cylinder or cone, towards it, that are across an edge."""
    if not isinstance(other, Cylinder | Cone):
        return []
    _, along = side_normal(other)
    z = X.R[:, 2]
    square = dot(edge, edge)
    upright = z - (dot(z, edge) / square) * edge  # the axis, seen along the edge
    foreshortened = dot(upright, upright) + TINY
    rise = along / foreshortened
    aside = sqrt(maximum(1.0 - along * rise, 0.0) / (square * foreshortened)) * cross(edge, upright)
    return [unit(side * aside - rise * upright)[1] for side in (1.0, -1.0)]


def _in_fan(other: Any, X: Pose, start: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The direction between the normals of two faces along which the edge between them overlaps least."""
    turn = right - left

    def at(t: Any) -> tuple[Any, Any]:
        """Separation along left + t turn, and its slope in t."""
        m = left + t * turn
        square = dot(m, m)
        w = _first(other, X, m) - start
        scale = 1.0 / sqrt(square)
        separation = scale * dot(m, w)
        return separation, scale * (dot(turn, w) - scale * separation * dot(m, turn))

    values = [(k / PARTS, *at(k / PARTS)) for k in range(PARTS + 1)]
    best: Any = -np.inf
    a: Any = 0.0
    b: Any = 0.0
    slope_a: Any = 1.0
    slope_b: Any = -1.0
    side: Any = 0.0
    for (t0, s0, d0), (t1, s1, d1) in pairwise(values):
        inside = logical_and(d0 > 0.0, d1 < 0.0)  # it grows, then falls: a maximum of the separation
        up_to = s0 + d0 * (s1 - s0 - d1 * (t1 - t0)) / where(inside, d0 - d1, 1.0)  # where both tangents meet
        take = logical_and(inside, up_to > best)
        best = where(take, up_to, best)
        a, b = where(take, t0, a), where(take, t1, b)
        slope_a, slope_b = where(take, d0, slope_a), where(take, d1, slope_b)
    for _ in range(SECANTS):  # regula falsi, in the manner of Illinois
        t = (a * slope_b - b * slope_a) / (slope_b - slope_a)
        _, slope = at(t)
        rising = slope > 0.0
        half_a, half_b = where(side < 0.0, 0.5, 1.0) * slope_a, where(side > 0.0, 0.5, 1.0) * slope_b
        slope_a, slope_b = where(rising, slope, half_a), where(rising, half_b, slope)
        a, b, side = where(rising, t, a), where(rising, b, t), where(rising, 1.0, -1.0)
    return unit(left + t * turn)[1]
