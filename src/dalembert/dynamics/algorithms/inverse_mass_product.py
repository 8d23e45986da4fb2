"""The inverse mass matrix times a vector, without making a matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.model import Model

from .forward_dynamics import forward_dynamics


def inverse_mass_product(model: Model, q: np.ndarray, f: np.ndarray) -> np.ndarray:
    """M(q)⁻¹ f (nv,): the acceleration that f causes at rest, where nothing else acts; q (nq,), f (nv,). O(n)."""
    still = replace(model.without("damping", "friction", "springs"), gravity=np.zeros(3))
    return forward_dynamics(still, q, np.zeros(model.nv), f)
