"""Derivatives of the dynamics times vectors, without their matrices: O(n) for one product.

Inverse dynamics tau = f(q, v, a) is differentiated on the graph, forward for ∂f·x, in reverse for wᵀ∂f. Forward
dynamics is the implicit function: da = M⁻¹ (dtau − ∂f·(dq, dv, 0)), and wᵀ∂a = (−λᵀ∂f/∂q, −λᵀ∂f/∂v, λ) for λ = M⁻¹ w.
External wrenches are part of f and keep their numbers along their axes.
"""

from __future__ import annotations

import numpy as np

from dalembert import algorithms
from dalembert.model import Model

from ..quantity import Options, Quantity, generalized, loaded, open_tree
from ..tangent import differentiated, pulled, pushed

torque, acceleration = loaded(algorithms.rnea), loaded(algorithms.forward_dynamics)


@differentiated
def inverse_jvp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray, *rest: np.ndarray
) -> np.ndarray:
    """dtau (nv,) for dq, dv, da (nv,), then the numbers of external wrenches."""
    dq, dv, da, *loads = rest
    return pushed(model, torque(model, options, q, v, a, *loads), q, dq, (v, dv), (a, da))


@differentiated
def inverse_vjp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, *loads: np.ndarray
) -> np.ndarray:
    """wᵀ∂tau/∂q, wᵀ∂tau/∂v, wᵀ∂tau/∂a (3, nv)."""
    return np.stack(pulled(model, torque(model, options, q, v, a, *loads), w, q, v, a))


def forward_jvp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, tau: np.ndarray, *rest: np.ndarray
) -> np.ndarray:
    """da (nv,) for dq, dv, dtau (nv,), then the numbers of external wrenches."""
    dq, dv, dtau, *loads = rest
    a = acceleration(model, options, q, v, tau, *loads)
    moved = inverse_jvp(model, options, q, v, a, dq, dv, np.zeros(model.nv), *loads)
    return algorithms.inverse_mass_product(model, q, dtau - moved)


def forward_vjp(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, tau: np.ndarray, w: np.ndarray, *loads: np.ndarray
) -> np.ndarray:
    """wᵀ∂a/∂q, wᵀ∂a/∂v, wᵀ∂a/∂tau (3, nv)."""
    a, force = acceleration(model, options, q, v, tau, *loads), algorithms.inverse_mass_product(model, q, w)
    dq, dv, _ = inverse_vjp(model, options, q, v, a, force, *loads)
    return np.stack([-dq, -dv, force])


def rows(model: Model, options: Options) -> tuple[int, ...]:
    return 3, model.nv


PRODUCTS: dict[str, Quantity] = {
    "inverse_dynamics_jvp": Quantity(("q", "v", "a", "dq", "dv", "da"), generalized, inverse_jvp, loaded=True),
    "inverse_dynamics_vjp": Quantity(("q", "v", "a", "w"), rows, inverse_vjp, loaded=True),
    "forward_dynamics_jvp": Quantity(
        ("q", "v", "tau", "dq", "dv", "dtau"), generalized, forward_jvp, loaded=True, refuses=open_tree
    ),
    "forward_dynamics_vjp": Quantity(("q", "v", "tau", "w"), rows, forward_vjp, loaded=True, refuses=open_tree),
}
