"""One step of an explicit Runge-Kutta method on the configuration manifold, and of semi-implicit Euler.

Munthe-Kaas 1999: within a step the configuration is q0 ⊕ d, and the displacement d, with rate ḋ = J(d) v, is a vector
that the classical method can integrate. Quaternions stay of unit length, and the order is that of the tableau.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.dynamics.algorithms.free_bodies import turning

from ..system.drift import straightened
from ..system.system import System
from .tableaux import Tableau, weighted


def runge_kutta(
    system: System, method: Tableau, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of size h."""
    slopes = method.stages(system, t, h, q, e, u)
    d = h * weighted(method.b, slopes.d)
    return system.projected(integrate(system.model, q, d), e + h * weighted(method.b, slopes.e))


def semi_implicit(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of symplectic Euler: new velocities first, then the configuration along them."""
    return _followed(system, t, h, q, e, u, system)


def semi_implicit_damped(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
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
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, kicking: System
) -> tuple[np.ndarray, np.ndarray]:
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
