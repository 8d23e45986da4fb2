"""Small symmetric systems, factored and solved entry by entry: traced, each becomes straight-line code.

Sums are taken in the order that keeps chains of operations that wait for each other short: what is known last enters
last, and the next pivot waits for one division and one subtraction only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Factor(NamedTuple):
    """A = L diag(1/r) Lᵀ: L (n, n) unit lower triangular, r (n,) the reciprocal pivots (the only divisions)."""

    L: np.ndarray
    r: np.ndarray

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b for b (n,) or (n, m)."""
        n = len(self.r)
        x = np.array(b, np.result_type(self.L, b))
        for i in range(1, n):
            x[i] = x[i] - sum(self.L[i, j] * x[j] for j in range(i))
        x = (x.T * self.r).T
        for i in reversed(range(n)):
            for j in reversed(range(i + 1, n)):
                x[i] = x[i] - self.L[j, i] * x[j]
        return x


def factor(A: np.ndarray) -> Factor:
    """Factor a symmetric positive definite A (n, n), of which only the lower triangle is read."""
    n = len(A)
    A = A.copy()
    L, r = np.array(np.eye(n), A.dtype), np.ones(n, A.dtype)
    for j in range(n):
        with np.errstate(divide="ignore"):  # a pivot of 0 gives inf, for floats and constants alike
            r[j] = np.divide(1.0, A[j, j])
        for i in range(j + 1, n):
            L[i, j] = A[i, j] * r[j]
            for k in range(j + 1, i + 1):
                next_pivot = i == k == j + 1
                A[i, k] = A[i, k] - ((A[i, j] * A[i, j]) * r[j] if next_pivot else L[i, j] * A[k, j])
    return Factor(L, r)
