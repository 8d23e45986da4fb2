"""Directions all around, from which a search for the best one starts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from dalembert.math import logical_and, scan, where
from dalembert.spatial.vectors import dot

APART = 0.9  # cosine of the angle between the two directions that a search starts from


def around(count: int) -> np.ndarray:
    """Unit vectors (6 count² − 12 count + 8, 3) to the points of a grid on a cube, `count` along each edge."""
    tangents = np.tan(np.linspace(-np.pi / 4, np.pi / 4, count))
    grid = np.array([d for d in product(tangents, repeat=3) if max(map(abs, d)) > 1.0 - 1e-9])
    return grid / np.linalg.norm(grid, axis=1)[:, None]


def largest(value: Callable[[np.ndarray], Any], directions: np.ndarray, away: np.ndarray | None = None) -> np.ndarray:
    """The best of some directions (n, 3), or of those far enough from the direction `away`."""

    def better(best: np.ndarray, n: np.ndarray) -> np.ndarray:
        reached = value(n)
        larger = reached > best[0]
        if away is not None:
            larger = logical_and(larger, dot(n, away) < APART)
        return where(larger, np.array([reached, *n]), best)

    start = np.array([-np.inf, 0.0, 0.0, 1.0])
    return scan(lambda best, n: {"best": better(best, n)}, {"n": directions}, {"best": start})["best"][-1][1:]
