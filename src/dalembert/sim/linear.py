"""A small linear system solved entry by entry, so that it can be traced."""

from __future__ import annotations

import numpy as np


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b (n,) by elimination in the order given: for A (n, n) near a positive definite matrix, as of steps small
    enough that inertia rules."""
    n = len(b)
    A, x = A.astype(object), b.astype(object)
    for k in range(n):
        r = 1.0 / A[k, k]
        for i in range(k + 1, n):
            if not _is_zero(A[i, k]):
                factor = A[i, k] * r
                A[i, k + 1 :] = A[i, k + 1 :] - factor * A[k, k + 1 :]
                x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


def _is_zero(x: object) -> bool:
    return isinstance(x, (int, float)) and x == 0
