"""A small complementarity problem: forces within bounds, and motions that only forces at a bound allow."""

from __future__ import annotations

import numpy as np

NOISE = 1e-12  # of the terms that add up to a motion: a motion below it is none
PASSES = 50  # changes of the free set per row, after which only rounding can be at work


def bounded_forces(
    A: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """λ (n,) within [low, high], and which of them are free (n,), such that the motion w = A λ + b (n,) obeys:

    w = 0 where λ is strictly between its bounds, w ≥ 0 where it is at the lower one, w ≤ 0 at the upper one. That is
    the minimum of ½ λᵀ A λ + bᵀ λ, A (n, n) ≥ 0 symmetric; low ≤ 0 ≤ high, which may be infinite. The motion is unique,
    and the free rows are independent of each other. scale (n,): the size of the terms in b.

    An active-set method, one row at a time (Lawson, Hanson 1974; bounds on both sides: Stark, Parker 1995).
    """
    size = np.sqrt(np.diag(A))
    unit = 1.0 / np.where(size > 0.0, size, 1.0)
    A, b, scale = A * np.outer(unit, unit), b * unit, scale * unit
    lowest, highest = low / unit, high / unit
    n = len(b)
    x, free, refused = np.zeros(n), np.zeros(n, bool), np.zeros(n, bool)
    for _ in range(PASSES * (n + 1)):
        w = A @ x + b
        wrong = np.abs(w) > NOISE * (scale + np.abs(A) @ np.abs(x))
        pulled = np.where(w < 0.0, x < highest, x > lowest) & wrong & ~free & ~refused
        if not pulled.any():
            break
        k = int(np.argmax(np.where(pulled, np.abs(w), -1.0)))
        free[k] = True
        if _descend(A, b, x, free, lowest, highest):
            refused[:] = False
        else:
            refused[k] = not free[k]  # it was rounding that pulled
    forces = np.where(x >= highest, high, np.where(x <= lowest, low, x * unit))
    return np.where(free, x * unit, forces), free


def _descend(A: np.ndarray, b: np.ndarray, x: np.ndarray, free: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Move x to the minimum over its free rows, fixing those that reach a bound on the way; whether it moved."""
    moved = False
    while free.any():
        F = np.flatnonzero(free)
        goal = x[F] - np.linalg.lstsq(A[np.ix_(F, F)], (A @ x + b)[F], rcond=1e-13)[0]
        outside = (goal < low[F]) | (goal > high[F])
        if not outside.any():
            moved |= bool(np.any(x[F] != goal))
            x[F] = goal
            return moved
        bound = np.where(goal < low[F], low[F], high[F])[outside]
        share = (bound - x[F][outside]) / (goal - x[F])[outside]
        first = float(np.min(share))
        moved |= first > 0.0
        x[F] = x[F] + first * (goal - x[F])
        x[F[outside][share <= first]] = bound[share <= first]
        free[F[outside][share <= first]] = False
    return moved


def independent(A: np.ndarray, held: np.ndarray, row: int) -> bool:
    """Whether a row is independent of the held ones (n,): whether it can move when they do not."""
    H = np.flatnonzero(held)
    if not len(H):
        return bool(A[row, row] > 0.0)
    along = np.linalg.lstsq(A[np.ix_(H, H)], A[H, row], rcond=1e-13)[0]
    return bool(A[row, row] - A[row, H] @ along > 1e-10 * A[row, row])
