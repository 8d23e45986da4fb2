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

from dalembert import algorithms
from dalembert.algorithms import integrate
from dalembert.algorithms.coupled import MassSolver
from dalembert.algorithms.passive import armature, dissipation
from dalembert.functions.tangent import differentiated, pulled
from dalembert.linear import solve
from dalembert.model import Model

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
    model, n, m = system.model, system.model.nv, system.measured
    d, v = x[:n], x[:n] / h
    z = 0.5 * (e[n:m] + x[n:])
    q_m, q1, t_m = integrate(model, q, 0.5 * d), integrate(model, q, d), t + 0.5 * h
    slope, p = _slopes(model, q_m, v)
    tau = system.torque(t_m, q_m, v, u)
    actions = system.actions(t_m, q_m, v, z, tau)
    still = np.zeros(n)
    weightless = replace(model.without("friction", "damping", "springs"), gravity=np.zeros(3))
    F = system.forces(tau, actions) - dissipation(model, v)
    F = F - algorithms.rnea(weightless, q_m, still, still, system.wrenches(actions))
    c = h * (slope + F)
    rotors = armature(model) * v
    before = rotors + _felt(model, -d, p - rotors - 0.5 * _spread(model, -d, c))
    after = rotors + _felt(model, d, p - rotors + 0.5 * _spread(model, d, c))
    start = algorithms.rnea(weightless, q, still, e[:n])
    v1 = MassSolver(model, q1).solve(after)
    lag = x[n:] - e[n:m] - h * np.concatenate([np.zeros(0), *(a.rate for a in actions)])
    e1 = np.concatenate([v1, x[n:], e[m:] + h * system.powers(q_m, v, tau, actions)])
    return Attempt(np.concatenate([before - start, lag]), q1, e1)


def _felt(model: Model, d: np.ndarray, p: np.ndarray) -> np.ndarray:
    """J(d)ᵀ p (nv,)."""
    return np.concatenate([b.joint.displacement_jacobian(d[b.v]).T @ p[b.v] for b in model.independent])


def _spread(model: Model, d: np.ndarray, c: np.ndarray) -> np.ndarray:
    """J(d/2)⁻ᵀ c (nv,)."""
    return np.concatenate([solve(b.joint.displacement_jacobian(0.5 * d[b.v]).T, c[b.v]) for b in model.independent])
