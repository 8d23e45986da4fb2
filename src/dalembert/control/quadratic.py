"""Dense convex quadratic programs on numbers: by daqp where it is installed, else by an interior-point method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError

GAP = 1e-10  # relative complementarity and residuals that count as none
ENOUGH = 1e-6  # the same, where rounding lets them fall no further
UNBOUNDED = 1e14  # relative size of multipliers that only grow where no x satisfies all rows
MOST = 60  # iterations


class Minimum(NamedTuple):
    """x (n,), and the iterations it took."""

    x: np.ndarray
    iterations: int


def minimise(H: np.ndarray, g: np.ndarray, C: np.ndarray, upper: np.ndarray) -> Minimum:
    """The x with least ½ xᵀ H x + gᵀ x of those with C x ≤ upper; H (n, n) positive definite, C (m, n)."""
    try:
        import daqp
    except ImportError:
        return interior_point(H, g, C, upper)
    x, _, status, info = daqp.solve(H, g, C, upper, np.full(len(upper), -1e30), np.zeros(len(upper), np.int32))
    if status != 1:
        raise DalembertError(f"the quadratic program has no solution (daqp: {status})")
    return Minimum(x, int(info.get("iterations", 0)))


def interior_point(H: np.ndarray, g: np.ndarray, C: np.ndarray, upper: np.ndarray) -> Minimum:
    """Mehrotra's predictor and corrector, with slacks s = upper − C x and multipliers z."""
    x = np.linalg.solve(H, -g)
    s, z = np.maximum(upper - C @ x, 1.0), np.ones(len(upper))
    size = 1.0 + np.abs(g).max() + np.abs(upper).max()
    best, nearest = np.inf, x
    for iteration in range(MOST):
        dual, primal, gap = H @ x + g + C.T @ z, C @ x + s - upper, float(s @ z) / len(z)
        error = max(np.abs(dual).max(), np.abs(primal).max(), gap) / size
        if error < best:
            best, nearest = error, x
        if best < GAP:
            return Minimum(x, iteration)
        if gap < 1e-4 * GAP * size or z.max() > UNBOUNDED * size:  # rounding, or nothing satisfies all rows
            break
        weight = z / s
        K = H + C.T @ (weight[:, None] * C)
        ahead = _step(K, C, s, z, dual, primal, s * z)
        reached = float((s + _length(s, ahead.s) * ahead.s) @ (z + _length(z, ahead.z) * ahead.z)) / len(z)
        move = _step(K, C, s, z, dual, primal, s * z + ahead.s * ahead.z - (reached / gap) ** 3 * gap)
        length = 0.995 * min(_length(s, move.s), _length(z, move.z))
        x, s, z = x + length * move.x, s + length * move.s, z + length * move.z
    if best < ENOUGH:
        return Minimum(nearest, MOST)
    raise DalembertError("the quadratic program has no solution that satisfies all of its rows")


class Step(NamedTuple):
    """A step of x, of the slacks and of the multipliers."""

    x: np.ndarray
    s: np.ndarray
    z: np.ndarray


def _step(
    K: np.ndarray,
    C: np.ndarray,
    s: np.ndarray,
    z: np.ndarray,
    dual: np.ndarray,
    primal: np.ndarray,
    product: np.ndarray,
) -> Step:
    """Newton's step that takes both residuals to 0 and s z by −product."""
    dx = np.linalg.solve(K, -dual - C.T @ ((z * primal - product) / s))
    ds = -primal - C @ dx
    return Step(dx, ds, -(product + z * ds) / s)


def _length(x: np.ndarray, dx: np.ndarray) -> float:
    """How far along dx all of x stay positive, at most 1."""
    falling = dx < 0.0
    return min(1.0, float(np.min(-x[falling] / dx[falling], initial=np.inf))) if falling.any() else 1.0
