"""Dynamics through closed loops: accelerations, and the forces of chosen joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import solve_semidefinite
from dalembert.math import abs as absolute
from dalembert.math import maximum
from dalembert.model import Closure, Frame, JointEquation, Model
from dalembert.spatial import cross

from .closing import rows_repeat
from .constrained_mass import ConstrainedMass
from .constraints import closure_pose, constraints
from .inverse_mass import inverse_mass_matrix
from .rnea import bias, rnea


class LoopSolution(NamedTuple):
    """tau (nv,), multipliers (nc,); what is left over: left (nv,) of the forces, opening (nc,) of the loops' rates;
    scale (2,): the largest force and acceleration."""

    tau: np.ndarray
    multipliers: np.ndarray
    left: np.ndarray
    opening: np.ndarray
    scale: np.ndarray


def loop_dynamics(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    external: Mapping[int, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """a (nv,) and λ (nc,) with M a + h = tau + Jᵀ λ and J a + γ = 0, at q (nq,), v (nv,), tau (nv,)."""
    _, J, drift = constraints(model, q, v)
    mass = ConstrainedMass(model, q, J, repeated=rows_repeat(model))
    return mass.accelerated(tau - bias(model, q, v, external), -drift)


def loop_inverse_dynamics(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    actuated: Sequence[int],
    external: Mapping[int, np.ndarray] | None = None,
) -> LoopSolution:
    """Forces of the actuated freedoms and of the loops with Sᵀ tau + Jᵀ λ = M a + h; the smallest tau of several.

    With P the projection onto motions that keep the loops closed: P Sᵀ tau = P (M a + h), then λ from what is left.
    """
    _, J, drift = constraints(model, q, v)
    needed = rnea(model, q, v, a, external)
    S = np.eye(model.nv)[:, list(actuated)]
    efforts, forces = shared_efforts(J, S, needed)
    tau = S @ efforts
    left, opening = needed - tau - J.T @ forces, J @ a + drift
    return LoopSolution(tau, forces, left, opening, np.array([_largest(needed), _largest(a)]))


def shared_efforts(J: np.ndarray, S: np.ndarray, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u (nu,), the smallest of several, and λ (nc,) that come nearest to S u + Jᵀ λ = needed (nv,)."""
    JJ = J @ J.T
    P = np.eye(len(needed)) - J.T @ solve_semidefinite(JJ, J)
    G = P @ S
    efforts = G.T @ solve_semidefinite(G @ G.T, P @ needed)
    return efforts, solve_semidefinite(JJ, J @ (needed - S @ efforts))


def closure_wrenches(model: Model, q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """[τ; f] (nk, 6) of each closure on the body of its frame b, at b's origin, along the axes of its frame a.

    multipliers (nc,) as of `loop_dynamics`. The body of frame a takes the opposite force at the same point. Equations
    between joint coordinates act through the joints themselves: their rows are zero.
    """
    rows, begin = [], 0
    for closure in model.closures:
        part = multipliers[begin : begin + closure.count]
        begin += closure.count
        rows.append(np.zeros(6) if isinstance(closure, JointEquation) else _wrench(model, closure, q, part))
    return np.array(rows)


def _wrench(model: Model, closure: Closure, q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """By power: λᵀ φ̇ = W · V for every motion V of frame b as seen from a."""
    X = closure_pose(model, closure, q)
    return np.array([multipliers @ closure.rate(X, V) for V in np.eye(6)])


def closure_loads(
    model: Model, q: np.ndarray, multipliers: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> dict[int, np.ndarray]:
    """Body index → wrench (6,) at its origin, in its axes: of closures on both their bodies, and external ones."""
    total = dict(external or {})
    for closure, W in zip(model.closures, closure_wrenches(model, q, multipliers), strict=True):
        if isinstance(closure, JointEquation):
            continue
        X, moment, force = closure_pose(model, closure, q), W[:3], W[3:]
        sides = (
            (closure.b, X.R.T @ moment, X.R.T @ force),
            (closure.a, -moment - cross(X.p, force), -force),
        )
        for frame, turning, push in sides:
            if frame.body >= 0:
                wrench = _on_body(frame, turning, push)
                total[frame.body] = total[frame.body] + wrench if frame.body in total else wrench
    return total


def _on_body(frame: Frame, moment: np.ndarray, force: np.ndarray) -> np.ndarray:
    """A wrench at a frame's origin and along its axes, at the origin and along the axes of its body."""
    R, p = frame.placement.R, frame.placement.p
    turned = R @ force
    return np.concatenate([R @ moment + cross(p, turned), turned])


def mobility(model: Model, q: np.ndarray) -> np.ndarray:
    """Acceleration per force (nv, nv): M⁻¹ less the part that closed loops block, so that J_loops @ mobility = 0."""
    inverse = inverse_mass_matrix(model, q)
    if not model.closures:
        return inverse
    J = constraints(model, q, np.zeros(model.nv)).J
    Y = inverse @ J.T
    return inverse - Y @ solve_semidefinite(J @ Y, Y.T)


def loop_drift(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The acceleration (nv,) that closed loops alone enforce at speed v: J a + γ = 0 with no other force; else 0."""
    if not model.closures:
        return np.zeros(model.nv)
    _, J, drift = constraints(model, q, v)
    Y = inverse_mass_matrix(model, q) @ J.T
    return -(Y @ solve_semidefinite(J @ Y, drift))


def _largest(x: np.ndarray) -> Any:
    return reduce(maximum, [absolute(y) for y in x])
