"""Kinetic and potential energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Model

from .center_of_mass import first_moment
from .kinematics import joint_pose
from .passive import armature, spring_energy
from .regroup import regrouped


def kinetic_energy(model: Model, q: np.ndarray, v: np.ndarray) -> Any:
    """½ vᵀ M(q) v = ½ Σ Vᵢᵀ Iᵢ Vᵢ + ½ Σ armature · v² [J], for q (nq,), v (nv,)."""
    energy = 0.5 * (armature(model) @ (v * v))
    V: list[np.ndarray] = []
    for body, mass in zip(model.bodies, regrouped(model), strict=True):  # root to tips, in body axes
        V_P = V[body.parent] if body.parent >= 0 else np.zeros(6)
        V.append(joint_pose(body, q).inverse_motion(V_P) + body.joint.subspace(q[body.q]) @ v[body.v])
        energy = energy + 0.5 * (V[-1] @ mass.momentum(V[-1]))
    return energy


def potential_energy(model: Model, q: np.ndarray) -> Any:
    """−Σ mᵢ gᵀ cᵢ + ½ Σ stiffness · difference(rest, q)² [J], for q (nq,); zero height is the world's origin."""
    _, h = first_moment(model, q)
    return spring_energy(model, q) - model.gravity @ h


def energy(model: Model, q: np.ndarray, v: np.ndarray) -> Any:
    """Kinetic plus potential energy [J], for q (nq,), v (nv,)."""
    return kinetic_energy(model, q, v) + potential_energy(model, q)
