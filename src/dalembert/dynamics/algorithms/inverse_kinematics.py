"""Inverse kinematics, one step at a time: damped Gauss-Newton on the configuration manifold, within limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import factor
from dalembert.math import logical_and, logical_or, maximum, minimum, where
from dalembert.model import Body, Frame, Model
from dalembert.spatial import so3

from .configuration import integrate
from .constraints import constraint_count, constraints
from .jacobian import jacobian
from .kinematics import chain, frame_pose

TURN = 2.0 * np.pi
FLOOR = 1e-11  # least damping relative to J Jᵀ: keeps the solve possible where rows of J depend on one another


class Bounds(NamedTuple):
    """The range of motion: lower, upper (nv,) for coordinates that are their own velocity's integral [rad or m].

    mobile (nv,): 1 for velocities that may be used, 0 for those that stay zero.
    """

    lower: np.ndarray
    upper: np.ndarray
    mobile: np.ndarray


def pose_error(model: Model, q: np.ndarray, frames: Sequence[Frame], target: np.ndarray) -> np.ndarray:
    """[θ; d] (6,) of each frame: rotation vector [rad] and displacement [m] that bring it to its target; then loops.

    q (nq,); target (12 k,): of each frame the rows of the target's rotation matrix, then its position. In world axes.
    After the 6 k numbers of the frames come the nc that are missing for closed loops [m or rad].
    """
    errors = []
    for k, frame in enumerate(frames):
        X, wanted = frame_pose(model, q, frame), target[12 * k : 12 * k + 12]
        errors += [so3.log(wanted[:9].reshape(3, 3) @ X.R.T), wanted[9:] - X.p]
    if model.closures:
        errors.append(-constraints(model, q, np.zeros(model.nv)).residual)
    return np.concatenate(errors)


def reach(model: Model, frame: Frame) -> float:
    """The length [m] that weighs rotation against translation: from joint to joint, base to frame; 1 if that is 0."""
    steps = [body.placement.p for body in chain(model, frame.body)[1:]]
    return float(sum(np.linalg.norm(p) for p in (*steps, frame.placement.p))) or 1.0


def inverse_kinematics_step(
    model: Model,
    q: np.ndarray,
    target: np.ndarray,
    damping: Any,
    bounds: Bounds,
    frames: Sequence[Frame],
    rows: tuple[int, ...] | None = None,
) -> np.ndarray:
    """[q'; error at q'] (nq + 6 k + nc,): one step Jᵀ (J Jᵀ + λ 1)⁻¹ e from q towards the targets, λ = damping · eᵀe.

    q (nq,), target as in `pose_error`. e holds the given rows of the error of each frame, lengths divided by `reach`,
    and what is missing for closed loops.   Sugihara 2011
    A coordinate at a limit that the gradient Jᵀ e would push on does not take part; the others stop at theirs. An angle
    whose range holds more than a turn comes in again from the other side.
    """
    weight = error_weights(model, frames, rows)
    chosen = np.flatnonzero(weight)
    parts = [jacobian(model, q, frame) for frame in frames]
    if model.closures:
        parts.append(constraints(model, q, np.zeros(model.nv)).J)
    weight = weight[chosen]
    e = weight * pose_error(model, q, frames, target)[chosen]
    J = weight[:, None] * np.concatenate(parts)[chosen] * bounds.mobile
    J = J * _movable(model, q, J.T @ e, bounds)
    A = J @ J.T
    size = 0.0 + np.trace(A)
    A = A + (damping * (e @ e) + FLOOR * size + np.finfo(float).tiny) * np.eye(len(chosen))
    moved = _clipped(model, integrate(model, q, J.T @ factor(A).solve(e)), bounds)
    return np.concatenate([moved, pose_error(model, moved, frames, target)])


def error_weights(model: Model, frames: Sequence[Frame], rows: tuple[int, ...] | None) -> np.ndarray:
    """Weights of the entries of `pose_error` (6 k + nc,); 0 for rows that were not asked for."""
    counted = np.isin(np.arange(6), range(6) if rows is None else rows)
    lengths = [reach(model, frame) for frame in frames]
    parts = [np.where(counted, np.repeat([1.0, 1.0 / length], 3), 0.0) for length in lengths]
    return np.concatenate([*parts, np.full(constraint_count(model), 1.0 / max(lengths))])


def _movable(model: Model, q: np.ndarray, gradient: np.ndarray, bounds: Bounds) -> np.ndarray:
    """1 (nv,) where the coordinate may follow the gradient (nv,), 0 where that would leave the limits."""
    free = np.array(np.ones(model.nv), np.result_type(q, gradient))
    for body in model.bodies:
        for i, k, turns in _limited(body):
            high = logical_and(q[i] >= bounds.upper[k], gradient[k] > 0.0)
            low = logical_and(q[i] <= bounds.lower[k], gradient[k] < 0.0)
            stuck = logical_or(high, low)
            if turns:
                stuck = logical_and(stuck, bounds.upper[k] - bounds.lower[k] < TURN)
            free[k] = where(stuck, 0.0, 1.0)
    return free


def _clipped(model: Model, q: np.ndarray, bounds: Bounds) -> np.ndarray:
    """q (nq,) with its coordinates within the limits."""
    q = q.copy()
    for body in model.bodies:
        for i, k, turns in _limited(body):
            lower, upper, x = bounds.lower[k], bounds.upper[k], q[i]
            if turns:
                x = where(logical_and(x > upper, x - TURN >= lower), x - TURN, x)
                x = where(logical_and(x < lower, x + TURN <= upper), x + TURN, x)
            q[i] = minimum(maximum(x, lower), upper)
    return q


def _limited(body: Body) -> list[tuple[int, int, bool]]:
    """(place in q, place in v, whether an angle) of coordinates that can have limits: not those of quaternions."""
    return [(body.q.start + i, body.v.start + k, periodic) for i, k, periodic in body.joint.lines]
