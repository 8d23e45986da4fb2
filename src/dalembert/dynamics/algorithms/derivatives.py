"""Derivatives of inverse and forward dynamics by analytic recursion."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import product
from dalembert.model import Model
from dalembert.spatial import cross_force

from .inverse_mass import InverseMass
from .passive import armature, sliding_friction_slope
from .rnea import bias
from .sweep import carriers, each, sweep

WRITTEN_OUT = (
    24  # freedoms up to which products by blocks, with fewest operations, are faster than one product in a loop
)

Slopes = Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]


def inverse_dynamics_derivatives(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂tau/∂q, ∂tau/∂v, ∂tau/∂a (nv, nv) of tau = rnea(q, v, a).   Carpentier, Mansard 2018; Singh, Russo, Wensing 2022

    q (nq,), v (nv,), a (nv,). ∂/∂q is taken along velocities: column k is the rate of tau along q ⊕ e_k t; ∂tau/∂a = M.

    For a freedom s_i behind s_j (j carries i), with composites of what lies behind i (mass I, Coriolis 2B, wrench F):
    ∂tau_i/∂q_j = s_i·(2B ψ̇_j + I ψ̈_j), ∂tau_j/∂q_i = s_j·(2B ψ̇_i + I ψ̈_i + s_i ×* F),
    ∂tau_i/∂v_j = s_i·(2B s_j + I (ψ̇_j + ṡ_j)), ∂tau_j/∂v_i = s_j·(2B s_i + I (ψ̇_i + ṡ_i)).
    """
    for body in model.bodies:
        if not body.joint.stages:
            raise DalembertError(
                f"inverse_dynamics_derivatives: joint {body.joint.name!r} is {body.joint.kind}, whose directions "
                "change with its own coordinates: differentiate rnea"
            )
    stages = sweep(model, q, v, a)
    dq, dv, M = (np.zeros((model.nv, model.nv), q.dtype) for _ in range(3))
    for stage in stages:
        I, B2 = stage.mass.momentum, stage.coriolis
        moved = each(B2.times, stage.psi) + each(I, stage.ddpsi)
        carried = moved + np.stack([cross_force(s, stage.F) for s in stage.S.T], axis=1)
        faster = each(B2.times, stage.S) + each(I, stage.psi + stage.dS)
        IS, BS = each(I, stage.S), each(B2.transposed_times, stage.S)
        i = stage.v
        for D, forces in ((dq, moved), (dv, faster), (M, IS)):
            D[i, i] = D[i, i] + stage.S.T @ forces
        for other in carriers(stages, stage):
            j = other.v
            inertia = other.S.T @ IS
            for D, forces in ((dq, other.S.T @ carried), (dv, other.S.T @ faster), (M, inertia)):
                D[j, i] = D[j, i] + forces
            dq[i, j] = dq[i, j] + BS.T @ other.psi + IS.T @ other.ddpsi
            dv[i, j] = dv[i, j] + BS.T @ other.S + IS.T @ (other.psi + other.dS)
            M[i, j] = M[i, j] + inertia.T
    dq_passive, dv_passive = passive_derivatives(model, q, v)
    return dq + dq_passive, dv + dv_passive, M + np.diag(armature(model))


def forward_dynamics_derivatives(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    external: Mapping[int, np.ndarray] | None = None,
    load_slope: np.ndarray | float = 0.0,
    inverse: Slopes = inverse_dynamics_derivatives,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂a/∂q, ∂a/∂v, ∂a/∂tau (nv, nv) of forward dynamics: −M⁻¹ ∂tau/∂q, −M⁻¹ ∂tau/∂v and M⁻¹, at its a.

    external as there; load_slope (nv, nv): the derivative in q of the generalised force that balances it. inverse: the
    derivatives of inverse dynamics, as a function of model, q, v, a.
    """
    M = InverseMass(model, q)
    a = M.solve((tau - bias(model, q, v, external))[:, None])[:, 0]
    dq, dv, _ = inverse(model, q, v, a)
    R, Minv = np.concatenate([dq + load_slope, dv], axis=1), M.matrix()
    both = M.solve(-R) if model.nv <= WRITTEN_OUT else product(-Minv, R)
    return both[:, : model.nv], both[:, model.nv :], Minv


def gravity_derivatives(model: Model, q: np.ndarray, inverse: Slopes = inverse_dynamics_derivatives) -> np.ndarray:
    """∂g/∂q (nv, nv) along velocities, of g = gravity(q) at q (nq,), springs included: the stiffness at rest."""
    zero = np.zeros(model.nv)
    return inverse(model, q, zero, zero)[0]


def passive_derivatives(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (nv, nv) in q and v of the forces of damping, friction and springs."""
    dq, dv = (np.zeros((model.nv, model.nv), np.result_type(q, v)) for _ in range(2))
    for body in model.bodies:
        joint, i = body.joint, body.v
        dv[i, i] = dv[i, i] + np.diag(joint.damping + sliding_friction_slope(joint, v[i]))
        dq[i, i] = dq[i, i] + joint.stiffness[:, None] * joint.difference_jacobian(joint.rest, q[body.q])
    return dq, dv
