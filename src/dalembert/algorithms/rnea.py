"""Inverse dynamics by the recursive Newton-Euler algorithm, and the generalised forces that follow from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.model import Model
from dalembert.spatial import Pose

from .gather import gathered
from .kinematics import joint_pose
from .motion import Motion, across_joint, without_rotation
from .passive import armature, passive
from .regroup import regrouped


def rnea(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> np.ndarray:
    """Inverse dynamics: tau = M(q) a + C(q, v) v + g(q) + passive(q, v) − Σ Jᵢᵀ Fᵢ.   Luh, Walker, Paul 1980; O(n).

    q (nq,), v (nv,), a (nv,); external: body index → wrench [τ; f] (6,) on that body, at its origin, in its axes
    [N·m, N]. Returns tau (nv,) [N·m or N].
    """
    X, S, F = body_wrenches(model, q, v, a, external)
    tau = [np.empty(0)] * len(model.bodies)
    for body in reversed(model.bodies):  # tips to root: a joint carries its body and all bodies behind it
        i, parent = body.index, body.parent
        tau[i] = S[i].T @ F[i]
        if parent >= 0:
            F[parent] = F[parent] + X[i].force(F[i])
    return gathered(model, tau) + armature(model) * a + passive(model, q, v)


def body_wrenches(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> tuple[list[Pose], list[np.ndarray], list[np.ndarray]]:
    """The wrenches F (6,) that the bodies need, beside the external ones, to move as (q, v, a) say.

    Returns (X, S, F), each with one entry per body: X_PB, the joint's subspace (6, nv_i), and F at the body's origin,
    in its axes. Gravity is an upward acceleration of the world. Masses are regrouped, so that what F does on the
    joints is right, but not F itself.
    """
    external = external or {}
    X, S, F = [], [], []
    motions: list[Motion] = []
    world = without_rotation(-model.gravity)
    for body, mass in zip(model.bodies, regrouped(model), strict=True):  # root to tips: motion
        joint, q_i, v_i, a_i = body.joint, q[body.q], v[body.v], a[body.v]
        X.append(joint_pose(body, q))
        S.append(joint.subspace(q_i))
        parent = motions[body.parent] if body.parent >= 0 else world
        motions.append(across_joint(parent, X[-1], S[-1] @ v_i, S[-1] @ a_i + joint.bias(q_i, v_i)))
        F.append(mass.wrench(motions[-1].a, motions[-1].E) - external.get(body.index, 0.0))
    return X, S, F


def bias(model: Model, q: np.ndarray, v: np.ndarray, external: Mapping[int, np.ndarray] | None = None) -> np.ndarray:
    """Generalised force (nv,) at zero acceleration: C(q, v) v + g(q) + passive(q, v) − Σ Jᵢᵀ Fᵢ; as `rnea`."""
    return rnea(model, q, v, np.zeros(model.nv), external)


def gravity(model: Model, q: np.ndarray) -> np.ndarray:
    """Generalised force (nv,) that holds the robot still at q (nq,), against gravity and its springs [N·m or N]."""
    return rnea(model, q, np.zeros(model.nv), np.zeros(model.nv))
