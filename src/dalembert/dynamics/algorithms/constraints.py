"""Closed loops: residuals, rows and rates of the closures of a model, and the forces that keep them closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dalembert.model import Body, Closure, Frame, JointEquation, Model
from dalembert.spatial import Pose, cross

from .kinematics import chain, joint_pose
from .motion import BodyMotion, across_joint, without_rotation


class Constraints(NamedTuple):
    """φ(q) = 0: residual φ (nc,), rows J (nc, nv) with φ̇ = J v, bias γ (nc,) with φ̈ = J a + γ.

    Where a closure holds two points together, the rates of the vector between them are those seen from the world,
    written along the axes of frame a: at φ = 0 they are the rates of its components, and they take fewer operations.
    """

    residual: np.ndarray
    J: np.ndarray
    bias: np.ndarray


def constraints(model: Model, q: np.ndarray, v: np.ndarray) -> Constraints:
    """The constraint rows of all closures of the model, in order, at q (nq,), v (nv,)."""
    parts = [
        _equation(model, c, q, v) if isinstance(c, JointEquation) else _closure(model, c, q, v) for c in model.closures
    ]
    return Constraints(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def constraint_count(model: Model) -> int:
    """Number of equations of all closures."""
    return sum(closure.count for closure in model.closures)


def _closure(model: Model, closure: Closure, q: np.ndarray, v: np.ndarray) -> Constraints:
    """Only joints between the two frames matter: the body that carries both may be taken as fixed."""
    K, L = closure.a, closure.b
    behind_K, behind_L = _sides(model, K, L)
    X = closure_pose(model, closure, q)
    R, r = X.R, X.p
    kind = np.result_type(q, v)
    rows, V = np.zeros((closure.count, model.nv), kind), np.zeros(6)
    for k, twist in _twists(behind_L, q, L):  # along L's axes
        rows[:, k] = rows[:, k] + closure.rate_along_b(X, twist)
        V = V + v[k] * np.concatenate([R @ twist[:3], R @ twist[3:]])
    for k, twist in _twists(behind_K, q, K):  # along K's axes: K turns, and L seems to turn the other way
        seen = -np.concatenate([twist[:3], twist[3:] if closure.coincident else twist[3:] + cross(twist[:3], r)])
        rows[:, k] = rows[:, k] + closure.rate(X, seen)
        V = V + v[k] * seen
    moving_K, moving_L = _motion(behind_K, q, v), _motion(behind_L, q, v)
    w, dw = _along(K, moving_K.w), _along(K, moving_K.alpha)
    a_K, a_L = (_along(f, m.acceleration(f.placement.p)) for f, m in ((K, moving_K), (L, moving_L)))
    turning = R @ _along(L, moving_L.alpha) - dw - cross(w, V[:3])
    moving = R @ a_L - a_K
    if not closure.coincident:
        moving = moving - cross(dw, r) - cross(w, cross(w, r)) - 2.0 * cross(w, V[3:])
    return Constraints(closure.residual(X), rows, closure.acceleration(X, V, np.concatenate([turning, moving])))


def closure_pose(model: Model, closure: Closure, q: np.ndarray) -> Pose:
    """X_KL: frame b of a closure as seen from its frame a, at q (nq,)."""
    behind_K, behind_L = _sides(model, closure.a, closure.b)
    X_CK, X_CL = _pose(behind_K, q, closure.a), _pose(behind_L, q, closure.b)
    return Pose(X_CK.R.T @ X_CL.R, X_CK.R.T @ (X_CL.p - X_CK.p))


def _sides(model: Model, K: Frame, L: Frame) -> tuple[list[Body], list[Body]]:
    """The bodies that carry K and not L, and L and not K, each from the base outwards."""
    carry_K, carry_L = chain(model, K.body), chain(model, L.body)
    shared = {body.index for body in carry_K} & {body.index for body in carry_L}
    a, b = ([body for body in bodies if body.index not in shared] for bodies in (carry_K, carry_L))
    return a, b


def _pose(bodies: list[Body], q: np.ndarray, frame: Frame) -> Pose:
    """The frame as seen from the parent of the first of the bodies that carry it."""
    X = Pose.identity()
    for body in bodies:
        X = X @ joint_pose(body, q)
    return X @ frame.placement


def _twists(bodies: list[Body], q: np.ndarray, frame: Frame) -> Iterator[tuple[int, np.ndarray]]:
    """(freedom, twist of the frame at unit speed (6,), at its origin and along its axes) of the joints of bodies."""
    X = frame.placement.inverse()
    for body in reversed(bodies):
        for k, S_k in enumerate(body.joint.subspace(q[body.q]).T, body.v.start):
            yield k, X.motion(S_k)
        X = X @ joint_pose(body, q).inverse()


def _motion(bodies: list[Body], q: np.ndarray, v: np.ndarray) -> BodyMotion:
    """The motion of the last of the bodies, at zero acceleration of the joints."""
    motion = without_rotation(np.zeros(3))
    for body in bodies:
        twist, rate = body.joint.subspace(q[body.q]) @ v[body.v], body.joint.bias(q[body.q], v[body.v])
        motion = across_joint(motion, joint_pose(body, q), twist, rate)
    return motion


def _along(frame: Frame, x: np.ndarray) -> np.ndarray:
    """A vector along the axes of the frame's body, along those of the frame."""
    return frame.placement.R.T @ x


def _equation(model: Model, equation: JointEquation, q: np.ndarray, v: np.ndarray) -> Constraints:
    row = np.zeros(model.nv, q.dtype)
    follower = model.joint(equation.follower)
    x, ratio = _coordinate(follower, q)
    row[follower.v.start] = ratio
    for name, factor in equation.others:
        other = model.joint(name)
        z, moving = _coordinate(other, q)
        x = x - factor * z
        row[other.v.start] = row[other.v.start] - factor * moving
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
    """A joint's coordinate, and its rate with respect to that of its leader."""
    mimic = body.joint.mimic
    return body.joint.coordinate(q[body.q])[0], 1.0 if mimic is None else float(mimic.ratio)
