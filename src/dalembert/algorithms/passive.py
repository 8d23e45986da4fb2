"""Forces of the joints themselves in the equations of motion: rotors, damping, friction and springs.

A field that is zero adds no operation: products with 0 vanish when traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import tanh
from dalembert.model import Joint, Model

from .gather import gathered


def armature(model: Model) -> np.ndarray:
    """Reflected rotor inertia (nv,) [kg·m² or kg], on the diagonal of the mass matrix."""
    return gathered(model, [body.joint.armature for body in model.bodies])


def passive(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Generalised force (nv,) to overcome damping, friction and springs [N·m or N]."""
    return dissipation(model, v) + spring_force(model, q)


def dissipation(model: Model, v: np.ndarray) -> np.ndarray:
    """damping · v + friction · tanh(v / slip_speed) (nv,): Coulomb friction with a smooth sign [N·m or N]."""
    return gathered(model, [_dissipation(body.joint, v[body.v]) for body in model.bodies])


def _dissipation(joint: Joint, v: np.ndarray) -> np.ndarray:
    return joint.damping * v + joint.friction * tanh(v / joint.slip_speed)


def spring_force(model: Model, q: np.ndarray) -> np.ndarray:
    """stiffness · difference(rest, q) (nv,): zero at the rest position [N·m or N]."""
    return gathered(model, [b.joint.stiffness * b.joint.difference(b.joint.rest, q[b.q]) for b in model.bodies])


def spring_energy(model: Model, q: np.ndarray) -> Any:
    """½ Σ stiffness · difference(rest, q)² [J]."""
    pulls = [b.joint.difference(b.joint.rest, q[b.q]) for b in model.bodies]
    return 0.5 * (np.concatenate([b.joint.stiffness for b in model.bodies]) @ np.concatenate(pulls) ** 2)
