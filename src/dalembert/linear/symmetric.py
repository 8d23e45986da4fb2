"""Symmetric systems by L D Lᵀ.

Sums are taken in the order that keeps chains of operations that wait for each other short: what is known last enters
last, and the next pivot waits for one division, one product and one subtraction only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.math import maximum, where
from dalembert.math.entries import largest

from .order import elimination_order
from .zeros import is_zero, nonzeros

DEPENDENT = 1e-10  # a pivot this small beside its own diagonal entry: the row says what others say already
EMPTY = 1e-20  # a diagonal entry this small beside the largest one: the square of round-off
TINY = 1e-150  # [any unit]: the square of its reciprocal is still a number
SHARED = 1e-6  # share by which diagonal entries grow where rows can depend on each other

Pivot = Callable[[int, Any], Any]  # (unknown, pivot) → 1 / pivot, or what replaces it


class Factor:
    """A = L diag(1/r) Lᵀ with the unknowns taken in `order`: L unit lower triangular, r (n,) the reciprocal pivots.

    rows, columns: entries of L below the diagonal that are not the constant 0, by unknown; r is in the order of A.
    """

    def __init__(
        self, order: Sequence[int], rows: list[dict[int, Any]], columns: list[dict[int, Any]], r: np.ndarray
    ) -> None:
        self.order, self.rows, self.columns, self.r = tuple(order), rows, columns, r

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b for b (n,) or (n, m)."""
        return self.backward(self._scaled(self.forward(b)))

    def forward(self, b: np.ndarray) -> np.ndarray:
        """L⁻¹ b for b (n,) or (n, m): half of a solve. Zeros of b stay zeros where the pattern of L allows."""
        return self._each(self._forward, b)

    def backward(self, b: np.ndarray) -> np.ndarray:
        """L⁻ᵀ b for b (n,) or (n, m): the other half, after a multiplication by r."""
        return self._each(self._backward, b)

    def inverse(self) -> np.ndarray:
        """A⁻¹ (n, n), symmetric: each entry is computed once, from those of unknowns that are eliminated later."""
        X = np.zeros((len(self.r), len(self.r)), self.r.dtype)
        known: list[int] = []
        for i in reversed(self.order):
            for j in known:
                X[i, j] = X[j, i] = -sum(entry * X[k, j] for k, entry in self.columns[i].items())
            known.append(i)
            X[i, i] = self.r[i] - sum(entry * X[k, i] for k, entry in self.columns[i].items())
        return X

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        return (x.T * self.r).T

    def _each(self, substitute: Callable[[list[Any]], None], b: np.ndarray) -> np.ndarray:
        """Traced right-hand sides one by one, since their zeros differ; numbers all at once."""
        kind = np.result_type(self.r, b)
        if b.ndim == 1 or kind.kind != "O":
            entries = list(b)
            substitute(entries)
            return np.array(entries, kind) if entries else np.array(b, kind)
        x = np.empty(b.shape, object)
        for k, column in enumerate(b.T):
            entries = list(column)
            substitute(entries)
            x[:, k] = entries
        return x

    def _forward(self, x: list[Any]) -> None:
        for i in self.order:
            known = [
                entry * x[j] for j, entry in self.rows[i].items() if isinstance(x[j], np.ndarray) or not is_zero(x[j])
            ]
            if known:
                x[i] = x[i] - sum(known)

    def _backward(self, x: list[Any]) -> None:
        for i in reversed(self.order):
            for j in reversed(self.columns[i]):
                x[i] = x[i] - self.columns[i][j] * x[j]


def _reciprocal(_: int, pivot: Any) -> Any:
    with np.errstate(divide="ignore"):  # a pivot of 0 gives inf, for floats and constants alike
        return np.divide(1.0, pivot)


def factor(A: np.ndarray, order: Sequence[int] | None = None, pivot: Pivot = _reciprocal) -> Factor:
    """Factor a symmetric positive definite A (n, n), of which only the lower triangle is read.

    order: of the unknowns, by default their own.
    """
    below = {(int(i), int(j)): A[i, j] for i, j in zip(*np.nonzero(np.tril(nonzeros(A), -1)), strict=True)}
    return factor_entries(list(np.diag(A)), below, order, pivot, np.result_type(A, np.float32))


