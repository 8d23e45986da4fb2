"""Second derivatives of the dynamics, contracted with a vector: what iterative optimal control asks for.

The Hessian (3 nv, 3 nv) of δ ↦ wᵀ f(q ⊕ δq, v + δv, a + δa) at δ = 0. In this chart straight lines are motions at
constant velocity, so that with the rates X_k along q ⊕ e_k t its entries are ½ (X_j X_k + X_k X_j) wᵀf: the symmetric
part of the derivative of the gradient. Order of rows and columns: q, v, then a (or tau).
"""

from __future__ import annotations

import numpy as np

from dalembert import algorithms
from dalembert.algorithms.tensors import mirror
from dalembert.graph import jacobian
from dalembert.math import product
from dalembert.model import Model

from ..quantity import Options, Quantity, open_tree
from ..tangent import differentiated, pulled, spread
from .derivatives import forward_derivatives
from .products import acceleration, torque

LARGEST = 40  # degrees of freedom, a humanoid without hands: the code grows with their square


@differentiated
def inverse_blocks(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, *loads: np.ndarray
) -> np.ndarray:
    """Blocks qq, qv, qa, vv (4, nv, nv) of the Hessian of wᵀ tau(q, v, a); va and aa are zero.

    Reverse for the gradient, then forward: along q for all of it, in v for the part that is not linear in v.
    """
    n = model.nv
    slope_q, slope_v, slope_a = pulled(model, torque(model, options, q, v, a, *loads), w, q, v, a)
    along = spread(model, np.concatenate([slope_q, slope_v, slope_a]), q)
    return np.stack([_symmetric(model, along[:n]), along[n : 2 * n].T, along[2 * n :].T, mirror(jacobian(slope_v, v))])


def _symmetric(model: Model, qq: np.ndarray) -> np.ndarray:
    """The symmetric part of X_j X_k wᵀf: only rates along one ball or free joint depend on their order."""
    qq = qq.copy()
    for body in model.bodies:
        if not body.joint.flat:
            own = qq[body.v, body.v]
            qq[body.v, body.v] = 0.5 * (own + own.T)
    return mirror(qq)


def inverse_second(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, *loads: np.ndarray
) -> np.ndarray:
    """The Hessian of wᵀ tau in q, v, a."""
    qq, qv, qa, vv = inverse_blocks(model, options, q, v, a, w, *loads)
    return _hessian(qq, qv, qa, vv)


def forward_second(
    model: Model, options: Options, q: np.ndarray, v: np.ndarray, tau: np.ndarray, w: np.ndarray, *loads: np.ndarray
) -> np.ndarray:
    """The Hessian of wᵀ a in q, v, tau.

    Differentiating f(q, v, a(q, v, tau)) = tau twice: with λ = M⁻¹ w it is −Zᵀ H Z, where H is the Hessian of λᵀ f in
    (q, v, a) and Z = ∂(q, v, a)/∂(q, v, tau).
    """
    a, force = acceleration(model, options, q, v, tau, *loads), algorithms.inverse_mass_product(model, q, w)
    qq, qv, qa, vv = inverse_blocks(model, options, q, v, a, force, *loads)
    slopes = forward_derivatives(model, options, q, v, tau, *loads)
    through_q, through_v, through_tau = (product(qa, slope) for slope in slopes)
    return _hessian(mirror(-(qq + through_q + through_q.T)), -(qv + through_v), -through_tau, -vv)


def _hessian(qq: np.ndarray, qv: np.ndarray, qa: np.ndarray, vv: np.ndarray) -> np.ndarray:
    none = np.zeros_like(qq)
    return np.block([[qq, qv, qa], [qv.T, vv, none], [qa.T, none, none]])


def _too_large(model: Model) -> str | None:
    if model.nv <= LARGEST:
        return None
    return (
        f"robot {model.name!r} has {model.nv} degrees of freedom, expected at most {LARGEST}: lock joints, or take "
        "differences of the products (inverse_dynamics_vjp, forward_dynamics_vjp), which have no limit"
    )


def _square(model: Model, options: Options) -> tuple[int, ...]:
    return 3 * model.nv, 3 * model.nv


SECOND: dict[str, Quantity] = {
    "inverse_dynamics_second": Quantity(("q", "v", "a", "w"), _square, inverse_second, loaded=True, refuses=_too_large),
    "forward_dynamics_second": Quantity(
        ("q", "v", "tau", "w"), _square, forward_second, loaded=True, refuses=lambda m: open_tree(m) or _too_large(m)
    ),
}
