"""Distance of convex shapes that do not overlap: the method of Gilbert, Johnson and Keerthi (1988).

All points a − b of two shapes form a convex set; its point nearest to the origin is found through simplices of up to
four of its points, the farthest along one direction after the other. A simplex keeps the points of both shapes it is
made of, so that in the end distance, points and normal are computed from these in closed form: derivatives then see a
closed form as well, of a feature that is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import held, logical_and, logical_not, logical_or, minimum, repeat, where
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .lines import unit
from .witness import Witness

PASSES = 64
CONVERGED = 1e-15  # the squared distance is within this part of a lower bound
ROUGHLY = 1e-11  # the same, where points and normal are made exact afterwards
TOUCHING = 1e-10  # of the size of the shapes: a shorter distance counts as none, since it has no direction

Support = Callable[[np.ndarray], np.ndarray]  # the point of a shape farthest along a direction, in its own frame


class Simplex(NamedTuple):
    """Up to three points a − b, given by points of A and B, each in its shape's frame; used: which of them count.

    The first one always does.
    """

    a: np.ndarray  # (3, 3)
    b: np.ndarray  # (3, 3)
    used: np.ndarray  # (2,) 1 or 0: the second and the third point


def nearest(
    support_a: Support,
    support_b: Support,
    X_AB: Pose,
    size: Any,
    normal: np.ndarray | None = None,
    converged: float = CONVERGED,
) -> tuple[Witness, Any]:
    """The nearest points of two shapes, in A's frame, and whether they are apart at all.

    size [m] of the shapes; normal (3,): about that out of B, if it is known; converged: `CONVERGED` or `ROUGHLY`.
    """

    def step(a: Any, b: Any, used: Any, v: Any, apart: Any, settled: Any) -> dict[str, Any]:
        new_a, new_b = support_a(-v), support_b(X_AB.R.T @ v)
        w = new_a - X_AB.point(new_b)
        square = dot(v, v)
        first = used[0] < 0.0  # v is a direction, and there is no simplex yet
        reached = square - dot(v, w) <= converged * square
        larger, closer, around = _reduced(Simplex(a, b, used), X_AB, new_a, new_b, w, first)
        stalled = logical_and(logical_not(around), dot(closer, closer) >= square)
        done = logical_and(logical_not(first), logical_or(reached, stalled))
        now = where(around, 0.0, dot(closer, closer))
        touching = logical_and(logical_not(done), now <= (TOUCHING * size) ** 2)
        keep = [where(done, old, new) for old, new in zip((a, b, used, v), (*larger, closer), strict=True)]
        parts = dict(zip(("a", "b", "used", "v"), keep, strict=True))
        return parts | {"apart": where(touching, 0.0, apart), "settled": logical_or(done, touching)}

    start = {
        "a": np.zeros((3, 3)),
        "b": np.zeros((3, 3)),
        "used": np.array([-1.0, -1.0]),
        "v": unit(-X_AB.p)[1] if normal is None else normal,
        "apart": 1.0,
        "settled": 0.0,
    }
    end = repeat(step, PASSES, start, settled="settled")
    apart = held(end["apart"])
    return _witness(Simplex(held(end["a"]), held(end["b"]), held(end["used"])), X_AB), apart > 0.0


def _reduced(
    old: Simplex, X_AB: Pose, new_a: np.ndarray, new_b: np.ndarray, w: np.ndarray, first: Any
) -> tuple[Simplex, np.ndarray, Any]:
    """The smallest simplex of a new point w and old ones that holds the point nearest to the origin, that point, and
    whether the origin lies inside the simplex of all four."""
    e = [old.a[k] - X_AB.point(old.b[k]) - w for k in range(3)]  # from the new point to the old ones
    here = [logical_not(first), old.used[0] > 0.0, old.used[1] > 0.0]
    h = [-dot(e[k], w) for k in range(3)]
    g = {(i, j): dot(e[i], e[j]) for i in range(3) for j in range(i, 3)}
    best, square = w, dot(w, w)
    second: list[Any] = [0.0, 0.0, 0.0]  # weights that choose the second and third point of the new simplex
    third: list[Any] = [0.0, 0.0, 0.0]

    def offer(valid: Any, point: np.ndarray, i: int, j: int | None) -> None:
        nonlocal best, square
        closer = logical_and(valid, dot(point, point) < square)
        best, square = where(closer, point, best), where(closer, dot(point, point), square)
        for k in range(3):
            second[k] = where(closer, 1.0 if k == i else 0.0, second[k])
            third[k] = where(closer, 1.0 if k == j else 0.0, third[k])

    for i in range(3):
        long = logical_and(here[i], g[i, i] > 0.0)
        t = h[i] / where(long, g[i, i], 1.0)
        offer(logical_and(long, t > 0.0), w + minimum(t, 1.0) * e[i], i, None)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        area = g[i, i] * g[j, j] - g[i, j] * g[i, j]
        wide = logical_and(logical_and(here[i], here[j]), area > 0.0)
        scale = 1.0 / where(wide, area, 1.0)
        s = (g[j, j] * h[i] - g[i, j] * h[j]) * scale
        t = (g[i, i] * h[j] - g[i, j] * h[i]) * scale
        within = logical_and(logical_and(s > 0.0, t > 0.0), s + t < 1.0)
        offer(logical_and(wide, within), w + s * e[i] + t * e[j], i, j)
    around = logical_and(here[2], _inside(g, h))

    def picked(weights: list[Any], points: np.ndarray) -> np.ndarray:
        return where(weights[0] > 0.0, points[0], where(weights[1] > 0.0, points[1], points[2]))

    a = np.array([new_a, picked(second, old.a), picked(third, old.a)])
    b = np.array([new_b, picked(second, old.b), picked(third, old.b)])
    used = np.array([second[0] + second[1] + second[2], third[0] + third[1] + third[2]])
    return Simplex(a, b, used), best, around


def _inside(g: dict[tuple[int, int], Any], h: list[Any]) -> Any:
    """Whether the origin lies inside a tetrahedron: the weights of its corners, by Cramer's rule, are all positive."""
    c00, c01, c02 = (
        g[1, 1] * g[2, 2] - g[1, 2] * g[1, 2],
        g[0, 2] * g[1, 2] - g[0, 1] * g[2, 2],
        g[0, 1] * g[1, 2] - g[0, 2] * g[1, 1],
    )
    c11, c12, c22 = (
        g[0, 0] * g[2, 2] - g[0, 2] * g[0, 2],
        g[0, 1] * g[0, 2] - g[0, 0] * g[1, 2],
        g[0, 0] * g[1, 1] - g[0, 1] * g[0, 1],
    )
    determinant = g[0, 0] * c00 + g[0, 1] * c01 + g[0, 2] * c02
    s = [
        c00 * h[0] + c01 * h[1] + c02 * h[2],
        c01 * h[0] + c11 * h[1] + c12 * h[2],
        c02 * h[0] + c12 * h[1] + c22 * h[2],
    ]
    positive = logical_and(logical_and(s[0] > 0.0, s[1] > 0.0), s[2] > 0.0)
    return logical_and(logical_and(positive, s[0] + s[1] + s[2] < determinant), determinant > 0.0)


def _witness(simplex: Simplex, X_AB: Pose) -> Witness:
    """Distance, points and normal of the plane, line or point that a simplex spans, in A's frame."""
    w = [simplex.a[k] - X_AB.point(simplex.b[k]) for k in range(3)]
    line, plane = simplex.used[0] > 0.0, simplex.used[1] > 0.0
    e1, e2 = (where(used, w[k] - w[0], 0.0) for k, used in ((1, line), (2, plane)))
    g11, g22 = where(line, dot(e1, e1), 1.0), where(plane, dot(e2, e2), 1.0)
    g12, h1, h2 = dot(e1, e2), -dot(e1, w[0]), -dot(e2, w[0])
    scale = 1.0 / (g11 * g22 - g12 * g12)
    s, t = (g22 * h1 - g12 * h2) * scale, (g11 * h2 - g12 * h1) * scale
    distance, normal = unit(w[0] + s * e1 + t * e2)
    a, b = ((1.0 - s - t) * x[0] + s * x[1] + t * x[2] for x in (simplex.a, simplex.b))
    return Witness(distance, a, X_AB.point(b), normal)
