"""Motion without forces: what drifts by its velocity."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.dynamics.algorithms.free_bodies import carries_nothing, drifts, turning
from dalembert.linear import nonzeros
from dalembert.model import Body, Model
from dalembert.spatial import cross, so3

ITERATIONS = 3  # of the mean angular velocity of a loose body


def drifted(
    model: Model, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) after a time h at v (nv,), displaced by `more` (nv,), and v as it is written there.

    Free bodies go straight ahead: their velocity stays the same in the world, and that of loose ones is the velocity
    of the centre of mass, their angular momentum being constant.
    """
    displacement = h * v if more is None else h * v + more
    q1, v1 = integrate(model, q, displacement), v.astype(object)
    for body in model.bodies:
        if drifts(model, body):
            extra = np.zeros(6) if more is None else more[body.v]
            place, velocity = (_loose if _is_loose(model, body) else _carrying)(body, q[body.q], v[body.v], h, extra)
            q1[body.q], v1[body.v] = place, velocity
    return q1, v1


def still(model: Model, v: np.ndarray) -> np.ndarray:
    """v (nv,) without what a drift takes care of: velocities of free bodies, and the spin of loose ones."""
    kept = v.astype(object)
    for body in model.bodies:
        if drifts(model, body):
            kept[body.v] = np.concatenate([np.zeros(3) if _is_loose(model, body) else v[body.v][:3], np.zeros(3)])
    return kept


def without_translation(model: Model, v: np.ndarray) -> np.ndarray:
    """v (nv,) without the linear velocities of free bodies."""
    slow = v.astype(object)
    for body in model.bodies:
        if drifts(model, body):
            slow[body.v] = np.concatenate([v[body.v][:3], np.zeros(3)])
    return slow


def straightened(
    model: Model, q: np.ndarray, v: np.ndarray, v1: np.ndarray, d: np.ndarray, h: Any
) -> tuple[np.ndarray, np.ndarray]:
    """q displaced by d (nv,), and v1 as it is written there, after a step h from v to v1, both along the axes at q.

    Free bodies go straight ahead: their linear velocity changes along axes that do not turn within the step. These are
    MuJoCo's steps of free joints.
    """
    turn = turning(model, v)
    q1, end = integrate(model, q, d), v1.copy()
    for body in model.bodies:
        if drifts(model, body):
            R, quaternion = so3.from_quaternion(q[body.q][3:]), q[body.q][3:]
            linear = v1[body.v][3:] + h * turn[body.v][3:]
            moved = q[body.q][:3] + R @ (d[body.v][3:] + (h * h) * turn[body.v][3:])
            q1[body.q] = np.concatenate([moved, _turned(quaternion, d[body.v][:3])])
            back = so3.from_quaternion(so3.quaternion_exp(d[body.v][:3])).T
            end[body.v] = np.concatenate([v1[body.v][:3], back @ linear])
    return q1, end


def _is_loose(model: Model, body: Body) -> bool:
    """Whether nothing hangs on a free body, whose inertia is a number."""
    constant = body.inertia.about_com().dtype.kind != "O"
    return constant and carries_nothing(model, body)


def _turned(quaternion: np.ndarray, by: np.ndarray) -> np.ndarray:
    """A unit quaternion turned along its body's axes by a rotation vector (3,)."""
    return _composed(quaternion, so3.quaternion_exp(by))


def _composed(quaternion: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The product of two unit quaternions, of length 1: rounding of a root alone would prefer the longer ones."""
    turned = so3.quaternion_normalize(so3.quaternion_multiply(quaternion, turn))
    return turned * (1.5 - 0.5 * (turned @ turned))


def _seen_after(turn: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The change of a vector x (3,) along axes that turn by a unit quaternion: (Rᵀ − 1) x.

    As a sum with x that loses nothing in thousands of steps, while products of rotations and inertias with their
    inverses come back to what they began with only up to a rounding error, which is the same in each step.
    """
    across = 2.0 * cross(turn[1:], x)
    return cross(turn[1:], across) - turn[0] * across


def _carrying(body: Body, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A base with limbs: its origin goes straight on."""
    R, turn = so3.from_quaternion(q[3:]), so3.quaternion_exp(h * v[:3] + more[:3])
    moved = q[:3] + R @ (h * v[3:] + more[3:])
    after = np.concatenate([v[:3], v[3:] + _seen_after(turn, v[3:])])
    return np.concatenate([moved, _composed(q[3:], turn)]), after


def _loose(body: Body, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A single body."""
    inertia = body.inertia.about_com() + np.diag(body.joint.armature[:3])
    isotropic = np.array_equal(inertia, inertia[0, 0] * np.eye(3))
    return loose_drift(body.inertia.com, inertia, np.linalg.inv(inertia), isotropic, q, v, h, more)


def loose_drift(
    c: np.ndarray,
    inertia: np.ndarray,
    inverse: np.ndarray,
    isotropic: bool,
    q: np.ndarray,
    v: np.ndarray,
    h: Any,
    more: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """A body that carries nothing: its centre of mass c (3,) goes straight on, its angular momentum L stays.

    R1 = R exp(h w), I w1 = R1ᵀ L with w the mean of both angular velocities, found by fixed-point steps. inertia (3, 3)
    about c, and its inverse; isotropic: whether it is the same about all axes. more (6,): a further displacement.
    """
    w0, turn = v[:3], so3.quaternion_exp(h * v[:3] + more[:3])
    spin, change = inertia @ w0, np.zeros(3)
    for _ in range(0 if isotropic else ITERATIONS):
        change = inverse @ _seen_after(so3.quaternion_exp(h * (w0 + 0.5 * change)), spin)
    if not isotropic:
        turn = so3.quaternion_exp(h * (w0 + 0.5 * change) + more[:3])
    if not isotropic or nonzeros(more).any():
        change = inverse @ _seen_after(turn, spin)
    R, turned, w1 = so3.from_quaternion(q[3:]), _composed(q[3:], turn), w0 + change
    speed = v[3:] + cross(w0, c)  # of the centre of mass
    moved = q[:3] + R @ (c + h * speed + more[3:]) - so3.from_quaternion(turned) @ c
    linear = v[3:] + _seen_after(turn, speed) - cross(change, c)
    return np.concatenate([moved, turned]), np.concatenate([w1, linear])
