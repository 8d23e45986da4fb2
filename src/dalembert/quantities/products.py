"""Derivatives of the dynamics times vectors, without their matrices: O(n) for one product.

Inverse dynamics tau = f(q, v, a) is differentiated on the graph, forward for ∂f·x, in reverse for wᵀ∂f. Forward
dynamics is the implicit function: da = M⁻¹ (dtau − ∂f·(dq, dv, 0)), and wᵀ∂a = (−λᵀ∂f/∂q, −λᵀ∂f/∂v, λ) for λ = M⁻¹ w.
"""

from __future__ import annotations

import numpy as np

from dalembert import algorithms
from dalembert.model import Model

from .quantity import Options, Quantity, generalized, open_tree
from .tangent import differentiated, pulled, pushed


@differentiated
def inverse_jvp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray, *rates: np.ndarray
) -> np.ndarray:
    """dtau (nv,) for dq, dv, da (nv,)."""
    dq, dv, da = rates
    return pushed(model, algorithms.rnea(model, q, v, a), q, dq, (v, dv), (a, da))


@differentiated
def inverse_vjp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """wᵀ∂tau/∂q, wᵀ∂tau/∂v, wᵀ∂tau/∂a (3, nv)."""
    return np.stack(pulled(model, algorithms.rnea(model, q, v, a), w, q, v, a))


def forward_jvp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, tau: np.ndarray, *rates: np.ndarray
) -> np.ndarray:
    """da (nv,) for dq, dv, dtau (nv,)."""
    dq, dv, dtau = rates
    a = algorithms.aba(model, q, v, tau)
    moved = inverse_jvp(model, options, q, v, a, dq, dv, np.zeros(model.nv))
    return algorithms.inverse_mass_product(model, q, dtau - moved)


def forward_vjp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, tau: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """wᵀ∂a/∂q, wᵀ∂a/∂v, wᵀ∂a/∂tau (3, nv)."""
    a, force = algorithms.aba(model, q, v, tau), algorithms.inverse_mass_product(model, q, w)
    dq, dv, _ = inverse_vjp(model, options, q, v, a, force)
    return np.stack([-dq, -dv, force])


def rows(model: Model) -> tuple[int, ...]:
    return 3, model.nv


PRODUCTS: dict[str, Quantity] = {
    "inverse_dynamics_jvp": Quantity(("q", "v", "a", "dq", "dv", "da"), generalized, inverse_jvp),
    "inverse_dynamics_vjp": Quantity(("q", "v", "a", "w"), rows, inverse_vjp),
    "forward_dynamics_jvp": Quantity(
        ("q", "v", "tau", "dq", "dv", "dtau"), generalized, forward_jvp, refuses=open_tree
    ),
    "forward_dynamics_vjp": Quantity(("q", "v", "tau", "w"), rows, forward_vjp, refuses=open_tree),
}
