"""Derivatives of the dynamics times vectors, without their matrices: O(n) for one product; q in tangent coordinates.

Inverse dynamics tau = f(q, v, a) is differentiated on the graph, forward for ∂f·x, in reverse for wᵀ∂f. Forward
dynamics is the implicit function: da = M⁻¹ (dtau − ∂f·(dq, dv, 0)), and wᵀ∂a = (−λᵀ∂f/∂q, −λᵀ∂f/∂v, λ) for λ = M⁻¹ w.
External wrenches are part of f and keep their numbers along their axes while q changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from dalembert.dynamics import algorithms

from .derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from .dynamics import forward_dynamics, inverse_dynamics, open_tree
from .kinds import Configuration, External, Tangent
from .quantity import Keywords, quantity
from .tangent import pulled, pushed

if TYPE_CHECKING:
    from dalembert.robot import Robot


@quantity("nv", differentiates=True)
def inverse_dynamics_jvp(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    dq: Tangent,
    dv: Tangent,
    da: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """dtau (…, nv): the rate of `inverse_dynamics` along q ⊕ dq t, v + dv t, a + da t."""
    tau = inverse_dynamics(robot, q, v, a, external=external)
    return pushed(robot.model, tau, q, dq, (v, dv), (a, da))


@quantity("nv", differentiates=True)
def inverse_dynamics_vjp(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    w: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> InverseDynamicsDerivatives:
    """wᵀ ∂tau/∂q, wᵀ ∂tau/∂v, wᵀ ∂tau/∂a, each (…, nv): the gradient of w·tau; `out` is (…, 3, nv)."""
    tau = inverse_dynamics(robot, q, v, a, external=external)
    return InverseDynamicsDerivatives(*pulled(robot.model, tau, w, q, v, a))


@quantity("nv", refuses=open_tree)
def forward_dynamics_jvp(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    tau: Tangent,
    dq: Tangent,
    dv: Tangent,
    dtau: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """da (…, nv): the rate of `forward_dynamics` along q ⊕ dq t, v + dv t, tau + dtau t."""
    a = forward_dynamics(robot, q, v, tau, external=external)
    needed = inverse_dynamics_jvp(robot, q, v, a, dq, dv, np.zeros(robot.nv), external=external)
    return algorithms.inverse_mass_product(robot.model, q, dtau - needed)


@quantity("nv", refuses=open_tree)
def forward_dynamics_vjp(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    tau: Tangent,
    w: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> ForwardDynamicsDerivatives:
    """wᵀ ∂a/∂q, wᵀ ∂a/∂v, wᵀ ∂a/∂tau, each (…, nv): the gradient of w·a; `out` is (…, 3, nv)."""
    a, force = forward_dynamics(robot, q, v, tau, external=external), algorithms.inverse_mass_product(robot.model, q, w)
    dq, dv, _ = inverse_dynamics_vjp(robot, q, v, a, force, external=external)
    return ForwardDynamicsDerivatives(-dq, -dv, force)
