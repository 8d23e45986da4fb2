"""Hamilton's form of the dynamics: momenta p = M v instead of velocities.

H(q, p) = ½ pᵀ M⁻¹ p + U(q), q̇ = ∂H/∂p, ṗ = −∂H/∂q + tau. A ball or free joint has velocities in body axes, which turn
with it: there ṗ has the further term −[v, p] of Euler's equations, as in Poincaré's form. With C of `coriolis_matrix`,
for which Ṁ = C + Cᵀ, all of it is ṗ = tau + Cᵀ v − g − friction, for every joint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.passive import dissipation
from dalembert.math import abs as absolute
from dalembert.math import where
from dalembert.typing import Scalar

from .derivatives import coriolis_matrix
from .dynamics import gravity, mass_matrix, open_tree
from .kinds import Configuration, Tangent
from .quantity import Keywords, quantity
from .tangent import differentiated, pulled

if TYPE_CHECKING:
    from dalembert.robot import Robot

STILL = 1e-9  # [rad/s or m/s]: below it the slope of friction is that at rest


class HamiltonRates(NamedTuple):
    """Velocity v = ∂H/∂p (…, nv) and the rate of the momentum (…, nv)."""

    v: np.ndarray
    p_rate: np.ndarray


class HamiltonianDerivatives(NamedTuple):
    """∂H/∂q along velocities, with p held, and ∂H/∂p, each (…, nv)."""

    dq: np.ndarray
    dp: np.ndarray


class PortHamiltonian(NamedTuple):
    """ẋ = (J − R) ∇H + B u, y = Bᵀ ∇H in x = (q, p), q along velocities: B u = (0, tau), so that y = v.

    gradient (…, 2nv): ∇H = (∂H/∂q, v). structure (…, 2nv, 2nv): J, skew. dissipation
    (…, 2nv, 2nv): R, symmetric and positive semidefinite, of damping and friction. So dH/dt = vᵀ tau − ∇Hᵀ R ∇H.
    """

    gradient: np.ndarray
    structure: np.ndarray
    dissipation: np.ndarray


@quantity("nv")
def generalized_momentum(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> np.ndarray:
    """p = M v (…, nv): generalised momentum [N·m·s, N·s]."""
    return mass_matrix(robot, q) @ v


@quantity(refuses=open_tree)
def hamiltonian(robot: Robot, q: Configuration, p: Tangent, **keywords: Unpack[Keywords]) -> Scalar:
    """H = ½ pᵀ M⁻¹ p + U(q) (…) [J], of q (…, nq) and the momentum p (…, nv)."""
    model = robot.model
    return 0.5 * (p @ algorithms.inverse_mass_product(model, q, p)) + algorithms.potential_energy(model, q)


@quantity("nv", refuses=open_tree, differentiates=True)
def hamiltonian_derivatives(
    robot: Robot, q: Configuration, p: Tangent, **keywords: Unpack[Keywords]
) -> HamiltonianDerivatives:
    """∂H/∂q along velocities, column k along q ⊕ e_k t with p held, and ∂H/∂p = v."""
    model = robot.model

    @differentiated
    def slopes(q: np.ndarray, p: np.ndarray) -> np.ndarray:
        H = 0.5 * (p @ algorithms.inverse_mass_product(model, q, p)) + algorithms.potential_energy(model, q)
        return np.stack(pulled(model, H, 1.0, q, p))

    dq, dp = slopes(q, p)
    return HamiltonianDerivatives(dq, dp)


@quantity("nv", refuses=open_tree)
def hamilton_equations(
    robot: Robot, q: Configuration, p: Tangent, tau: Tangent, **keywords: Unpack[Keywords]
) -> HamiltonRates:
    """v = ∂H/∂p and ṗ = −∂H/∂q + tau (…, nv), of q (…, nq), p and tau (…, nv); friction and damping included."""
    v = algorithms.inverse_mass_product(robot.model, q, p)
    rate = tau + coriolis_matrix(robot, q, v).T @ v - gravity(robot, q) - dissipation(robot.model, v)
    return HamiltonRates(v, rate)


@quantity(
    fields={"gradient": ("2 nv",), "structure": ("2 nv", "2 nv"), "dissipation": ("2 nv", "2 nv")},
    refuses=open_tree,
    differentiates=True,
)
def port_hamiltonian(robot: Robot, q: Configuration, p: Tangent, **keywords: Unpack[Keywords]) -> PortHamiltonian:
    """∇H, J and R of the port-Hamiltonian form; see `PortHamiltonian`.

    Where motors drive some joints only, B has their columns of (0, 1), and y their velocities.
    """
    model, n = robot.model, robot.nv
    slopes = hamiltonian_derivatives(robot, q, p)
    v, one = slopes.dp, np.eye(n)
    J, R = np.zeros((2 * n, 2 * n), q.dtype), np.zeros((2 * n, 2 * n), q.dtype)
    J[:n, n:], J[n:, :n] = one, -one
    for body in model.independent:
        if not body.joint.flat:
            at = slice(n + body.v.start, n + body.v.stop)
            for j, e in enumerate(np.eye(body.joint.nv)):  # column k of K(e_j) is the bracket [e_k, e_j]
                J[at, n + body.v.start + j] = -(p[body.v] @ body.joint.displacement_rate(e))
    moving = np.array([where(absolute(x) > STILL, x, STILL) for x in v])
    R[range(n, 2 * n), range(n, 2 * n)] = dissipation(model, moving) / moving
    return PortHamiltonian(np.concatenate([slopes.dq, v]), J, R)
