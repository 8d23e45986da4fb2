"""Centre of mass of the whole robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model

from .kinematics import joint_pose


def center_of_mass(model: Model, q: np.ndarray) -> np.ndarray:
    """Σ mᵢ cᵢ / Σ mᵢ (3,) in the world [m], for q (nq,)."""
    return centroid(model, *first_moment(model, q))


def centroid(model: Model, m: Any, h: np.ndarray) -> np.ndarray:
    """h / m (3,) [m], from the mass [kg] and the first moment h (3,) [kg·m] of the whole robot."""
    if isinstance(m, float) and m == 0.0:
        raise DalembertError(f"center_of_mass: model {model.name!r} has no mass: give its bodies some")
    return h / m


def total_mass(model: Model) -> Any:
    """Mass of all bodies together, the base included [kg]."""
    return sum(body.inertia.mass for body in model.bodies)


def first_moment(model: Model, q: np.ndarray) -> tuple[Any, np.ndarray]:
    """Mass [kg] and first moment Σ mᵢ cᵢ (3,) about the world's origin, in world axes [kg·m], for q (nq,)."""
    m, h = first_moment_in_base(model, q)
    X = joint_pose(model.bodies[0], q)
    return m, X.R @ h + m * X.p


def first_moment_in_base(model: Model, q: np.ndarray) -> tuple[Any, np.ndarray]:
    """Mass [kg] and first moment Σ mᵢ cᵢ (3,) about the origin of the base, in its axes [kg·m], for q (nq,)."""
    m = [body.inertia.mass for body in model.bodies]
    h = [body.inertia.moment for body in model.bodies]
    for body in reversed(model.bodies[1:]):  # tips to root: h_P = R h + m p
        X, m_i, h_i = joint_pose(body, q), m[body.index], h[body.index]
        m[body.parent] = m[body.parent] + m_i
        h[body.parent] = h[body.parent] + X.R @ h_i + m_i * X.p
    return m[0], h[0]
