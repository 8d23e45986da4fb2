"""Regressors: quantities linear in the inertial parameters, written as a matrix times the parameters.

The parameters π (10 nb,) are those of `Inertia.parameters`, body after body. Friction, damping, springs and rotors are
no part of them.
"""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.spatial import cross, so3

from .kinematics import joint_pose, poses
from .motion import BodyMotion
from .rnea import body_motions
from .sweep import each

COUNT = 10  # inertial parameters of a body


def torque_regressor(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Y (nv, 10 nb) with tau = Y π for bare joints.   Atkeson, An, Hollerbach 1986; O(n d).

    q (nq,), v (nv,), a (nv,). Of body j and a freedom s that carries it: sᵀ W_j, where W_j π_j is the wrench that the
    body needs. Bodies that a freedom does not carry have zeros in its row.
    """
    _, S, motions = body_motions(model, q, v, a)
    return _carried_rows(model, q, S, [_wrench_map(motion) for motion in motions])


def momentum_regressor(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Y (nv, 10 nb) with M v = Y π: the generalised momentum of bare joints; q (nq,), v (nv,)."""
    S = [body.joint.subspace(q[body.q]) for body in model.bodies]
    return _carried_rows(model, q, S, [_momentum_map(V) for V in _twists(model, q, v)])


def energy_regressor(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """y (10 nb,) with kinetic plus potential energy = y · π, without springs and rotors; q (nq,), v (nv,)."""
    rows = []
    for V, X in zip(_twists(model, q, v), poses(model, q), strict=True):
        w, u, g = V[:3], V[3:], X.R.T @ model.gravity
        x, y, z = w
        squares = [0.5 * x * x, 0.5 * y * y, 0.5 * z * z, x * y, x * z, y * z]
        rows += [0.5 * (u @ u) - model.gravity @ X.p, *(cross(u, w) - g), *squares]
    return np.array(rows)


def _carried_rows(model: Model, q: np.ndarray, S: list[np.ndarray], maps: list[np.ndarray]) -> np.ndarray:
    """Sᵀ W_j for every body j and the freedoms S that carry it; W (6, 10) in body axes."""
    Y = np.zeros((model.nv, COUNT * len(model.bodies)), np.result_type(q, *maps))
    carriers: list[list[tuple[slice, np.ndarray]]] = []  # per body: the freedoms as twists of it, in its axes
    for body, W in zip(model.bodies, maps, strict=True):
        X = joint_pose(body, q)
        before = carriers[body.parent] if body.parent >= 0 else []
        here = [(at, each(X.inverse_motion, twists)) for at, twists in before]
        carriers.append([*here, (body.v, S[body.index])] if body.joint.nv else here)
        columns = slice(COUNT * body.index, COUNT * (body.index + 1))
        for at, twists in carriers[-1]:
            Y[at, columns] += twists.T @ W
    return Y


def _twists(model: Model, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Twists (6,) of the bodies, in their axes."""
    V: list[np.ndarray] = []
    for body in model.bodies:
        V_P = V[body.parent] if body.parent >= 0 else np.zeros(6)
        V.append(joint_pose(body, q).inverse_motion(V_P) + body.joint.subspace(q[body.q]) @ v[body.v])
    return V


def _wrench_map(motion: BodyMotion) -> np.ndarray:
    """W (6, 10): W π is the wrench that moves a body so, at its origin: [h × a + I α + ω × I ω; m a + E h]."""
    x, y, z = motion.w
    dx, dy, dz = motion.alpha
    E, xy, xz, yz = motion.E, x * y, x * z, y * z
    turning = np.array(
        [
            [dx, -yz, yz, -E[2, 0], E[1, 0], E[1, 1] - E[2, 2]],
            [xz, dy, -xz, E[2, 1], E[2, 2] - E[0, 0], -E[0, 1]],
            [-xy, xy, dz, E[0, 0] - E[1, 1], -E[1, 2], E[0, 2]],
        ]
    )
    return _map(motion.a, E, turning)


def _momentum_map(V: np.ndarray) -> np.ndarray:
    """W (6, 10): W π is the momentum of a body with the twist V: [h × v + I ω; m v + ω × h]."""
    x, y, z = V[:3]
    turning = np.array([[x, 0.0, 0.0, y, z, 0.0], [0.0, y, 0.0, x, 0.0, z], [0.0, 0.0, z, 0.0, x, y]])
    return _map(V[3:], so3.skew(V[:3]), turning)


def _map(a: np.ndarray, E: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """[0 −[a]× turning; a E 0]: on the mass, the first moment, the six of the rotational inertia."""
    return np.block([[np.zeros((3, 1)), -so3.skew(a), turning], [np.reshape(a, (3, 1)), E, np.zeros((3, 6))]])
