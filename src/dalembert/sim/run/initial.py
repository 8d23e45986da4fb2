"""The start of a run: checked, and with all loops closed; the nearest such state, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.guards import check_quaternions
from dalembert.typing import Array

from ..failure import SimulationError
from ..system.system import System
from .compiled import Programs
from .engines import State

CLOSED = 1e-10  # residual [m or rad] of a loop that is closed
ROUNDING = 1e-14  # speed at which a loop opens, beside the largest velocity, that is round-off
SAID = 1e-6  # displacement above which the log tells of it
ITERATIONS = 50
NEAR = 1e-2  # a way [rad, m] to a closed configuration above which others are looked for
STARTS = 6  # from which they are looked for, beside the one that was asked for
GAIN = 1e-6  # share of the way by which another one must be nearer
STATIONARY = 1e-9  # slope of the way along closed configurations at which it is shortest
SHORTEST = 1e-3  # share of the slope that a step along them may shrink to


def checked_state(where: str, model: Model, q: Any, v: Any) -> tuple[Array, Array]:
    """One state q (nq,), v (nv,) of finite numbers, with quaternions of unit length; `where` begins the errors."""
    arrays = {}
    for name, x, size in (("q", q, model.nq), ("v", v, model.nv)):
        expected = f"expected ({size},) for robot {model.name!r}"
        array = real_array(f"{where}: {name}", x, expected).astype(float)
        if array.shape != (size,):
            raise DalembertError(f"{where}: {name} has shape {array.shape}, {expected}; `rollout` takes batches")
        if not np.all(np.isfinite(array)):
            raise DalembertError(f"{where}: {name}[{int(np.argmin(np.isfinite(array)))}] is not finite, {expected}")
        arrays[name] = array
    check_quaternions(model, where, {"q": arrays["q"]})
    return arrays["q"], arrays["v"]


def first_state(system: System, q: Array, v: Array) -> Array:
    """e (ne,) at the beginning: elements at their start, constraints that come and go open, accounts empty."""
    layout = system.layout
    z = [element.start(system.model, q, v) for element in system.elements]
    return layout.packed(v, np.concatenate([np.zeros(0), *z]), np.zeros(layout.nm), np.zeros(layout.nw))


def closed_start(compiled: Programs, state: State, mobile: Array | None = None) -> tuple[State, list[str]]:
    """The state with all loops closed, in position and velocity, and lines for the log.

    mobile (nv,): 1 for freedoms that may change for it, 0 for those that stay as they are; None: all may.

    Newton's method, each step the smallest that closes the linearised loops; from there along the closed
    configurations to the nearest one, from other starts too where that is far away; then the nearest velocity.
    """
    system, model = compiled.system, compiled.system.model
    if not system.permanent_count:
        return state, []
    q, v = state.q, system.layout.velocity(state.e)
    mobile = np.ones(model.nv) if mobile is None else mobile
    q = _nearest(compiled, state.q, v, mobile)
    residual, J, surface = _rows(compiled, q, v)
    if not np.max(np.abs(residual), initial=0.0) <= 1e3 * CLOSED:
        worst = int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))
        raise SimulationError(
            f"no configuration near q closes the loop {loop_name(compiled.system, worst)!r} of robot {model.name!r}: "
            f"{residual[worst]:.3g} (m or rad) are missing; start from a q nearer to one that is closed"
            + ("" if mobile.all() else ", or hold fewer joints")
        )
    opening = J @ v - surface
    closed = np.max(np.abs(opening), initial=0.0) <= ROUNDING * np.max(np.abs(v), initial=0.0)
    kept = v if closed else v - np.linalg.pinv(J * mobile) @ opening
    if not closed and np.max(np.abs(J @ kept - surface), initial=0.0) > 1e3 * CLOSED * max(1.0, np.max(np.abs(v))):
        raise SimulationError(
            f"no velocity of the other joints of robot {model.name!r} keeps the loops closed at the speed of those "
            "held: hold fewer joints, or give their velocities"
        )
    moved, changed = np.max(np.abs(algorithms.difference(model, state.q, q))), np.max(np.abs(kept - v))
    log = [f"start: q was moved by up to {moved:.3g} to close the loops"] if moved > SAID else []
    log += [f"start: v was changed by up to {changed:.3g} to keep the loops closed"] if changed > SAID else []
    return State(state.t, q, system.layout.replaced(state.e, kept)), log


def _nearest(compiled: Programs, start: Array, v: Array, mobile: Array) -> Array:
    """The closed configuration nearest to `start`, of those that Newton's method finds from there and beside it."""
    model = compiled.system.model
    best = _closed(compiled, start, v, mobile)
    if not _is_closed(compiled, best, v):
        distance, starts = np.inf, np.zeros((0, model.nv))
    else:
        best = _approached(compiled, start, best, v, mobile)
        distance = float(np.linalg.norm(algorithms.difference(model, start, best)))
        rng = np.random.default_rng(0)
        starts = distance * rng.uniform(-1.0, 1.0, (STARTS if distance > NEAR else 0, model.nv))
    for shift in starts:
        q = _closed(compiled, algorithms.integrate(model, start, mobile * shift), v, mobile)
        if _is_closed(compiled, q, v):
            q = _approached(compiled, start, q, v, mobile)
            away = float(np.linalg.norm(algorithms.difference(model, start, q)))
            if away < (1.0 - GAIN) * distance:
                best, distance = q, away
    return best


