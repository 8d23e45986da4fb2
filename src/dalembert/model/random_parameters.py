"""Random inertial parameters of possible bodies, near those of a model."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial.pseudo_inertia import from_pseudo_inertia

from .model import Model


def random_parameters(
    model: Model, rng: np.random.Generator, n: int, mass: float = 0.1, com: float = 0.0, shape: float = 0.0
) -> np.ndarray:
    """n sets (n, 10 nb) of inertial parameters, possible whenever those of the model are.

    Each body's density is stretched and shifted in space, r → (1 + E) r + t about its centre of mass, and scaled. Its
    second moments [Σ h; hᵀ m] become A [Σ h; hᵀ m] Aᵀ times a factor, so that they stay those of a density.
    mass: its logarithm is uniform within ± this. com: each coordinate of t is uniform within ± this [m]. shape: each
    entry of E is uniform within ± this.
    """
    for name, value in (("mass", mass), ("com", com), ("shape", shape)):
        if not 0.0 <= value < np.inf:
            raise DalembertError(f"random_parameters: {name} is {value!r}, expected a number ≥ 0")
    sets = np.empty((n, len(model.bodies), 10))
    for i, body in enumerate(model.bodies):
        moments = _second_moments(body.inertia.parameters())
        centre = np.asarray(body.inertia.com, float) if body.inertia.mass else np.zeros(3)
        for k in range(n):
            A = np.eye(4)
            A[:3, :3] += shape * rng.uniform(-1.0, 1.0, (3, 3))
            A[:3, 3] = centre - A[:3, :3] @ centre + com * rng.uniform(-1.0, 1.0, 3)
            factor = np.exp(mass * rng.uniform(-1.0, 1.0))
            sets[k, i] = from_pseudo_inertia(factor * (A @ moments @ A.T))
    return sets.reshape(n, -1)


def _second_moments(pi: np.ndarray) -> np.ndarray:
    """[Σ h; hᵀ m] (4, 4) with Σ = ∫ r rᵀ dm = ½ tr(I) 1 − I."""
    m, hx, hy, hz, xx, yy, zz, xy, xz, yz = pi
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    h = np.array([hx, hy, hz])
    moments = np.empty((4, 4))
    moments[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
    moments[:3, 3] = moments[3, :3] = h
    moments[3, 3] = m
    return moments
