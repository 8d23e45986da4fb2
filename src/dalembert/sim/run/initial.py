"""States that closed loops allow: the nearest one to what was asked for, or an error."""

from __future__ import annotations

import numpy as np

from dalembert import algorithms

from ..failure import SimulationError
from ..system.system import System
from .compiled import Programs
from .engines import State

CLOSED = 1e-10  # residual [m or rad] of a loop that is closed
ROUNDING = 1e-14  # speed at which a loop opens, beside the largest velocity, that is round-off
SAID = 1e-6  # displacement above which the log tells of it
ITERATIONS = 50


def first_state(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """e (ne,) at the beginning: elements at their start, constraints that come and go open, accounts empty."""
    layout = system.layout
    z = [element.start(system.model, q, v) for element in system.elements]
    return layout.packed(v, np.concatenate([np.zeros(0), *z]), np.zeros(layout.nm), np.zeros(layout.nw))


def closed_start(compiled: Programs, state: State) -> tuple[State, list[str]]:
    """The state with all loops closed, in position and velocity, and what to tell the user.

    Newton's method, each step the smallest that closes the linearised loops; then the nearest velocity.
    """
    system, model = compiled.system, compiled.system.model
    if not system.permanent_count:
        return state, []
    q, v = state.q, system.layout.velocity(state.e)
    for _ in range(ITERATIONS):
        residual, J = _rows(compiled, q, v)
        if np.max(np.abs(residual), initial=0.0) <= CLOSED or not np.all(np.isfinite(J)):
            break
        q = algorithms.integrate(model, q, -np.linalg.pinv(J) @ residual)
    residual, J = _rows(compiled, q, v)
    if not np.max(np.abs(residual), initial=0.0) <= 1e3 * CLOSED:
        worst = int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))
        raise SimulationError(
            f"no configuration near q closes the loop {_name(compiled, worst)!r} of robot {model.name!r}: "
            f"{residual[worst]:.3g} (m or rad) are missing; start from a q nearer to one that is closed"
        )
    opening = J @ v
    closed = np.max(np.abs(opening), initial=0.0) <= ROUNDING * np.max(np.abs(v), initial=0.0)
    kept = v if closed else v - np.linalg.pinv(J) @ opening
    moved, changed = np.max(np.abs(algorithms.difference(model, state.q, q))), np.max(np.abs(kept - v))
    log = [f"start: q was moved by up to {moved:.3g} to close the loops"] if moved > SAID else []
    log += [f"start: v was changed by up to {changed:.3g} to keep the loops closed"] if changed > SAID else []
    return State(state.t, q, system.layout.replaced(state.e, kept)), log


def _rows(compiled: Programs, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = compiled.closing({"q": q, "v": v})
    return rows["residual"][0], rows["J"][0]


def _name(compiled: Programs, number: int) -> str:
    """Of what an equation is part."""
    system = compiled.system
    parts = [(closure.name, closure.count) for closure in system.model.closures]
    parts += [(each.constraint.name, each.constraint.count) for each in system.constraints if each.element is not None]
    for name, count in parts:
        if number < count:
            return name
        number -= count
    raise AssertionError("every equation belongs to something")
