"""One step of an explicit Runge-Kutta method on the configuration manifold, and of semi-implicit Euler.

Munthe-Kaas 1999: within a step the configuration is q0 ⊕ d, and the displacement d, with rate ḋ = J(d) v, is a vector
that the classical method can integrate. Quaternions stay of unit length, and the order is that of the tableau. MuJoCo's
RK4 displaces free bodies along the axes of the world instead: of order 4 as well, and equal where nothing is free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import displacement_rate, integrate
from dalembert.dynamics.algorithms.free_bodies import drifts, turning
from dalembert.model import Model
from dalembert.spatial import so3
from dalembert.typing import Array, Scalar

from ..system.drift import straightened
from ..system.system import System
from .tableaux import RK4, Tableau, weighted


def runge_kutta(
    system: System, method: Tableau, t: Scalar, h: Scalar, q: Array, e: Array, u: Array
) -> tuple[Array, Array]:
    """(q, e) after one step of size h."""
    slopes = method.stages(system, t, h, q, e, u)
    d = h * weighted(method.b, slopes.d)
    return system.projected(integrate(system.model, q, d), e + h * weighted(method.b, slopes.e), t + h)


def semi_implicit(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """(q, e) after one step of symplectic Euler: new velocities first, then the configuration along them."""
    return _followed(system, t, h, q, e, u, system)


def semi_implicit_damped(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """Like `semi_implicit`, with the damping of joints felt at the end of the step: stable however strong it is.

    (M + h D) Δv = h f, D the damping: it adds h times itself to the rotor inertia.
    """
    bodies = tuple(
        replace(body, joint=body.joint.with_values(armature=single.armature + h * single.damping))
        if np.any((single := body.joint.uncoupled).damping != 0.0)
        else body
        for body in system.model.bodies
    )
    damped = replace(system, model=replace(system.model, bodies=bodies), undamped=system.model)
    return _followed(system, t, h, q, e, u, damped)


def _followed(
    system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, kicking: System
) -> tuple[Array, Array]:
    """The step of `kicking`; the accounts take the powers at the mean velocity, which is what changes the energy."""
    layout = system.layout
    d, after = kicking.kicked(t, h, q, e, u)
    if system.permanent_count:
        q1, end = integrate(system.model, q, d), after
    else:
        q1, v1 = straightened(system.model, q, layout.velocity(e), layout.velocity(after), d, h)
        end = layout.replaced(after, v1)
        after = layout.replaced(after, layout.velocity(after) + h * turning(system.model, layout.velocity(e)))
    if not layout.nw:
        return q1, end
    mean = layout.replaced(e, *(0.5 * (part(e) + part(after)) for part in (layout.velocity, layout.states)))
    if system.soft is None:
        powers = layout.accounts(system.rates(t, q, mean, u))
    else:
        applied = system.applied(t, q, mean, u, soft=system.applied(t, q, e, u).soft)
        powers = system.powers(q, layout.velocity(mean), applied)
    return q1, layout.replaced(end, accounts=layout.accounts(e) + h * powers)


def rk4_in_world_axes(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """(q, e) after one step of the classical method.

    Linear velocities, accelerations and displacements of free bodies are along the axes of the world; rotations are
    displaced on their manifold.
    """
    model, layout = system.model, system.layout
    start = _along_world(model, q, layout.velocity(e))
    displacements: list[Array] = []
    accelerations: list[Array] = []
    slopes: list[Array] = []
    for row, c in zip(RK4.a, RK4.c, strict=True):
        w = start + h * weighted(row, accelerations)
        d = h * weighted(row, displacements) if displacements else np.zeros(model.nv)
        q_stage = _moved(model, q, d) if displacements else q
        v = _along_bodies(model, q_stage, w)
        stage = layout.replaced(e + h * weighted(row, slopes), v)
        slope = system.rates(t + c * h, q_stage, stage, u)
        displacements.append(_displacement_rate(model, d, w) if displacements else w)
        slopes.append(slope)
        accelerations.append(_along_world(model, q_stage, layout.velocity(slope) + turning(model, v)))
    q1 = _moved(model, q, h * weighted(RK4.b, displacements))
    v1 = _along_bodies(model, q1, start + h * weighted(RK4.b, accelerations))
    return system.projected(q1, layout.replaced(e + h * weighted(RK4.b, slopes), v1), t + h)


def _displacement_rate(model: Model, d: Array, w: Array) -> Array:
    """The rate of a displacement d (nv,) at velocities w (nv,)."""
    rate = displacement_rate(model, d, w).astype(object)
    for body in model.bodies:
        if drifts(model, body):
            angular = so3.right_jacobian_inverse(d[body.v][:3]) @ w[body.v][:3]
            rate[body.v] = np.concatenate([angular, w[body.v][3:]])
    return rate


def _along_world(model: Model, q: Array, x: Array) -> Array:
    """x (nv,) with the linear parts of free bodies along the axes of the world."""
    return _turned(model, q, x, lambda R, linear: R @ linear)


def _along_bodies(model: Model, q: Array, x: Array) -> Array:
    """The reverse."""
    return _turned(model, q, x, lambda R, linear: R.T @ linear)


def _turned(model: Model, q: Array, x: Array, turn: Any) -> Array:
    y = x.astype(object)
    for body in model.bodies:
        if drifts(model, body):
            R = so3.from_quaternion(q[body.q][3:])
            y[body.v] = np.concatenate([x[body.v][:3], turn(R, x[body.v][3:])])
    return y


def _moved(model: Model, q: Array, d: Array) -> Array:
    """q displaced by d (nv,), free bodies along the axes of the world."""
    q1 = integrate(model, q, d).astype(object)
    for body in model.bodies:
        if drifts(model, body):
            place, turn = q[body.q], so3.quaternion_exp(d[body.v][:3])
            turned = so3.quaternion_normalize(so3.quaternion_multiply(place[3:], turn))
            q1[body.q] = np.concatenate([place[:3] + d[body.v][3:], turned])
    return q1
