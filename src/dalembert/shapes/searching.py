"""The least value of a function of a direction, for shapes that only say how far they go along each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

AXES = np.concatenate([np.eye(3), -np.eye(3)])
SEEN = 400  # directions from which the search starts
STARTS = 4  # of these, the best
PASSES = 80  # in each the direction gets better, or the angle by which it is changed half as large
TURN = np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)])


@cache
def spread(count: int) -> np.ndarray:
    """Unit vectors (count + 6, 3) spread evenly: a spiral over the sphere, and the axes."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    flat = np.sqrt(1.0 - z * z)
    return np.concatenate([np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1), AXES])


def least(values: Callable[[np.ndarray], np.ndarray]) -> float:
    """The least of a function of unit vectors, which gives numbers (n,) of directions (n, 3)."""
    directions = spread(SEEN)
    found = np.asarray(values(directions), float)
    return min(_followed(values, directions[k], float(found[k])) for k in np.argsort(found)[:STARTS])


def _followed(values: Callable[[np.ndarray], np.ndarray], n: np.ndarray, best: float) -> float:
    angle = np.sqrt(4.0 * np.pi / SEEN)
    for _ in range(PASSES):
        u = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        u /= np.linalg.norm(u)
        others = n + angle * TURN @ np.stack([u, np.cross(n, u)])
        others /= np.linalg.norm(others, axis=1)[:, None]
        found = np.asarray(values(others), float)
        k = int(np.argmin(found))
        if found[k] < best:
            n, best = others[k], float(found[k])
        else:
            angle *= 0.5
    return best
