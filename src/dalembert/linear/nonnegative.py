"""Least squares in unknowns that must not be negative, such as the strengths of the edges of friction cones."""

from __future__ import annotations

import numpy as np

from dalembert.math.tolerances import ROUNDED


def nonnegative_least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The x (n,) ≥ 0 that minimises |A x − b|², of numbers: the active-set method of Lawson and Hanson (1974)."""
    n = A.shape[1]
    x, free = np.zeros(n), np.zeros(n, bool)
    least = ROUNDED * np.linalg.norm(A, axis=0) * float(np.linalg.norm(b))
    for _ in range(10 * n + 10):
        slope = A.T @ (b - A @ x)
        if not ((slope > least) & ~free).any():
            break
        free[np.argmax(np.where(free, -np.inf, slope))] = True
        while True:
            trial = np.zeros(n)
            trial[free] = np.linalg.lstsq(A[:, free], b, rcond=None)[0]
            if not (trial[free] <= 0.0).any():
                x = trial
                break
            below = free & (trial <= 0.0)
            share = float(np.min(x[below] / (x[below] - trial[below])))
            x = x + share * (trial - x)
            free &= x > 0.0
            x[~free] = 0.0
    return x
