"""Inverse dynamics by the recursive Newton-Euler algorithm, and the generalised forces that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.model import Model
from dalembert.spatial import Pose

from .kinematics import joint_pose
from .mass import Mass
from .motion import BodyMotion, across_joint, without_rotation
from .passive import armature, passive
from .regroup import regrouped


def rnea(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    external: Mapping[int, np.ndarray] | None = None,
    *,
    gravity: np.ndarray | None = None,
) -> np.ndarray:
    """Inverse dynamics: tau = M(q) a + C(q, v) v + g(q) + passive(q, v) − Σ Jᵢᵀ Fᵢ.   Luh, Walker, Paul 1980; O(n).

    q (nq,), v (nv,), a (nv,); external: body index → wrench [τ; f] (6,) on that body, at its origin, in its axes
    [N·m, N]. gravity (3,) in the world: by default the model's. Returns tau (nv,) [N·m or N].
    """
    X, S, F = body_wrenches(model, q, v, a, external, gravity=gravity)
    F = carried(model, X, F)
    tau = armature(model) * a + passive(model, q, v)
    for body in model.bodies:
        tau[body.v] += S[body.index].T @ F[body.index]
    return tau


def body_wrenches(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    external: Mapping[int, np.ndarray] | None = None,
    *,
    masses: Sequence[Mass] | None = None,
    gravity: np.ndarray | None = None,
) -> tuple[list[Pose], list[np.ndarray], list[np.ndarray]]:
    """The wrenches F (6,) that the bodies need, beside the external ones, to move as (q, v, a) say.

    Returns (X, S, F), each with one entry per body: X_PB, the joint's subspace (6, nv_i), and F at the body's origin,
    in its axes. masses: of the bodies; by default regrouped, so that what F does on the joints is right, but not F
    itself. gravity (3,) in the world: by default the model's.
    """
    external = external or {}
    X, S, motions = body_motions(model, q, v, a, gravity)
    masses = regrouped(model) if masses is None else masses
    F = [
        mass.wrench(motion.a, motion.E) - external.get(i, 0.0)
        for i, (mass, motion) in enumerate(zip(masses, motions, strict=True))
    ]
    return X, S, F


def body_motions(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, gravity: np.ndarray | None = None
) -> tuple[list[Pose], list[np.ndarray], list[BodyMotion]]:
    """X_PB, the joint's subspace S (6, nv_i) and the motion of every body; gravity is an upward acceleration."""
    X, S = [], []
    motions: list[BodyMotion] = []
    world = without_rotation(-(model.gravity if gravity is None else gravity))
    for body in model.bodies:  # root to tips
        joint, q_i, v_i, a_i = body.joint, q[body.q], v[body.v], a[body.v]
        X.append(joint_pose(body, q))
        S.append(joint.subspace(q_i))
        parent = motions[body.parent] if body.parent >= 0 else world
        motions.append(across_joint(parent, X[-1], S[-1] @ v_i, S[-1] @ a_i + joint.bias(q_i, v_i)))
    return X, S, motions


def carried(model: Model, X: Sequence[Pose], F: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Wrenches (6,) of each body and all bodies behind it, from those of single bodies; X: X_PB of the bodies."""
    total = list(F)
    for body in reversed(model.bodies[1:]):  # tips to root
        total[body.parent] = total[body.parent] + X[body.index].force(total[body.index])
    return total


def bias(model: Model, q: np.ndarray, v: np.ndarray, external: Mapping[int, np.ndarray] | None = None) -> np.ndarray:
    """Generalised force (nv,) at zero acceleration: C(q, v) v + g(q) + passive(q, v) − Σ Jᵢᵀ Fᵢ; as `rnea`."""
    return rnea(model, q, v, np.zeros(model.nv), external)


def gravity(model: Model, q: np.ndarray) -> np.ndarray:
    """Generalised force (nv,) that holds the robot still at q (nq,), against gravity and its springs [N·m or N]."""
    return rnea(model, q, np.zeros(model.nv), np.zeros(model.nv))