def _closed(compiled: Programs, q: Array, v: Array, mobile: Array) -> Array:
    """Where Newton's method gets from q; closed if it converged."""
    for _ in range(ITERATIONS):
        residual, J, _ = _rows(compiled, q, v)
        if np.max(np.abs(residual), initial=0.0) <= CLOSED or not np.all(np.isfinite(J)):
            break
        q = algorithms.integrate(compiled.system.model, q, -np.linalg.pinv(J * mobile) @ residual)
    return q


def _is_closed(compiled: Programs, q: Array, v: Array) -> bool:
    return bool(np.max(np.abs(_rows(compiled, q, v)[0]), initial=0.0) <= CLOSED)


def _approached(compiled: Programs, start: Array, q: Array, v: Array, mobile: Array) -> Array:
    """Along closed configurations from q towards `start`, as long as the way between them, ½ |difference|², shrinks."""
    model = compiled.system.model
    d = algorithms.difference(model, start, q)
    length = 1.0
    for _ in range(ITERATIONS):
        J = _rows(compiled, q, v)[1] * mobile
        slope = np.concatenate([b.joint.displacement_jacobian(d[b.v]).T @ d[b.v] for b in model.independent])
        along = mobile * slope - np.linalg.pinv(J) @ (J @ slope)
        if np.linalg.norm(along) <= STATIONARY * (1.0 + np.linalg.norm(d)):
            break
        while length > SHORTEST:
            trial = _closed(compiled, algorithms.integrate(model, q, -length * along), v, mobile)
            away = algorithms.difference(model, start, trial)
            gain = 0.5 * (d @ d - away @ away)
            if gain >= 0.1 * length * (along @ along) and _is_closed(compiled, trial, v):
                q, d, length = trial, away, min(2.0 * length, 1.0)
                break
            length *= 0.5
        else:
            break
    return q


def _rows(compiled: Programs, q: Array, v: Array) -> list[Array]:
    """φ, J and the speeds of moving surfaces of what always holds."""
    rows = compiled.closing({"q": q, "v": v})
    return [rows[name][0] for name in ("residual", "J", "surface")]


def loop_name(system: System, number: int) -> str:
    """The name of the loop or constraint that an equation belongs to."""
    parts = [(closure.name, closure.count) for closure in system.model.closures]
    parts += [(each.constraint.name, each.constraint.count) for each in system.constraints if each.element is not None]
    for name, count in parts:
        if number < count:
            return name
        number -= count
    raise AssertionError("every equation belongs to something")
