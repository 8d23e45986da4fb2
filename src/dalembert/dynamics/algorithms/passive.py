"""Forces of the joints themselves in the equations of motion: rotors, damping, friction and springs.

A field that is zero adds no operation: products with 0 vanish when traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import exp, tanh
from dalembert.model import Joint, Model

from .tensors import gathered


def armature(model: Model) -> np.ndarray:
    """Reflected rotor inertia (nv,) [kg·m² or kg], on the diagonal of the mass matrix."""
    return gathered(model, [body.joint.armature for body in model.bodies])


def passive(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Generalised force (nv,) to overcome damping, friction and springs [N·m or N]."""
    return dissipation(model, v) + spring_force(model, q)


def dissipation(model: Model, v: np.ndarray) -> np.ndarray:
    """damping · v + sliding friction (nv,) [N·m or N]."""
    return gathered(model, [b.joint.damping * v[b.v] + sliding_friction(b.joint, v[b.v]) for b in model.bodies])


def sliding_friction(joint: Joint, v: np.ndarray) -> np.ndarray:
    """Coulomb and Stribeck friction (nv_i,) of a joint at the velocity v (nv_i,), with a smooth sign [N·m or N]."""
    return friction_level(joint, v) * tanh(v / joint.slip_speed)


def sliding_friction_slope(joint: Joint, v: np.ndarray) -> np.ndarray:
    """Derivative (nv_i,) of `sliding_friction` in v."""
    direction = tanh(v / joint.slip_speed)
    slope = friction_level(joint, v) / joint.slip_speed * (1.0 - direction**2)
    if not np.any(joint.stribeck != 0.0):
        return slope
    fading = joint.stribeck * exp(-((v / joint.stribeck_speed) ** 2))
    return slope - 2.0 * v / joint.stribeck_speed**2 * fading * direction


def friction_level(joint: Joint, v: Any) -> Any:
    """Size of friction in sliding at v (nv_i,): friction + stribeck · exp(−(v / stribeck_speed)²) [N·m or N]."""
    if not np.any(joint.stribeck != 0.0):
        return joint.friction
    return joint.friction + joint.stribeck * exp(-((v / joint.stribeck_speed) ** 2))


def spring_force(model: Model, q: np.ndarray) -> np.ndarray:
    """stiffness · difference(rest, q) (nv,): zero at the rest position [N·m or N]."""
    return gathered(model, [b.joint.stiffness * b.joint.difference(b.joint.rest, q[b.q]) for b in model.bodies])


def spring_energy(model: Model, q: np.ndarray) -> Any:
    """½ Σ stiffness · difference(rest, q)² [J]."""
    pulls = [b.joint.difference(b.joint.rest, q[b.q]) for b in model.bodies]
    return 0.5 * (np.concatenate([b.joint.stiffness for b in model.bodies]) @ np.concatenate(pulls) ** 2)
