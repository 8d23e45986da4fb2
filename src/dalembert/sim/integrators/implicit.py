"""Implicit methods. A pass of their loop is one Newton iteration; the step is taken when the iteration has settled.

The residual R of a step is an expression of the unknowns x, and ∂R/∂x its derivative on the graph.

Under constraints φ(q) = 0 a step is taken between two impulses: Jᵀλ at q0, such that φ(q1) = 0 is where it leads, and
one at q1, such that J v = 0 (RATTLE, Andersen 1983; about any method, Reich 1996). The step stays symmetric, hence of
order 2, and symplectic if that of the method is. Where J is constant, it is the method's own step of the freedoms that
are left. For a joint that a stop holds, φ is its displacement within the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.algorithms import integrate
from dalembert.algorithms.coupled import MassSolver
from dalembert.graph import Scalar, jacobian, substitute
from dalembert.linear import solve_saddle, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, where

from ..program import Program
from ..system.system import System

SETTLED = 1e-9  # relative size of a Newton step after which the next one is below round-off
ITERATIONS = 25  # after which a step has failed
TOGETHER = 4  # iterations of states in lanes, one more under constraints: the last one confirms that it has settled


class Attempt(NamedTuple):
    """Of unknowns x = [displacement d, z at the end]: the residual R (nx,), and where (q, e) they lead if R is 0."""

    residual: np.ndarray
    q: np.ndarray
    e: np.ndarray


class Clock(NamedTuple):
    """Steps taken, Newton iterations within this step, the size of the last one, whether the step was given up.

    passes: iterations in all.
    """

    steps: Any = 0.0
    iterations: Any = 0.0
    change: Any = 0.0
    failed: Any = 0.0
    passes: Any = 0.0


class Timing(NamedTuple):
    """Begin [s], step [s], steps to take."""

    t: Any
    h: Any
    steps: Any


Residual = Callable[..., Attempt]  # (system, t, h, q, e, u, x)


def midpoint(system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, x: np.ndarray) -> Attempt:
    """Implicit midpoint: forces balance halfway along q ⊕ d, at the velocity d / h. Symmetric, order 2."""
    n, m = system.model.nv, system.measured
    d, v, z = x[:n], x[:n] / h, 0.5 * (e[n:m] + x[n:])
    q_m, t_m = integrate(system.model, q, 0.5 * d), t + 0.5 * h
    tau = system.torque(t_m, q_m, v, u)
    actions = system.actions(t_m, q_m, v, z, tau)
    forces, wrenches = system.forces(tau, actions), system.wrenches(actions)
    missing = system.residual(q_m, v, 2.0 * (v - e[:n]) / h, forces, wrenches)
    lag = x[n:] - e[n:m] - h * np.concatenate([np.zeros(0), *(a.rate for a in actions)])
    e1 = np.concatenate([2.0 * v - e[:n], x[n:], e[m:] + h * system.powers(q_m, v, tau, actions)])
    return Attempt(np.concatenate([h * missing, lag]), integrate(system.model, q, d), e1)


def held(
    system: System, method: Residual, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, x: np.ndarray
) -> Attempt:
    """A step between two impulses, in the unknowns x = [d, z at the end, λ]: see the head of this file."""
    if not system.held:
        return method(system, t, h, q, e, u, x)
    model, n, m, closing = system.model, system.model.nv, system.measured, system.closing_count
    v, z = system.split(e)
    rows, forces = system.rows(q, v, z), x[m:]
    assert rows is not None
    begin = v + MassSolver(model, q).solve((rows.on[:, None] * rows.J).T) @ forces
    made = method(system, t, h, q, np.concatenate([begin, e[n:]]), u, x[:m])
    there = system.rows(made.q, v, z)
    assert there is not None
    missed = np.concatenate([there.residual[:closing], there.J[closing:] @ x[:n]])
    missed = np.array(
        [p if on is True else where(on, p, f) for on, p, f in zip(rows.active, missed, forces, strict=True)]
    )
    solver = there.solver(model, made.q)
    change = solver.response(solver.forces(-sparse_product(there.J, made.e[:n])))
    e1 = np.concatenate([made.e[:n] + change, made.e[n:]])
    return Attempt(np.concatenate([made.residual, missed]), made.q, e1)


def newton(
    system: System, method: Residual, q: Any, e: Any, x: Any, clock: Clock, timing: Timing, u: Any
) -> dict[str, Any]:
    """One iteration, and the step if it was the last one needed."""
    t = timing.t + clock.steps * timing.h
    active = logical_and(clock.steps < timing.steps - 0.5, clock.failed < 0.5)
    n, m = system.model.nv, system.measured
    made = held(system, method, t, timing.h, q, e, u, x)
    change = -solve_saddle(jacobian(made.residual, x), made.residual, m)
    improved = x + change
    size = _size(change[:m], improved[:m])
    settled = logical_and(active, size <= SETTLED)
    values = dict(zip(x, improved, strict=True))
    q1, e1 = substitute(made.q, values), substitute(made.e, values)
    ahead = timing.h * (1.5 * e1[:n] - 0.5 * e[:n])
    guess = np.concatenate([ahead, 2.0 * e1[n:m] - e[n:m], improved[m:]])
    failed = logical_and(active, ~(clock.iterations < ITERATIONS) | ~(size < 1e100))
    new = Clock(
        where(settled, clock.steps + 1.0, clock.steps),
        where(settled, 0.0, where(active, clock.iterations + 1.0, clock.iterations)),
        where(active, size, clock.change),
        where(logical_and(failed, ~settled), 1.0, clock.failed),
        where(active, clock.passes + 1.0, clock.passes),
    )
    q1, e1 = where(settled, q1, q), where(settled, e1, e)
    return {
        "q_next": q1,
        "e_next": e1,
        "x_next": where(settled, guess, where(active, improved, x)),
        "clock_next": np.array(new),
        "q_made": q1,
        "e_made": e1,
        "done": [new.steps],
        "settled": [where(logical_and(new.steps < timing.steps - 0.5, new.failed < 0.5), 0.0, 1.0)],
    }


def _size(change: np.ndarray, x: np.ndarray) -> Any:
    """How large a Newton step is beside the unknowns; those of forces enter R linearly, and need not be looked at."""
    return reduce(maximum, [absolute(c) / (absolute(y) + 1e-3) for c, y in zip(change, x, strict=True)])


def unknowns(system: System) -> int:
    """Number of those of a step."""
    return system.measured + system.held_count


def program(system: System, method: Residual, identity: str | None, recorded: bool) -> Program:
    """The loop of Newton iterations: carried q, e, guess x and clock; recorded (q, e, steps) after each."""
    model = system.model

    def compute(q: Any, e: Any, x: Any, clock: Any, timing: Any, u: Any) -> dict[str, Any]:
        return newton(system, method, q, e, x, Clock(*clock), Timing(*timing), u)

    size = unknowns(system)
    shapes: dict[str, tuple[int, ...]] = {"q_next": (model.nq,), "e_next": (system.ne,), "x_next": (size,)}
    shapes |= {"clock_next": (5,), "q_made": (model.nq,), "e_made": (system.ne,), "done": (1,), "settled": (1,)}
    return Program(
        f"implicit {method.__name__}",
        identity,
        {"q": model.nq, "e": system.ne, "x": size, "clock": 5, "timing": 3, "u": system.nu},
        shapes,
        compute,
        carry={"q_next": "q", "e_next": "e", "x_next": "x", "clock_next": "clock"},
        record=("q_made", "e_made", "done") if recorded else (),
        settled="settled",
        lanes=1,
    )


def solved(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, method: Residual
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step with a fixed number of Newton iterations, for lanes that go together; NaN if unsettled."""
    n, m = system.model.nv, system.measured
    own = _inputs_beside([*q, *e, *u, t, h], unknowns(system))
    made = held(system, method, t, h, q, e, u, own)
    change = -solve_saddle(jacobian(made.residual, own), made.residual, m)
    x = np.concatenate([h * e[:n], e[n:m], np.zeros(system.held_count)])
    step = x
    for _ in range(TOGETHER + system.held):
        step = substitute(change, dict(zip(own, x, strict=True)))
        x = x + step
    settled = _size(step[:m], x[:m]) <= SETTLED
    values = dict(zip(own, x, strict=True))
    return tuple(where(settled, substitute(y, values), np.nan) for y in (made.q, made.e))


def implicit_velocity(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of (M − h ∂f/∂v) Δv = h f + Jᵀλ, f all forces at the beginning; then q ⊕ h v_new. Order 1.

    J Δv is what the constraints ask for, and the end is projected onto them.

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
    A, b = M - h * slope, h * substitute(f, dict(zip(own, e[:n], strict=True)))
    rows = system.rows(q, e[:n], z)
    if rows is not None:
        J = rows.on[:, None] * rows.J
        A, b = np.block([[A, -J.T], [J, np.diag(1.0 - rows.on)]]), np.concatenate([b, h * rows.on * rows.goal])
    v = e[:n] + solve_saddle(A, b, n)[:n]
    rates = system.rates(t, q, np.concatenate([0.5 * (e[:n] + v), e[n:]]), u)
    return system.projected(integrate(system.model, q, h * v), np.concatenate([v, e[n:] + h * rates[n:]]))


def _inputs_beside(values: list[Any], size: int) -> np.ndarray:
    """Inputs (size,) of the same trace."""
    graph = next(x for x in values if isinstance(x, Scalar)).graph
    return graph.input("velocity of its own", size)
