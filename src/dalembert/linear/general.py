"""Systems that are not symmetric, but near one that is positive definite: no pivots are searched for."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import where

from .order import elimination_order
from .symmetric import Pivot, least_pivots
from .zeros import is_zero, nonzeros, sparse_product


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b for b (n,) or (n, m).

    For A (n, n) near a positive definite matrix, as of steps small enough that inertia rules.
    """
    return _eliminated(A, b, lambda _, pivot: 1.0 / pivot)


def solve_saddle(G: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """x with G x = b, G = [[A, B], [C, D]]: n equations of motion, A near a positive definite matrix, then constraints.

    A constraint that others imply is left out, its unknown is 0.
    """
    if len(b) == n:
        return solve(G, b)
    C = G[n:, :n]
    both = solve(G[:n, :n], np.concatenate([G[:n, n:], b[:n, None]], axis=1))
    response, free = both[:, :-1], both[:, -1]
    S = G[n:, n:] - sparse_product(C, response)
    least = least_pivots([absolute(S[k, k]) for k in range(len(S))])

    def reciprocal(k: int, pivot: Any) -> Any:
        independent = absolute(pivot) > least[k]
        return where(independent, 1.0 / where(independent, pivot, 1.0), 0.0)

    forces = _eliminated(S, b[n:] - C @ free, reciprocal)
    return np.concatenate([free - response @ forces, forces])


def _eliminated(A: np.ndarray, b: np.ndarray, pivot: Pivot) -> np.ndarray:
    """A⁻¹ b = U⁻¹ L⁻¹ b, in an order that suits the pattern of A + Aᵀ."""
    n, kind = len(b), np.result_type(A, b)
    present = nonzeros(A)
    order = elimination_order(present | present.T)
    place = {k: number for number, k in enumerate(order)}
    rows: list[dict[int, Any]] = [{int(j): A[i, j] for j in np.flatnonzero(present[i])} for i in range(n)]
    r: dict[int, Any] = {}
    lower: list[dict[int, Any]] = [{} for _ in range(n)]
    upper: list[dict[int, Any]] = [{} for _ in range(n)]
    for k in order:
        r[k] = pivot(k, rows[k].get(k, 0.0))
        upper[k] = {j: rows[k][j] for j in sorted(rows[k], key=place.__getitem__) if place[j] > place[k]}
        for i in order[place[k] + 1 :]:
            if k in rows[i]:
                share = lower[i][k] = rows[i].pop(k) * r[k]
                for j, entry in upper[k].items():
                    rows[i][j] = rows[i].get(j, 0.0) - share * entry
    x = np.array(b, kind)
    for column in (x[:, None] if b.ndim == 1 else x).T:  # views of x
        for i in order:
            for k, entry in lower[i].items():
                if not is_zero(column[k]):
                    column[i] = column[i] - entry * column[k]
        for k in reversed(order):
            total = sum((entry * column[j] for j, entry in upper[k].items()), 0.0)
            column[k] = (column[k] - total) * r[k]
    return x
