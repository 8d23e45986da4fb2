"""Second derivatives of the dynamics, contracted with a vector, as iterative optimal control needs them.

The Hessian (3 nv, 3 nv) of δ ↦ wᵀ f(q ⊕ δq, v + δv, a + δa) at δ = 0. In this chart straight lines are motions at
constant velocity, so that with the rates X_k along q ⊕ e_k t its entries are ½ (X_j X_k + X_k X_j) wᵀf: the symmetric
part of the derivative of the gradient. Order of rows and columns: q, v, then a (or tau).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np

from dalembert.compiler.graph import jacobian
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.tensors import mirror
from dalembert.math import product
from dalembert.model import Model

from .derivatives import forward_dynamics_derivatives
from .dynamics import forward_dynamics, inverse_dynamics, open_tree
from .kinds import Configuration, External, Tangent
from .quantity import Keywords, quantity
from .structure import Wrench
from .tangent import differentiated, pulled, spread
from .wrenches import numbers, with_numbers

if TYPE_CHECKING:
    from dalembert.robot import Robot

LARGEST = 40  # degrees of freedom, a humanoid without hands: the code grows with their square


def _too_large(model: Model) -> str | None:
    if model.nv <= LARGEST:
        return None
    return (
        f"robot {model.name!r} has {model.nv} degrees of freedom, expected at most {LARGEST}: lock joints, or take "
        "differences of the products (inverse_dynamics_vjp, forward_dynamics_vjp), which have no limit"
    )


@quantity("3 nv", "3 nv", refuses=_too_large)
def inverse_dynamics_second(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    w: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """Hessian (…, 3 nv, 3 nv) of δ ↦ w·inverse_dynamics(q ⊕ δq, v + δv, a + δa) at 0; order q, v, a."""
    return _hessian(*_blocks(robot, q, v, a, w, external))


@quantity("3 nv", "3 nv", refuses=lambda model: open_tree(model) or _too_large(model))
def forward_dynamics_second(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    tau: Tangent,
    w: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """Hessian (…, 3 nv, 3 nv) of δ ↦ w·forward_dynamics(q ⊕ δq, v + δv, tau + δtau) at 0; order q, v, tau."""
    # Differentiating f(q, v, a(q, v, tau)) = tau twice: with λ = M⁻¹ w it is −Zᵀ H Z, where H is the Hessian of λᵀ f in
    # (q, v, a) and Z = ∂(q, v, a)/∂(q, v, tau).
    a, force = forward_dynamics(robot, q, v, tau, external=external), algorithms.inverse_mass_product(robot.model, q, w)
    qq, qv, qa, vv = _blocks(robot, q, v, a, force, external)
    slopes = forward_dynamics_derivatives(robot, q, v, tau, external=external)
    through_q, through_v, through_tau = (product(qa, slope) for slope in slopes)
    return _hessian(mirror(-(qq + through_q + through_q.T)), -(qv + through_v), -through_tau, -vv)


def _blocks(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, external: Sequence[Wrench]
) -> np.ndarray:
    """Blocks qq, qv, qa, vv (4, nv, nv) of the Hessian of wᵀ tau(q, v, a); va and aa are zero.

    Reverse for the gradient, then forward: along q for all of it, in v for the part that is not linear in v.
    """
    model, n = robot.model, robot.nv

    @differentiated
    def blocks(q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
        tau = inverse_dynamics(robot, q, v, a, external=with_numbers(external, vectors))
        slope_q, slope_v, slope_a = pulled(model, tau, w, q, v, a)
        along = spread(model, np.concatenate([slope_q, slope_v, slope_a]), q)
        qq, qv, qa = _symmetric(model, along[:n]), along[n : 2 * n].T, along[2 * n :].T
        return np.stack([qq, qv, qa, mirror(jacobian(slope_v, v))])

    return blocks(q, v, a, w, *numbers(external))


def _symmetric(model: Model, qq: np.ndarray) -> np.ndarray:
    """The symmetric part of X_j X_k wᵀf: only rates along one ball or free joint depend on their order."""
    qq = qq.copy()
    for body in model.bodies:
        if not body.joint.flat:
            block = qq[body.v, body.v]
            qq[body.v, body.v] = 0.5 * (block + block.T)
    return mirror(qq)


def _hessian(qq: np.ndarray, qv: np.ndarray, qa: np.ndarray, vv: np.ndarray) -> np.ndarray:
    none = np.zeros_like(qq)
    return np.block([[qq, qv, qa], [qv.T, vv, none], [qa.T, none, none]])
