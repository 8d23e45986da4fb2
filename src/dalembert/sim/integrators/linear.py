"""Small linear systems solved entry by entry, so that they can be traced."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dalembert.algorithms.constraints import DEPENDENT, EMPTY
from dalembert.math import abs as absolute
from dalembert.math import maximum, where


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b for b (n,) or (n, m), by elimination in the order given.

    For A (n, n) near a positive definite matrix, as of steps small enough that inertia rules.
    """
    return _eliminated(A, b, lambda k, pivot: 1.0 / pivot)


def solve_saddle(G: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """x with G x = b, G = [[A, B], [C, D]]: n equations of motion, A near a positive definite matrix, then constraints.

    A constraint that others imply is left out, its unknown is 0.
    """
    if len(b) == n:
        return solve(G, b)
    C = G[n:, :n]
    made = solve(G[:n, :n], np.concatenate([G[:n, n:], b[:n, None]], axis=1))
    response, free = made[:, :-1], made[:, -1]
    S = G[n:, n:] - C @ response
    diagonal = [absolute(S[k, k]) for k in range(len(S))]
    largest = reduce(maximum, diagonal)

    def inverse(k: int, pivot: Any) -> Any:
        independent = absolute(pivot) > maximum(DEPENDENT * diagonal[k], EMPTY * largest)
        return where(independent, 1.0 / where(independent, pivot, 1.0), 0.0)

    forces = _eliminated(S, b[n:] - C @ free, inverse)
    return np.concatenate([free - response @ forces, forces])


def _eliminated(A: np.ndarray, b: np.ndarray, inverse: Any) -> np.ndarray:
    """A⁻¹ b, with inverse(k, pivot) for 1 / pivot."""
    n = len(b)
    A, x = A.astype(object), b.astype(object)
    r: list[Any] = []
    for k in range(n):
        r.append(inverse(k, A[k, k]))
        for i in range(k + 1, n):
            if not _is_zero(A[i, k]):
                factor = A[i, k] * r[k]
                A[i, k + 1 :] = A[i, k + 1 :] - factor * A[k, k + 1 :]
                x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - A[k, k + 1 :] @ x[k + 1 :]) * r[k]
    return x


def _is_zero(x: object) -> bool:
    return isinstance(x, (int, float)) and x == 0
