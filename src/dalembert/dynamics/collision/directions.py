"""Directions all around, from which a search for the best one starts, and work that is done only where it is needed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from dalembert.math import logical_and, repeat, scan, where
from dalembert.spatial import Pose
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
    best = scan(lambda best, n: {"best": better(best, n)}, {"n": directions}, {"best": start}, history=False)["best"]
    return best[1:]


def computed_where(condition: Any, compute: Callable[[Pose], np.ndarray], X: Pose, size: int) -> np.ndarray:
    """compute(X), `size` numbers, where the condition holds, and ones elsewhere.

    Both sides of a `where` are always computed; this is a loop with at most one pass, which compiled code leaves out
    when none of the states that it computes together needs it. The pose is part of the loop's state, since what a step
    takes from outside is computed outside.
    """

    def step(pose: Any, numbers: Any, done: Any) -> dict[str, Any]:
        return {"pose": pose, "numbers": compute(Pose(pose[:9].reshape(3, 3), pose[9:])), "done": 1.0}

    start = {"pose": np.array([*X.R.ravel(), *X.p]), "numbers": np.ones(size), "done": where(condition, 0.0, 1.0)}
    return repeat(step, 1, start, settled="done")["numbers"]
