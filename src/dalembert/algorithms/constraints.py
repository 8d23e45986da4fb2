"""Closed loops: residuals, rows and rates of the closures of a model, and the forces that keep them closed."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import maximum, where
from dalembert.model import Body, Closure, Frame, JointEquation, Model
from dalembert.spatial import Pose, cross, so3

from .jacobian import jacobian
from .kinematics import acceleration, frame_pose, velocity

DEPENDENT = 1e-10  # a pivot this small beside its own diagonal entry: the row says what others say already
EMPTY = 1e-20  # a diagonal entry this small beside the largest one: the square of round-off


class Constraints(NamedTuple):
    """φ(q) = 0: residual φ (nc,), rows J (nc, nv) with φ̇ = J v, bias γ (nc,) with φ̈ = J a + γ."""

    residual: np.ndarray
    J: np.ndarray
    bias: np.ndarray


def constraints(model: Model, q: np.ndarray, v: np.ndarray) -> Constraints:
    """Those of all closures of the model, in order, at q (nq,), v (nv,)."""
    parts = [
        _equation(model, c, q, v) if isinstance(c, JointEquation) else _closure(model, c, q, v) for c in model.closures
    ]
    return Constraints(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def constraint_count(model: Model) -> int:
    """Number of equations of all closures."""
    return sum(closure.count for closure in model.closures)


def _closure(model: Model, closure: Closure, q: np.ndarray, v: np.ndarray) -> Constraints:
    K, L = closure.a, closure.b
    X_WK, X_WL = _pose(model, q, K), _pose(model, q, L)
    X = X_WK.inverse() @ X_WL
    R, r, n = X_WK.R, X.p, model.nv
    J_K, J_L = _rotated(R, _jacobian(model, q, K)), _rotated(R, _jacobian(model, q, L))
    J = np.concatenate([J_L[:3] - J_K[:3], J_L[3:] - J_K[3:] + so3.skew(r) @ J_K[:3]])
    rows = np.stack([closure.rate(X, J[:, k]) for k in range(n)], axis=1)
    V = J @ v
    A_K, A_L = _rotated(R, _acceleration(model, q, v, K)), _rotated(R, _acceleration(model, q, v, L))
    w, dw = (R.T @ _velocity(model, q, v, K)[:3]), A_K[:3]
    turning = A_L[:3] - dw - cross(w, V[:3])
    moving = A_L[3:] - A_K[3:] - cross(dw, r) - cross(w, cross(w, r)) - 2.0 * cross(w, V[3:])
    return Constraints(closure.residual(X), rows, closure.acceleration(X, V, np.concatenate([turning, moving])))


def _rotated(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Both halves of x (6, …) along the axes of a frame with rotation R."""
    return np.concatenate([R.T @ x[:3], R.T @ x[3:]])


def _pose(model: Model, q: np.ndarray, frame: Frame) -> Pose:
    return frame.placement if frame.body < 0 else frame_pose(model, q, frame)


def _jacobian(model: Model, q: np.ndarray, frame: Frame) -> np.ndarray:
    return np.zeros((6, model.nv)) if frame.body < 0 else jacobian(model, q, frame)


def _velocity(model: Model, q: np.ndarray, v: np.ndarray, frame: Frame) -> np.ndarray:
    return np.zeros(6) if frame.body < 0 else velocity(model, q, v, frame)


def _acceleration(model: Model, q: np.ndarray, v: np.ndarray, frame: Frame) -> np.ndarray:
    return np.zeros(6) if frame.body < 0 else acceleration(model, q, v, np.zeros(model.nv), frame)


def _equation(model: Model, equation: JointEquation, q: np.ndarray, v: np.ndarray) -> Constraints:
    row = np.zeros(model.nv, q.dtype)
    follower = model.joint(equation.follower)
    x, ratio = _coordinate(follower, q)
    row[follower.v.start] = ratio
    if not equation.leader:
        value, _, _ = equation.law(0.0)
        return Constraints(np.array([x - value]), row[None], np.zeros(1))
    leader = model.joint(equation.leader)
    y, leading = _coordinate(leader, q)
    value, slope, curvature = equation.law(y)
    row[leader.v.start] = row[leader.v.start] - slope * leading
    speed = leading * v[leader.v.start]
    return Constraints(np.array([x - value]), row[None], np.array([-curvature * speed * speed]))


def _coordinate(body: Body, q: np.ndarray) -> tuple[Any, float]:
    """A joint's own coordinate, and how fast it moves with that of its leader."""
    mimic = body.joint.mimic
    return body.joint.coordinate(q[body.q])[0], 1.0 if mimic is None else float(mimic.ratio)


def solve_semidefinite(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with A x = b for a symmetric A (n, n) ≥ 0 and b (n,) or (n, m); where rows depend on others, x is 0.

    L D Lᵀ in the order given; a pivot that vanishes beside its diagonal entry marks a dependent row, and a diagonal
    entry that vanishes beside the largest one an empty row.
    """
    n = len(b)
    A, x = A.astype(object), b.astype(object)
    diagonal = [A[k, k] for k in range(n)]
    largest = reduce(maximum, diagonal, 0.0)
    r: list[Any] = []
    for k in range(n):
        independent = A[k, k] > maximum(DEPENDENT * diagonal[k], EMPTY * largest)
        r.append(where(independent, 1.0 / where(independent, A[k, k], 1.0), 0.0))
        for i in range(k + 1, n):
            factor = A[i, k] * r[k]
            for j in range(k + 1, i + 1):
                A[i, j] = A[i, j] - factor * A[j, k]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = r[k] * (x[k] - sum((A[i, k] * x[i] for i in range(k + 1, n)), 0.0))
    return x
