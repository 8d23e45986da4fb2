"""How deep two convex shapes overlap, known only by their farthest points: for round shapes.

A direction n is found along which the shapes overlap least. Moved apart along n by more than their overlap, they have a
distance, whose normal is a better direction: the overlap along it is smaller, unless it is n itself. Steps get shorter
in the ratio of the depth to the radius of curvature; flat sides are found at once. It starts from the two best of a
set of directions all around, far from each other: which of several minima is the smallest is known when both have been
followed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import held, logical_and, repeat, scan, where
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .conditional import computed_where
from .gjk import Support, nearest
from .witness import Witness

_TANGENTS = np.tan(np.linspace(-np.pi / 4, np.pi / 4, 13))
_GRID = np.array([d for d in product(_TANGENTS, repeat=3) if max(map(abs, d)) > 1.0 - 1e-9])
DIRECTIONS = _GRID / np.linalg.norm(_GRID, axis=1)[:, None]  # (866, 3): 7.5° apart, on the faces of a cube
PASSES = 100
SETTLED = 1e-12  # of the size of the shapes: the overlap gets no smaller
APART = 0.9  # cosine of the angle between the two directions that are started from
GAP = 0.03  # of the size of the shapes: how far they are moved apart


def penetration(
    support_a: Support, support_b: Support, X_AB: Pose, size: Any, preferred: Callable[[Pose], list], wanted: Any
) -> Witness:
    """The least overlap of two shapes, in A's frame; where it is not wanted, anything.

    size [m] of the shapes; preferred(X_AB): directions (3,) in A's frame that are also tried at the start.
    """

    def search(X: Pose) -> np.ndarray:
        return _search(_Pair(support_a, support_b, X, size), preferred(X))

    numbers = held(computed_where(wanted, search, X_AB, 9))
    n, a, b = numbers[:3], numbers[3:6], numbers[6:]
    distance = dot(n, a - X_AB.point(b))
    return Witness(distance, a, a - distance * n, n)


class _Pair(NamedTuple):
    """Two shapes in A's frame."""

    support_a: Support
    support_b: Support
    X_AB: Pose
    size: Any

    def overlap(self, n: np.ndarray) -> Any:
        """How far A must move along n, from B to A, until it is clear of B [m]."""
        return dot(n, self.X_AB.point(self.support_b(self.X_AB.R.T @ n)) - self.support_a(-n))

    def flattest(self, preferred: list[np.ndarray], other: np.ndarray | None = None) -> np.ndarray:
        """Overlap and direction (4,) of the best of all directions, or of those far enough from another one."""

        def better(best: np.ndarray, n: np.ndarray) -> np.ndarray:
            depth = self.overlap(n)
            smaller = depth < best[0]
            if other is not None:
                smaller = logical_and(smaller, dot(n, other) < APART)
            return where(smaller, np.array([depth, *n]), best)

        start = np.array([np.inf, 0.0, 0.0, 1.0])
        best = scan(lambda best, n: {"best": better(best, n)}, {"n": DIRECTIONS}, {"best": start})["best"][-1]
        for n in preferred:
            best = better(best, n)
        return best

    def parted(self, n: np.ndarray, depth: Any) -> Witness:
        """The nearest points after A has moved along n until there is a gap; the point of A where it was before."""
        shift = (depth + GAP * self.size) * n
        return nearest(self.support_a, self.support_b, Pose(self.X_AB.R, self.X_AB.p - shift), self.size)[0]


def _search(pair: _Pair, preferred: list[np.ndarray]) -> np.ndarray:
    """The normal, the point of A, and the point of B in B's frame (9,)."""
    first = pair.flattest(preferred)
    depth, n, a = _refined(pair, first)
    other_depth, other_n, other_a = _refined(pair, pair.flattest(preferred, first[1:]))
    smaller = other_depth < depth
    depth, n, a = where(smaller, other_depth, depth), where(smaller, other_n, n), where(smaller, other_a, a)
    return np.array([*n, *a, *(pair.X_AB.R.T @ (a + depth * n - pair.X_AB.p))])


def _refined(pair: _Pair, start: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The least overlap near a direction, its direction, and the point of A."""

    def step(depth: Any, n: Any, a: Any, settled: Any) -> dict[str, Any]:
        w = pair.parted(n, depth)
        smaller = pair.overlap(w.normal)
        keep = smaller > depth
        settled = smaller >= depth - SETTLED * pair.size
        return {"depth": where(keep, depth, smaller), "n": where(keep, n, w.normal), "a": w.a, "settled": settled}

    begin = {"depth": start[0], "n": start[1:], "a": np.zeros(3), "settled": 0.0}
    end = repeat(step, PASSES, begin, settled="settled")
    return end["depth"], end["n"], end["a"]
