"""A variational integrator: the action is made stationary step by step, so that the flow is symplectic.

Discrete Lagrangian: h L at the middle of the way from q0 to q1 = q0 ⊕ d, at the velocity d / h (Marsden, West 2001; on
Lie groups Bou-Rabee, Marsden 2009). With J(d) of `displacement_jacobian`, a covector c of the middle is felt

    at q0 as ½ J(−d)ᵀ J(−d/2)⁻ᵀ c,   at q1 as ½ J(d)ᵀ J(d/2)⁻ᵀ c,

and the momentum p = ∂L/∂v as J(−d)ᵀ p and J(d)ᵀ p. With c = h (∂L/∂q + F), F forces without potential:

    M(q0) v0 = J(−d)ᵀ p − at q0 (c),    M(q1) v1 = J(d)ᵀ p + at q1 (c).

The momentum of rotors does not turn with the axes of a ball or free joint: armature · a is all they ask for, and their
part of p goes without J.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms import integrate
from dalembert.dynamics.algorithms.coupled import MassSolver
from dalembert.dynamics.algorithms.passive import armature, dissipation
from dalembert.linear import solve
from dalembert.model import Model
from dalembert.quantities.tangent import differentiated, pulled

from ..system.system import System
from .implicit import Attempt


def _slopes(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """∂L/∂q along velocities and p = ∂L/∂v (2, nv)."""

    @differentiated
    def slopes(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        L = algorithms.kinetic_energy(model, q, v) - algorithms.potential_energy(model, q)
        return np.stack(pulled(model, L, 1.0, q, v))

    return slopes(q, v)


def variational(system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, x: np.ndarray) -> Attempt:
    """A step in the unknowns x = [d, z at the end]. Order 2."""
    model, layout, n = system.model, system.layout, system.model.nv
    d, z1 = layout.velocity(x), layout.states(x)
    v0, z0 = layout.velocity(e), layout.states(e)
    v = d / h
    q_m, q1, t_m = integrate(model, q, 0.5 * d), integrate(model, q, d), t + 0.5 * h
    slope, p = _slopes(model, q_m, v)
    applied = system.applied(t_m, q_m, layout.replaced(e, v, 0.5 * (z0 + z1)), u)
    still = np.zeros(n)
    weightless = replace(model.without("friction", "damping", "springs"), gravity=np.zeros(3))
    F = applied.forces - dissipation(model, v)
    F = F - algorithms.rnea(weightless, q_m, still, still, applied.wrenches)
    c = h * (slope + F)
    rotors = armature(model) * v
    before = rotors + _felt(model, -d, p - rotors - 0.5 * _spread(model, -d, c))
    after = rotors + _felt(model, d, p - rotors + 0.5 * _spread(model, d, c))
    start = algorithms.rnea(weightless, q, still, v0)
    v1 = MassSolver(model, q1).solve(after)
    lag = z1 - z0 - h * system.state_rates(applied)
    e1 = layout.replaced(e, v1, z1, accounts=layout.accounts(e) + h * system.powers(q_m, v, applied))
    return Attempt(np.concatenate([before - start, lag]), q1, e1)


def _felt(model: Model, d: np.ndarray, p: np.ndarray) -> np.ndarray:
    """J(d)ᵀ p (nv,)."""
    return np.concatenate([b.joint.displacement_jacobian(d[b.v]).T @ p[b.v] for b in model.independent])


def _spread(model: Model, d: np.ndarray, c: np.ndarray) -> np.ndarray:
    """J(d/2)⁻ᵀ c (nv,)."""
    return np.concatenate([solve(b.joint.displacement_jacobian(0.5 * d[b.v]).T, c[b.v]) for b in model.independent])
