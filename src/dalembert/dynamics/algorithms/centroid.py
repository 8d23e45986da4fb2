"""The robot as one body: momentum about the centre of mass, its matrix and rate, and the inertia of the whole.

Sums over all bodies are the same for regrouped masses, which rest where they are taken from and where they are put.
"""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.spatial import Pose

from .center_of_mass import centroid, first_moment_in_base
from .kinematics import joint_pose, poses
from .regroup import composites, regrouped
from .rnea import body_wrenches, carried
from .tensors import mirror, rotate_symmetric


def centroidal_momentum(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Angular momentum about the centre of mass and linear momentum (6,), in world axes [N·m·s, N·s].

    q (nq,), v (nv,). O(n).
    """
    X = [joint_pose(body, q) for body in model.bodies]
    V: list[np.ndarray] = []
    for body in model.bodies:  # root to tips, in body axes
        V_P = V[body.parent] if body.parent >= 0 else np.zeros(6)
        V.append(X[body.index].inverse_motion(V_P) + body.joint.subspace(q[body.q]) @ v[body.v])
    H = carried(model, X, [mass.momentum(V_i) for mass, V_i in zip(regrouped(model), V, strict=True)])
    return _about_centroid(model, q, X[0].R, H[0])


def _about_centroid(model: Model, q: np.ndarray, R: np.ndarray, F: np.ndarray) -> np.ndarray:
    """A wrench or momentum F (6,) of the base about the centre of mass, along the world's axes.

    The place of the base is left out: far from the origin, a difference of places has lost its last digits.
    """
    return Pose(R, -(R @ centroid(model, *first_moment_in_base(model, q)))).force(F)


def centroidal_momentum_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    """A (6, nv) with centroidal_momentum = A v.   Orin, Goswami 2008; O(n).

    q (nq,). Column k: the bodies behind freedom k, rigid, move with its twist S_k, and the others rest.
    """
    composite, X = composites(model, q), poses(model, q)
    c = centroid(model, composite[0].m, X[0].R @ composite[0].h) + X[0].p
    A = np.zeros((6, model.nv), q.dtype)
    for body, mass, X_WB in zip(model.bodies, composite, X, strict=True):
        X_CB = Pose(X_WB.R, X_WB.p - c)
        for k, S_k in enumerate(body.joint.subspace(q[body.q]).T, body.v.start):
            A[:, k] += X_CB.force(mass.momentum(S_k))
    return A


def centroidal_momentum_rate(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Rate (6,) of the centroidal momentum, in world axes [N·m, N]: A a + Ȧ v.

    q (nq,), v (nv,), a (nv,). By Newton and Euler it is the wrench about the centre of mass of all that acts on the
    robot from outside, weight included. O(n).
    """
    X, _, F = body_wrenches(model, q, v, a, gravity=np.zeros(3))
    return _about_centroid(model, q, X[0].R, carried(model, X, F)[0])


def composite_inertia(model: Model, q: np.ndarray) -> np.ndarray:
    """Spatial inertia (6, 6) of the whole robot, joints locked, about its centre of mass, in world axes.

    q (nq,). [I 0; 0 m·1] with the rotational inertia I (3, 3) [kg·m²] and the mass m [kg].
    """
    m, h, P = composites(model, q)[0]
    c, R = centroid(model, m, h), joint_pose(model.bodies[0], q).R
    P_C = rotate_symmetric(R, mirror(P - np.outer(h, c)))
    zero = np.zeros((3, 3))
    return np.block([[np.trace(P_C) * np.eye(3) - P_C, zero], [zero, m * np.eye(3)]])
