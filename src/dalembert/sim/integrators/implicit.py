"""Implicit methods. A pass of their loop is one Newton iteration; the step is taken when the iteration has settled.

The residual R of a step is an expression of the unknowns x, and ∂R/∂x its derivative on the graph.

Under constraints φ(q) = 0 a step is taken between two impulses: Jᵀλ at q0, such that φ(q1) = 0 is where it leads, and
one at q1, such that J v = 0 (RATTLE, Andersen 1983; about any method, Reich 1996). The step stays symmetric, hence of
order 2, and symplectic if that of the method is. Where J is constant, it is the method's own step of the freedoms that
are left. For a joint that a stop holds, φ is its displacement within the step.

`variational` makes the action stationary step by step, so that the flow is symplectic. Discrete Lagrangian: h L at the
middle of the way from q0 to q1 = q0 ⊕ d, at the velocity d / h (Marsden, West 2001; on Lie groups Bou-Rabee, Marsden
2009). With J(d) of `displacement_jacobian`, a covector c of the middle is felt

    at q0 as ½ J(−d)ᵀ J(−d/2)⁻ᵀ c,   at q1 as ½ J(d)ᵀ J(d/2)⁻ᵀ c,

and the momentum p = ∂L/∂v as J(−d)ᵀ p and J(d)ᵀ p. With c = h (∂L/∂q + F), F forces without potential:

    M(q0) v0 = J(−d)ᵀ p − at q0 (c),    M(q1) v1 = J(d)ᵀ p + at q1 (c).

The momentum of rotors does not turn with the axes of a ball or free joint: armature · a is all they ask for, and their
part of p goes without J.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler import graph
from dalembert.compiler.graph import jacobian, substitute
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms import integrate
from dalembert.dynamics.algorithms.forward_dynamics import MassSolver
from dalembert.dynamics.algorithms.free_bodies import carries_nothing, drifts, turning
from dalembert.dynamics.algorithms.passive import armature, dissipation
from dalembert.linear import solve, solve_saddle, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, where
from dalembert.model import Model
from dalembert.quantities.tangent import differentiated, pulled
from dalembert.typing import Array, Scalar

from ..program import Program
from ..system.drift import straightened, without_translation
from ..system.system import Applied, System


def inputs_beside(values: list[Any], size: int) -> Array:
    """Inputs (size,) of the same trace."""
    return next(x for x in values if isinstance(x, graph.Scalar)).graph.input("unknowns", size)


SETTLED = 1e-9  # relative size of a Newton step after which the next one is below round-off
ITERATIONS = 25  # after which a step has failed
TOGETHER = 4  # iterations of states in lanes, one more under constraints: the last one confirms that it has settled


class Attempt(NamedTuple):
    """Where x = [displacement d, z at the end] leads: the residual R (nx,), and (q, e), the next state if R = 0."""

    residual: Array
    q: Array
    e: Array


class NewtonClock(NamedTuple):
    """Steps taken, Newton iterations within this step, the size of the last one, whether the step was given up.

    passes: iterations in all.
    """

    steps: Any = 0.0
    iterations: Any = 0.0
    change: Any = 0.0
    failed: Any = 0.0
    passes: Any = 0.0


class NewtonTiming(NamedTuple):
    """Begin [s], step [s], steps to take."""

    t: Any
    h: Any
    steps: Any


Residual = Callable[..., Attempt]  # (system, t, h, q, e, u, x)


def midpoint(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, x: Array) -> Attempt:
    """Implicit midpoint: forces balance halfway along q ⊕ d, at the velocity d / h. Symmetric, order 2."""
    layout = system.layout
    d, z1 = layout.velocity(x), layout.states(x)
    v0, z0 = layout.velocity(e), layout.states(e)
    v, q_m, t_m = d / h, integrate(system.model, q, 0.5 * d), t + 0.5 * h
    applied = system.applied(t_m, q_m, layout.replaced(e, v, 0.5 * (z0 + z1)), u)
    missing = system.residual(q_m, v, 2.0 * (v - v0) / h, applied.forces, applied.wrenches)
    lag = z1 - z0 - h * system.state_rates(applied)
    accounts = layout.accounts(e) + h * system.powers(q_m, v, applied)
    e1 = layout.replaced(e, 2.0 * v - v0, z1, accounts=accounts)
    return Attempt(np.concatenate([h * missing, lag]), integrate(system.model, q, d), e1)


def held(system: System, method: Residual, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, x: Array) -> Attempt:
    """A step between two impulses, in the unknowns x = [d, z at the end, λ]: see the head of this file."""
    rows = system.solved_rows(system.held_rows(t, q, e))
    if rows is None:
        return method(system, t, h, q, e, u, x)
    model, layout, m = system.model, system.layout, system.layout.measured_size
    v, impulses = layout.velocity(e), x[m:]
    begin = v + MassSolver(model, q).solve((rows.on[:, None] * rows.J).T) @ impulses
    step = method(system, t, h, q, layout.replaced(e, begin), u, x[:m])
    end = system.solved_rows(system.held_rows(t + h, step.q, layout.replaced(step.e, v)))
    assert end is not None
    slid = sparse_product(end.J, layout.velocity(x)) - h * end.surface
    missed = [p if holds else s for holds, p, s in zip(rows.positional, end.deviation, slid, strict=True)]
    missed = [p if on is True else where(on, p, f) for on, p, f in zip(rows.active, missed, impulses, strict=True)]
    v1 = layout.velocity(step.e)
    solver = end.solver(model, step.q, system.rows_repeat)
    change, last = solver.closed(end.surface - sparse_product(end.J, v1))
    e1 = layout.replaced(step.e, v1 + change)
    if system.ledger:
        work = system.surface_work(end, rows.on * impulses + last)
        e1 = layout.replaced(e1, accounts=layout.accounts(e1) + work)
    return Attempt(np.concatenate([step.residual, np.array(missed)]), step.q, e1)


def newton(
    system: System, method: Residual, q: Any, e: Any, x: Any, clock: NewtonClock, timing: NewtonTiming, u: Any
) -> dict[str, Any]:
    """One iteration, and the step if it was the last one needed."""
    t = timing.t + clock.steps * timing.h
    active = logical_and(clock.steps < timing.steps - 0.5, clock.failed < 0.5)
    layout, m = system.layout, system.layout.measured_size
    step = held(system, method, t, timing.h, q, e, u, x)
    change = -solve_saddle(jacobian(step.residual, x), step.residual, m)
    improved = x + change
    size = _size(change[:m], improved[:m])
    settled = logical_and(active, size <= SETTLED)
    values = dict(zip(x, improved, strict=True))
    q1, e1 = substitute(step.q, values), substitute(step.e, values)
    ahead = timing.h * (1.5 * layout.velocity(e1) - 0.5 * layout.velocity(e))
    guess = np.concatenate([ahead, 2.0 * layout.states(e1) - layout.states(e), improved[m:]])
    failed = logical_and(active, ~(clock.iterations < ITERATIONS) | ~(size < 1e100))
    new = NewtonClock(
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


def _size(change: Array, x: Array) -> Any:
    """How large a Newton step is beside the unknowns; those of forces enter R linearly, and need not be checked."""
    return reduce(maximum, [absolute(c) / (absolute(y) + 1e-3) for c, y in zip(change, x, strict=True)])


def unknowns(system: System) -> int:
    """Number of those of a step."""
    rows = system.row_count if system.holding else system.permanent_count
    return system.layout.measured_size + rows


def newton_program(
    system: System, name: str, method: Residual, identity: str | None, recorded: bool, like: Program | None = None
) -> Program:
    """The loop of Newton iterations: carried q, e, guess x and clock; recorded (q, e, steps) after each.

    like: the same with or without records.
    """
    model = system.model

    def compute(q: Array, e: Array, x: Any, clock: Any, timing: Any, u: Array) -> dict[str, Any]:
        return newton(system, method, q, e, x, NewtonClock(*clock), NewtonTiming(*timing), u)

    size = unknowns(system)
    shapes: dict[str, tuple[int, ...]] = {"q_next": (model.nq,), "e_next": (system.ne,), "x_next": (size,)}
    shapes |= {"clock_next": (5,), "q_made": (model.nq,), "e_made": (system.ne,), "done": (1,), "settled": (1,)}
    return Program(
        f"implicit {name}",
        identity,
        {"q": model.nq, "e": system.ne, "x": size, "clock": 5, "timing": 3, "u": system.nu},
        shapes,
        compute,
        carry={"q_next": "q", "e_next": "e", "x_next": "x", "clock_next": "clock"},
        record=("q_made", "e_made", "done") if recorded else (),
        settled="settled",
        lanes=1,
        like=like,
    )


def solved(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, method: Residual) -> tuple[Array, Array]:
    """(q, e) after one step with a fixed number of Newton iterations, for lanes that go together; NaN if unsettled."""
    layout, m = system.layout, system.layout.measured_size
    symbols = inputs_beside([*q, *e, *u, t, h], unknowns(system))
    step = held(system, method, t, h, q, e, u, symbols)
    newton_step = -solve_saddle(jacobian(step.residual, symbols), step.residual, m)
    x = np.concatenate([h * layout.velocity(e), layout.states(e), np.zeros(len(symbols) - m)])
    change = x
    for _ in range(TOGETHER + (len(symbols) > m)):
        change = substitute(newton_step, dict(zip(symbols, x, strict=True)))
        x = x + change
    settled = _size(change[:m], x[:m]) <= SETTLED
    values = dict(zip(symbols, x, strict=True))
    return tuple(where(settled, substitute(y, values), np.nan) for y in (step.q, step.e))


def implicit_velocity(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """(q, e) after one step of (M − h ∂f/∂v) Δv = h f + Jᵀλ, f all forces at the beginning; then q ⊕ h v_new. Order 1.

    J Δv is what the constraints ask for, and the end is projected onto them.

    Stiff damping and friction stay stable at any step; stiff springs do not (see "implicit-midpoint").
    """

    def force(v: Array) -> Array:
        return _force(system, q, v, _applied_at(system, t, q, e, u, v))

    return _velocity_step(system, t, h, q, e, u, force, lambda D: D)


def implicit_fast(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """Like `implicit_velocity`, but ∂f/∂v without that of Coriolis and centrifugal forces, and symmetric. Order 1.

    Free bodies that carry nothing keep both: their rows and columns of ∂f/∂v are those of `implicit_velocity`.
    """
    model = system.model
    single = [body.v for body in model.bodies if drifts(model, body) and carries_nothing(model, body)]

    def force(v: Array) -> Array:
        applied = _applied_at(system, t, q, e, u, v)
        still, spins = np.zeros(len(v)), np.zeros(len(v), object)
        for at in single:
            spins[at] = v[at]
        if not system.permanent_count:
            spins = without_translation(model, spins)
        loaded = -algorithms.rnea(model, q, spins, still, applied.wrenches)
        return loaded + applied.forces - (dissipation(model, v) - dissipation(model, spins))

    def slopes(D: Array) -> Array:
        kept = 0.5 * (D + D.T)
        for at in single:
            kept[at, at] = D[at, at]
        return kept

    return _velocity_step(system, t, h, q, e, u, force, slopes)


def _applied_at(system: System, t: Scalar, q: Array, e: Array, u: Array, v: Array) -> Applied:
    """All that acts at the velocity v (nv,) instead of that of e.

    Sliding friction stays as it is at the velocity of e: where it falls with the speed, its slope is no damping.
    """
    layout = system.layout
    applied = system.applied(t, q, layout.replaced(e, v), u, soft=np.zeros(len(v)))
    rows = system.held_rows(t, q, e)
    if rows is None or applied.rows is None or not layout.nm:
        return applied
    return applied._replace(forces=applied.forces + applied.rows.J.T @ (rows.sliding - applied.rows.sliding))


def _velocity_step(
    system: System,
    t: Scalar,
    h: Scalar,
    q: Array,
    e: Array,
    u: Array,
    force: Callable[[Array], Array],
    slopes: Callable[[Array], Array],
) -> tuple[Array, Array]:
    """A step of (M − h D) Δv = h f + Jᵀλ; D (nv, nv): slopes of `force` in the velocity, as `slopes` returns them."""
    layout, n = system.layout, system.model.nv
    v0 = layout.velocity(e)
    symbols = inputs_beside([*q, *e, *u, t, h], n)
    D = substitute(jacobian(force(symbols), symbols), dict(zip(symbols, v0, strict=True)))
    applied = system.applied(t, q, e, u)
    f = _force(system, q, v0, applied)
    A = algorithms.mass_matrix(system.model, q) - h * slopes(D)
    b = h * f
    rows = system.solved_rows(applied.rows)
    if rows is not None:
        J = rows.on[:, None] * rows.J
        A, b = np.block([[A, -J.T], [J, np.diag(1.0 - rows.on)]]), np.concatenate([b, h * rows.on * rows.goal])
    v1 = v0 + solve_saddle(A, b, n)[:n]
    if not system.permanent_count:
        v1 = v1 - h * turning(system.model, v0)
    return _arrived(system, t, h, q, e, u, v1, applied.soft)


def _force(system: System, q: Array, v: Array, applied: Applied) -> Array:
    """All forces (nv,) at a velocity; without closed loops along axes in which free bodies feel none from moving on."""
    model, nothing = system.model, np.zeros(len(v))
    if system.permanent_count:
        return -system.residual(q, v, nothing, applied.forces, applied.wrenches)
    slow = without_translation(model, v)
    damped = dissipation(model, v) - dissipation(model, slow)
    return -system.residual(q, slow, nothing, applied.forces, applied.wrenches) - damped


def _arrived(
    system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, v: Array, soft: Array
) -> tuple[Array, Array]:
    """(q, e) after a step with the velocity v (nv,) at its end; soft: forces of MuJoCo's constraints over it.

    States and accounts take their rates at the mean velocity, which is what changes the kinetic energy.
    """
    layout = system.layout
    d, begin, mean_end = h * v, layout.velocity(e), v
    if system.permanent_count:
        q1, e1 = integrate(system.model, q, d), layout.replaced(e, v)
    else:
        q1, end = straightened(system.model, q, begin, v, d, h)
        e1, mean_end = layout.replaced(e, end), v + h * turning(system.model, begin)
    if layout.nz or layout.nw:
        mean = layout.replaced(e, 0.5 * (begin + mean_end))
        applied = system.applied(t, q, mean, u, soft if system.soft is not None else None)
        forces = system.accelerations(q, mean, applied)[1]
        powers = system.powers(q, layout.velocity(mean), applied, forces)
        accounts = layout.accounts(e) + h * powers
        e1 = layout.replaced(e1, states=system.next_states(h, e, applied), accounts=accounts)
    return system.projected(q1, e1, t + h)


def _slopes(model: Model, q: Array, v: Array) -> Array:
    """∂L/∂q along velocities and p = ∂L/∂v (2, nv)."""

    @differentiated
    def slopes(q: Array, v: Array) -> Array:
        L = algorithms.kinetic_energy(model, q, v) - algorithms.potential_energy(model, q)
        return np.stack(pulled(model, L, 1.0, q, v))

    return slopes(q, v)


def variational(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, x: Array) -> Attempt:
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


def _felt(model: Model, d: Array, p: Array) -> Array:
    """J(d)ᵀ p (nv,)."""
    return np.concatenate([b.joint.displacement_jacobian(d[b.v]).T @ p[b.v] for b in model.independent])


def _spread(model: Model, d: Array, c: Array) -> Array:
    """J(d/2)⁻ᵀ c (nv,)."""
    return np.concatenate([solve(b.joint.displacement_jacobian(0.5 * d[b.v]).T, c[b.v]) for b in model.independent])
