"""Inverse kinematics: damped Gauss-Newton on the configuration manifold, within limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import factor
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_or, maximum, minimum, repeat, sqrt, where
from dalembert.model import Body, Frame, Model
from dalembert.spatial import cross, so3

from .configuration import integrate
from .constraints import constraint_count, constraints
from .jacobian import jacobian
from .kinematics import chain, frame_pose

TURN = 2.0 * np.pi
FLOOR = 1e-11  # least damping relative to J Jᵀ: keeps the solve possible where rows of J depend on one another
DAMPING, LEAST, MOST = 0.01, 1e-6, 1e8  # of the steps: at the start, least, and where no step leads downhill any more
FASTER, SLOWER = 0.5, 3.0  # what the damping is multiplied with after a step downhill, or a refused one
STALLED = 1e-10  # relative gain of a step that counts as none
PASSES = 1_000_000  # of the compiled loop; the number of steps that is asked for ends it before
FAR = 1e300  # cost before the first step


class Bounds(NamedTuple):
    """The range of motion: lower, upper (nv,) for coordinates that are their own velocity's integral [rad or m].

    mobile (nv,): 1 for velocities that may be used, 0 for those that stay zero.
    """

    lower: np.ndarray
    upper: np.ndarray
    mobile: np.ndarray


def pose_error(model: Model, q: np.ndarray, frames: Sequence[Frame], targets: np.ndarray) -> np.ndarray:
    """[θ; d] (6,) of each frame: rotation vector [rad] and displacement [m] that bring it to its target; then loops.

    q (nq,); targets (k, 4, 4): a pose for each frame. In world axes. After the 6 k numbers of the frames come the nc
    that are missing for closed loops [m or rad].
    """
    errors = []
    for frame, target in zip(frames, targets, strict=True):
        X = frame_pose(model, q, frame)
        errors += [so3.log(target[:3, :3] @ X.R.T), target[:3, 3] - X.p]
    if model.closures:
        errors.append(-constraints(model, q, np.zeros(model.nv)).residual)
    return np.concatenate(errors)


def reach(model: Model, frame: Frame) -> float:
    """The length [m] that weighs rotation against translation: from joint to joint, base to frame; 1 if that is 0."""
    steps = [body.placement.p for body in chain(model, frame.body)[1:]]
    return float(sum(np.linalg.norm(p) for p in (*steps, frame.placement.p))) or 1.0


def inverse_kinematics(
    model: Model,
    q: np.ndarray,
    targets: np.ndarray,
    tolerance: Any,
    most: Any,
    bounds: Bounds,
    frames: Sequence[Frame],
    rows: tuple[int, ...] | None = None,
) -> np.ndarray:
    """[q'; cost; steps; errors; slack; flaw] (nq + 7,): Levenberg-Marquardt from q to the targets.

    q (nq,), targets as in `pose_error`. cost: weighted square of the error; errors: the largest rotation [rad] and
    displacement [m] of a frame, of the given rows, and the largest gap of a loop [m or rad]; slack: least distance of a
    coordinate to its own limits [rad or m]; flaw: how far the targets are from being poses. It ends where the errors
    are within the tolerance, where no step leads downhill, or after `most` steps.
    """
    weight = error_weights(model, frames, rows)

    def step(q: Any, error: Any, cost: Any, damping: Any, steps: Any, done: Any) -> dict[str, Any]:
        moved = _step(model, q, targets, damping, bounds, frames, weight)
        left = pose_error(model, moved, frames, targets)
        weighted = weight * left
        size = weighted @ weighted
        better = size < cost
        level = maximum(damping * where(better, FASTER, SLOWER), LEAST)
        error = where(better, left, error)
        stalled = logical_and(better, size >= (1.0 - STALLED) * cost)
        worst = reduce(maximum, _largest(error, weight, len(frames)))
        ended = logical_or(logical_or(stalled, level >= MOST), worst <= tolerance)
        return {
            "q": where(better, moved, q),
            "error": error,
            "cost": where(better, size, cost),
            "damping": level,
            "steps": steps + 1.0,
            "done": where(logical_or(ended, steps + 1.0 >= most), 1.0, 0.0),
        }

    zero = 0.0 * tolerance
    error = pose_error(model, q, frames, targets)  # where no step is allowed, that of the start
    begin = {"q": q, "error": error, "cost": zero + FAR, "damping": zero + DAMPING}
    end = repeat(step, PASSES, begin | {"steps": zero, "done": where(most < 1.0, 1.0, zero)}, settled="done")
    errors = [zero + x for x in _largest(end["error"], weight, len(frames))]
    flaw = reduce(maximum, map(_flaw, targets))
    return np.concatenate([end["q"], [end["cost"], end["steps"], *errors, zero + _slack(model, end["q"]), zero + flaw]])


def _flaw(X: np.ndarray) -> Any:
    """Largest departure of X (4, 4) from a pose: RᵀR = 1, the last row 0 0 0 1; at least 1 if left-handed."""
    R = X[:3, :3]
    off = [*(R.T @ R - np.eye(3))[np.triu_indices(3)], *(X[3] - np.eye(4)[3])]
    return reduce(maximum, [absolute(x) for x in off], where(R[:, 0] @ cross(R[:, 1], R[:, 2]) > 0.0, 0.0, 1.0))


def _slack(model: Model, q: np.ndarray) -> Any:
    """Least distance of a coordinate to its limits; `FAR` where none has any."""
    slack: Any = FAR
    for body in model.bodies:
        for i, _, _ in body.joint.lines:
            x, lower, upper = q[body.q.start + i], body.joint.lower[i], body.joint.upper[i]
            slack = minimum(slack, x - lower) if np.isfinite(lower) else slack
            slack = minimum(slack, upper - x) if np.isfinite(upper) else slack
    return slack


def _largest(error: np.ndarray, weight: np.ndarray, frames: int) -> tuple[Any, Any, Any]:
    """The largest rotation and displacement of a frame, of rows that count, and the largest gap of a loop."""
    sizes: list[Any] = [0.0, 0.0, 0.0]
    for k in range(2 * frames):
        part = 3 * k + np.flatnonzero(weight[3 * k : 3 * k + 3])
        if len(part):
            sizes[k % 2] = maximum(sizes[k % 2], sqrt(error[part] @ error[part]))
    for gap in error[6 * frames :]:
        sizes[2] = maximum(sizes[2], maximum(gap, -gap))
    return sizes[0], sizes[1], sizes[2]


def _step(
    model: Model,
    q: np.ndarray,
    targets: np.ndarray,
    damping: Any,
    bounds: Bounds,
    frames: Sequence[Frame],
    weight: np.ndarray,
) -> np.ndarray:
    """q' (nq,): one step Jᵀ (J Jᵀ + λ 1)⁻¹ e from q towards the targets, λ = damping · eᵀe.

    e holds the given rows of the error of each frame, lengths divided by `reach`, and what is missing for closed loops.
    A coordinate at a limit that the gradient Jᵀ e would push on does not take part; the others stop at theirs. An angle
    whose range holds more than a turn comes in again from the other side.   Sugihara 2011
    """
    chosen = np.flatnonzero(weight)
    parts = [jacobian(model, q, frame) for frame in frames]
    if model.closures:
        parts.append(constraints(model, q, np.zeros(model.nv)).J)
    weight = weight[chosen]
    e = weight * pose_error(model, q, frames, targets)[chosen]
    J = weight[:, None] * np.concatenate(parts)[chosen] * bounds.mobile
    J = J * _movable(model, q, J.T @ e, bounds)
    A = J @ J.T
    size = 0.0 + np.trace(A)
    A = A + (damping * (e @ e) + FLOOR * size + np.finfo(float).tiny) * np.eye(len(chosen))
    return _clipped(model, integrate(model, q, J.T @ factor(A).solve(e)), bounds)


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
