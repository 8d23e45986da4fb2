"""Dynamics through closed loops: accelerations, and the forces of chosen joints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import solve_semidefinite
from dalembert.math import abs as absolute
from dalembert.math import maximum
from dalembert.model import Model

from .constrained_mass import ConstrainedMass
from .constraints import constraints
from .rnea import bias, rnea


class LoopForces(NamedTuple):
    """tau (nv,), multipliers (nc,); what is left over: left (nv,) of the forces, opening (nc,) of the loops' rates;
    scale (2,): the largest force and acceleration."""

    tau: np.ndarray
    multipliers: np.ndarray
    left: np.ndarray
    opening: np.ndarray
    scale: np.ndarray


def loop_dynamics(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a (nv,) and λ (nc,) with M a + h = tau + Jᵀ λ and J a + γ = 0, at q (nq,), v (nv,), tau (nv,)."""
    _, J, drift = constraints(model, q, v)
    return ConstrainedMass(model, q, J).accelerated(tau - bias(model, q, v), -drift)


def loop_inverse_dynamics(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, actuated: Sequence[int]
) -> LoopForces:
    """Forces of the actuated freedoms and of the loops with Sᵀ tau + Jᵀ λ = M a + h; the smallest tau of several.

    With P the projection onto motions that keep the loops closed: P Sᵀ tau = P (M a + h), then λ from what is left.
    """
    _, J, drift = constraints(model, q, v)
    needed = rnea(model, q, v, a)
    S, JJ = np.eye(model.nv)[list(actuated)], J @ J.T
    P = np.eye(model.nv) - J.T @ solve_semidefinite(JJ, J)
    G = P @ S.T
    tau = S.T @ (G.T @ solve_semidefinite(G @ G.T, P @ needed))
    forces = solve_semidefinite(JJ, J @ (needed - tau))
    left, opening = needed - tau - J.T @ forces, J @ a + drift
    return LoopForces(tau, forces, left, opening, np.array([_largest(needed), _largest(a)]))


def _largest(x: np.ndarray) -> Any:
    return reduce(maximum, [absolute(y) for y in x])