def factor_entries(
    diagonal: Sequence[Any],
    below: Mapping[tuple[int, int], Any],
    order: Sequence[int] | None = None,
    pivot: Pivot = _reciprocal,
    kind: Any = object,
) -> Factor:
    """Factor a symmetric positive definite matrix of its diagonal and its entries (row, column) on one side of it.

    kind: the type of the factor's arrays.
    """
    n = len(diagonal)
    order = range(n) if order is None else order
    place = {k: number for number, k in enumerate(order)}
    left: list[dict[int, Any]] = [{} for _ in range(n)]  # by unknown: what is left of its row, right of the diagonal
    for (i, j), entry in below.items():
        first, second = (i, j) if place[i] < place[j] else (j, i)
        left[first][second] = entry
    D = list(diagonal)
    rows: list[dict[int, Any]] = [{} for _ in range(n)]
    columns: list[dict[int, Any]] = [{} for _ in range(n)]
    r = np.ones(n, kind)  # whole numbers become floats
    for j in order:
        r[j] = pivot(j, D[j])
        later = sorted(left[j], key=place.__getitem__)
        for number, i in enumerate(later):
            a = left[j][i]
            entry = rows[i][j] = columns[j][i] = a * r[j]
            D[i] = D[i] - ((a * a) * r[j] if place[i] == place[j] + 1 else entry * a)
            for k in later[:number]:
                left[k][i] = left[k].get(i, 0.0) - entry * left[j][k]
    return Factor(order, rows, columns, r)


def factor_semidefinite(A: np.ndarray, order: Sequence[int] | None = None) -> Factor:
    """Factor a symmetric A (n, n) ≥ 0; `solve` gives 0 where a row depends on others or is empty.

    A pivot that vanishes beside its diagonal entry marks a dependent row, and a diagonal entry that vanishes beside the
    largest one an empty row: they are left out. order: by default one that keeps the factor sparse.
    """
    least = least_pivots(list(np.diag(A)))

    def pivot(k: int, left: Any) -> Any:
        return where(left > least[k], 1.0 / maximum(left, least[k]), 0.0)

    return factor(A, elimination_order(nonzeros(A)) if order is None else order, pivot)


class SharingFactor:
    """Solves A x = b for a symmetric A (n, n) ≥ 0 in which rows repeat others, without deciding on its rank.

    Of all x the least one, in the metric of D = diag A. With U = ε D (A + ε D)⁻¹ and S = 1 − U, it is
    x = (A + ε D)⁻¹ S² (1 + 3 U + 6 U²) b. Where A acts as λ D, that is b / λ times the smooth step
    s³ (10 − 15 s + 6 s²) of s = λ / (λ + ε): what lies far above ε is solved to the third power of ε / λ; what lies far
    below, equations that others imply at a state where they are not quite met, adds nothing, to the second power of
    λ / ε. In between x changes smoothly with A and b.
    """

    def __init__(self, A: np.ndarray, order: Sequence[int] | None = None) -> None:
        diagonal = list(np.diag(A))
        least = EMPTY * largest(diagonal) + TINY if diagonal else 0.0
        self._growth = np.array([SHARED * maximum(x, least) for x in diagonal])
        self._factor = factor(A + np.diag(self._growth), elimination_order(nonzeros(A)) if order is None else order)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """x for b (n,) or (n, m)."""
        x = b + self._repeated(3.0 * b + 6.0 * self._repeated(b))
        for _ in range(2):
            x = x - self._repeated(x)
        return self._factor.solve(x)

    def _repeated(self, b: np.ndarray) -> np.ndarray:
        """U b: nearly all of b along rows that others imply, nearly nothing along all others."""
        return (self._growth * self._factor.solve(b).T).T


def least_pivots(diagonal: list[Any]) -> list[Any]:
    """For each row, the size above which its pivot is more than round-off, from the diagonal entries, all ≥ 0."""
    least = EMPTY * largest(diagonal) + TINY if diagonal else 0.0
    return [maximum(DEPENDENT * x, least) for x in diagonal]


def solve_semidefinite(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with A x = b for a symmetric A (n, n) ≥ 0 and b (n,) or (n, m); where rows depend on others, x is 0."""
    return factor_semidefinite(A).solve(b)


def gram(Y: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Yᵀ diag(r) Y (n, n), symmetric, for Y (m, n) and r (m,): products of columns that share no entry are 0."""
    if np.result_type(Y, r).kind != "O":
        return (Y.T * r) @ Y
    G = np.zeros((Y.shape[1],) * 2, object)
    for row, weight, present in zip(Y, r, nonzeros(Y), strict=True):
        entries: Iterable[int] = np.flatnonzero(present)
        for i in entries:
            scaled = row[i] * weight
            for j in entries:
                if j <= i:
                    G[i, j] = G[i, j] + scaled * row[j]
    lower = np.tril_indices(len(G), -1)
    G.T[lower] = G[lower]
    return G
