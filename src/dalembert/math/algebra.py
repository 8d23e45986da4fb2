"""Linear algebra of small matrices of numbers or traced scalars, and of the arrays of PyTorch and JAX.

Numbers are left to NumPy, arrays of PyTorch and JAX to their own library. Traced matrices are eliminated entry by
entry, which is code without branches: rows are exchanged by comparing, as partial pivoting does. Singular matrices give
inf or NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .elementary import abs as absolute
from .elementary import floor, library_of, sqrt, where

LARGEST = 64  # rows of a traced matrix: beyond it the code would be large


def _traced(*arrays: Any) -> bool:
    return any(np.asarray(x).dtype == object for x in arrays)


def _square(name: str, A: Any) -> np.ndarray:
    A = np.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise DalembertError(f"{name}: A has shape {A.shape}, expected a square matrix (n, n)")
    if len(A) > LARGEST:
        raise DalembertError(f"{name}: A has {len(A)} rows, expected at most {LARGEST} of traced values")
    return A


def solve(A: Any, b: Any, assume: str = "general") -> Any:
    """A⁻¹ b for A (n, n) and b (n,) or (n, m); of numbers any batch, as `np.linalg.solve`.

    assume: "positive definite" takes Cholesky's factor, half of the work; of traced matrices it spares the search for
    pivots as well: for mass matrices.
    """
    if assume not in ("general", "positive definite"):
        raise DalembertError(f"solve: assume is {assume!r}, expected 'general' or 'positive definite'")
    if (xp := library_of(A, b)) is not None:
        return xp.linalg.solve(A, b)
    if not _traced(A, b):
        return np.linalg.solve(np.asarray(A, float), np.asarray(b, float))
    A, b = _square("solve", A), np.asarray(b)
    if b.shape[:1] != A.shape[:1] or b.ndim > 2:
        raise DalembertError(f"solve: b has shape {b.shape}, expected ({len(A)},) or ({len(A)}, m)")
    if assume == "positive definite":
        L = cholesky(A)
        return _backward(L.T, _forward(L, b))
    U, x, _ = _eliminated(A, b)
    return _backward(U, x)


def cholesky(A: Any) -> Any:
    """L (n, n), lower triangular with L Lᵀ = A, of a symmetric positive definite A; NaN where it is not."""
    if (xp := library_of(A)) is not None:
        return xp.linalg.cholesky(A)
    if not _traced(A):
        return np.linalg.cholesky(np.asarray(A, float))
    A = _square("cholesky", A)
    L = np.zeros(A.shape, object)
    for j in range(len(A)):
        L[j, j] = sqrt(A[j, j] - L[j, :j] @ L[j, :j] if j else A[j, j])
        for i in range(j + 1, len(A)):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j] if j else A[i, j]) / L[j, j]
    return L


def inv(A: Any) -> Any:
    """A⁻¹ (n, n)."""
    if (xp := library_of(A)) is not None:
        return xp.linalg.inv(A)
    if not _traced(A):
        return np.linalg.inv(np.asarray(A, float))
    return solve(A, np.eye(len(np.asarray(A))))


def det(A: Any) -> Any:
    """Determinant of A (n, n)."""
    if (xp := library_of(A)) is not None:
        return xp.linalg.det(A)
    if not _traced(A):
        return np.linalg.det(np.asarray(A, float))
    A = _square("det", A)
    if not len(A):
        return 1.0
    U, _, sign = _eliminated(A, np.zeros(len(A)))
    product = sign
    for k in range(len(A)):
        product = product * U[k, k]
    return product


def pinv(A: Any, damping: float = 0.0) -> Any:
    """A⁺ (n, m) of A (m, n): Aᵀ (A Aᵀ + λ² 1)⁻¹, or (Aᵀ A + λ² 1)⁻¹ Aᵀ where that is smaller; damping: λ.

    Without damping A has full rank; with it the result stays bounded by 1/(2 λ) where A loses rank, as for steps of
    inverse kinematics.
    """
    xp = library_of(A)
    m, n = A.shape[-2:] if xp is not None else np.asarray(A).shape[-2:]
    At = np.swapaxes(np.asarray(A), -1, -2) if xp is None else A.swapaxes(-1, -2)
    A = np.asarray(A) if xp is None else A
    least = damping * damping
    eye = np.eye(min(m, n)) if xp is None else xp.eye(min(m, n), dtype=A.dtype)
    if m <= n:
        G = A @ At + least * eye
        return At @ (solve(G, eye, "positive definite") if _is_object(G) else inv(G))
    G = At @ A + least * eye
    return (solve(G, eye, "positive definite") if _is_object(G) else inv(G)) @ At


def _is_object(A: Any) -> bool:
    return isinstance(A, np.ndarray) and A.dtype == object


def lstsq(A: Any, b: Any, damping: float = 0.0) -> Any:
    """The x (n,) or (n, k) with the least |A x − b|² + damping² |x|²; of fewer equations than unknowns the shortest."""
    return pinv(A, damping) @ (b if library_of(A, b) is not None else np.asarray(b))


def norm(x: Any) -> Any:
    """Length √(x·x) of a vector, of all entries of a matrix. Its slope at 0 is taken as 0."""
    if (xp := library_of(x)) is not None:
        return xp.linalg.norm(x)
    x = np.asarray(x)
    if x.dtype != object:
        return float(np.linalg.norm(x))
    flat = x.ravel()
    square = flat @ flat
    still = square <= 0.0
    return where(still, 0.0, sqrt(where(still, 1.0, square)))


def cross(a: Any, b: Any) -> Any:
    """The cross product of vectors (3,)."""
    if (xp := library_of(a, b)) is not None:
        return (xp.linalg.cross if hasattr(xp.linalg, "cross") else xp.cross)(a, b)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != (3,) or b.shape != (3,):
        raise DalembertError(f"cross: a has shape {a.shape} and b {b.shape}, expected (3,) each")
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def mod(x: Any, y: Any) -> Any:
    """x − y ⌊x/y⌋, in [0, y) for y > 0; its slope in x is 1."""
    if library_of(x, y) is not None:
        return x % y
    if not _traced(x, y):
        return np.mod(x, y)
    return x - y * floor(x / y)


def _eliminated(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """(U, y, sign): U x = y after exchanges and eliminations, and the sign of the exchanges."""
    n = len(A)
    rows = np.concatenate([np.array(A, object), np.array(b, object).reshape(n, -1)], axis=1)
    sign: Any = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            larger = absolute(rows[i, k]) > absolute(rows[k, k])
            above, below = rows[k, k:].copy(), rows[i, k:].copy()
            rows[k, k:], rows[i, k:] = where(larger, below, above), where(larger, above, below)
            sign = where(larger, -1.0 * sign, sign)
        for i in range(k + 1, n):
            share = rows[i, k] / rows[k, k]
            rows[i, k] = 0.0
            rows[i, k + 1 :] = rows[i, k + 1 :] - share * rows[k, k + 1 :]
    return rows[:, :n], rows[:, n:].reshape(np.shape(b)), sign


def _forward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = np.array(b, object)
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i] @ x[:i] if i else x[i]) / L[i, i]
    return x


def _backward(U: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, n = np.array(b, object), len(U)
    for i in reversed(range(n)):
        x[i] = (x[i] - U[i, i + 1 :] @ x[i + 1 :] if i + 1 < n else x[i]) / U[i, i]
    return x
