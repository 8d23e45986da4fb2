"""Entries of arrays that are the constant 0, and products without them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError


def is_zero(x: Any) -> bool:
    """Whether a number or traced scalar is the constant 0."""
    if isinstance(x, (int, float)):
        return x == 0
    try:
        return float(x) == 0.0
    except DalembertError:  # a traced value that depends on inputs
        return False


def nonzeros(A: np.ndarray) -> np.ndarray:
    """The pattern of A: True where an entry is not the constant 0."""
    if A.dtype.kind != "O":
        return A != 0.0
    return np.array([not is_zero(x) for x in A.ravel()], bool).reshape(A.shape)


def sparse_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B for A (n, k) and B (k,) or (k, m), without the products that are 0."""
    if np.result_type(A, B).kind != "O":
        return A @ B
    if B.ndim == 1:
        return sparse_product(A, B[:, None])[:, 0]
    C = np.zeros((len(A), B.shape[1]), object)
    columns = [np.flatnonzero(row) for row in nonzeros(B)]
    for i, row in enumerate(nonzeros(A)):
        for k in np.flatnonzero(row):
            for j in columns[k]:
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


def mirrored(A: np.ndarray) -> np.ndarray:
    """A symmetric A (n, n) of its lower triangle, lest entries that are equal are computed twice."""
    lower = np.tril(np.ones(A.shape, bool))
    return np.where(lower, A, A.T)
