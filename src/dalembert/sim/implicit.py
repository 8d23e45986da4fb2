"""Implicit methods. A pass of their loop is one Newton iteration; the step is taken when the iteration has settled.

The residual R of a step is an expression of the unknowns x, and ∂R/∂x its derivative on the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.algorithms import integrate
from dalembert.graph import Scalar, jacobian, substitute
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, where

from .linear import solve
from .program import Program
from .system import System

SETTLED = 1e-9  # relative size of a Newton step after which the next one is below round-off
ITERATIONS = 25  # after which a step has failed
TOGETHER = 4  # of states that are solved in lanes: the last one confirms that it has settled


class Attempt(NamedTuple):
    """Of unknowns x: the residual R (nx,), where (q, e) they lead if R is 0, and a guess of the next unknowns."""

    residual: np.ndarray
    q: np.ndarray
    e: np.ndarray
    ahead: np.ndarray


class Clock(NamedTuple):
    """Steps taken, Newton iterations within this step, the size of the last one, whether the step was given up."""

    steps: Any = 0.0
    iterations: Any = 0.0
    change: Any = 0.0
    failed: Any = 0.0


class Timing(NamedTuple):
    """Begin [s], step [s], steps to take."""

    t: Any
    h: Any
    steps: Any


Residual = Callable[..., Attempt]  # (system, t, h, q, e, u, x)


def midpoint(system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, x: np.ndarray) -> Attempt:
    """Implicit midpoint in x = [v, z] at the end: forces balance halfway along q ⊕ h v_mean. Symmetric, order 2."""
    n, m = system.model.nv, system.measured
    mean = 0.5 * (e[:m] + x)
    v, z = mean[:n], mean[n:]
    q_m, t_m = integrate(system.model, q, 0.5 * h * v), t + 0.5 * h
    tau = system.torque(t_m, q_m, v, u)
    actions = system.actions(t_m, q_m, v, z, tau)
    forces, wrenches = system.forces(tau, actions), system.wrenches(actions)
    missing = system.residual(q_m, v, (x[:n] - e[:n]) / h, forces, wrenches)
    lag = x[n:] - e[n:m] - h * np.concatenate([np.zeros(0), *(a.rate for a in actions)])
    e1 = np.concatenate([x, e[m:] + h * system.powers(q_m, v, tau, actions)])
    return Attempt(np.concatenate([h * missing, lag]), integrate(system.model, q, h * v), e1, 2.0 * x - e[:m])


def newton(
    system: System, method: Residual, q: Any, e: Any, x: Any, clock: Clock, timing: Timing, u: Any
) -> dict[str, Any]:
    """One iteration, and the step if it was the last one needed."""
    t = timing.t + clock.steps * timing.h
    active = logical_and(clock.steps < timing.steps - 0.5, clock.failed < 0.5)
    made = method(system, t, timing.h, q, e, u, x)
    change = -solve(jacobian(made.residual, x), made.residual)
    improved = x + change
    size = _size(change, improved)
    settled = logical_and(active, size <= SETTLED)
    values = dict(zip(x, improved, strict=True))
    q1, e1, guess = (substitute(y, values) for y in made[1:])
    failed = logical_and(active, ~(clock.iterations < ITERATIONS) | ~(size < 1e100))
    new = Clock(
        where(settled, clock.steps + 1.0, clock.steps),
        where(settled, 0.0, where(active, clock.iterations + 1.0, clock.iterations)),
        where(active, size, clock.change),
        where(logical_and(failed, ~settled), 1.0, clock.failed),
    )
    return {
        "q_next": where(settled, q1, q),
        "e_next": where(settled, e1, e),
        "x_next": where(settled, guess, where(active, improved, x)),
        "clock_next": np.array(new),
    }


def _size(change: np.ndarray, x: np.ndarray) -> Any:
    """How large a Newton step is beside the unknowns."""
    return reduce(maximum, [absolute(c) / (absolute(y) + 1e-3) for c, y in zip(change, x, strict=True)])


def program(system: System, method: Residual, identity: str | None) -> Program:
    """The loop of Newton iterations: carried q, e, guess x and clock."""
    model = system.model

    def compute(q: Any, e: Any, x: Any, clock: Any, timing: Any, u: Any) -> dict[str, Any]:
        return newton(system, method, q, e, x, Clock(*clock), Timing(*timing), u)

    m = system.measured
    shapes = {"q_next": (model.nq,), "e_next": (system.ne,), "x_next": (m,), "clock_next": (4,)}
    return Program(
        f"implicit {method.__name__}",
        identity,
        {"q": model.nq, "e": system.ne, "x": m, "clock": 4, "timing": 3, "u": system.nu},
        shapes,
        compute,
        carry={"q_next": "q", "e_next": "e", "x_next": "x", "clock_next": "clock"},
        lanes=1,
    )


def solved(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, method: Residual
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step with a fixed number of Newton iterations, for lanes that go together; NaN if unsettled."""
    n = system.model.nv
    own = _inputs_beside([*q, *e, *u, t, h], system.measured)
    made = method(system, t, h, q, e, u, own)
    change = -solve(jacobian(made.residual, own), made.residual)
    x = np.concatenate([h * e[:n], e[n : system.measured]]) if method is not midpoint else e[: system.measured]
    step = x
    for _ in range(TOGETHER):
        step = substitute(change, dict(zip(own, x, strict=True)))
        x = x + step
    settled = _size(step, x) <= SETTLED
    values = dict(zip(own, x, strict=True))
    return tuple(where(settled, substitute(y, values), np.nan) for y in (made.q, made.e))


def implicit_velocity(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of (M − h ∂f/∂v) Δv = h f, f all forces at the beginning; then q ⊕ h v_new. Order 1.

    Stiff damping and friction stay stable at any step; stiff springs do not (see "implicit-midpoint").
    """
    n, m = system.model.nv, system.measured
    z = e[n:m]
    own = _inputs_beside([*q, *e, *u, t, h], n)

    def force(v: np.ndarray) -> np.ndarray:
        tau = system.torque(t, q, v, u)
        actions = system.actions(t, q, v, z, tau)
        return -system.residual(q, v, np.zeros(n), system.forces(tau, actions), system.wrenches(actions))

    f = force(own)
    slope = substitute(jacobian(f, own), dict(zip(own, e[:n], strict=True)))
    M = algorithms.mass_matrix(system.model, q)
    v = e[:n] + solve(M - h * slope, h * substitute(f, dict(zip(own, e[:n], strict=True))))
    rates = system.rates(t, q, np.concatenate([0.5 * (e[:n] + v), e[n:]]), u)
    return integrate(system.model, q, h * v), np.concatenate([v, e[n:] + h * rates[n:]])


def _inputs_beside(values: list[Any], size: int) -> np.ndarray:
    """Inputs (size,) of the same trace."""
    graph = next(x for x in values if isinstance(x, Scalar)).graph
    return graph.input("velocity of its own", size)
