"""States that closed loops allow: the nearest one to what was asked for, or an error."""

from __future__ import annotations

import numpy as np

from dalembert import algorithms
from dalembert.model import Model

from .engines import State
from .failure import SimulationError

CLOSED = 1e-10  # residual [m or rad] of a loop that is closed
SAID = 1e-6  # displacement above which the log tells of it
ITERATIONS = 50


def closed_start(model: Model, state: State) -> tuple[State, list[str]]:
    """The state with all loops closed, in position and velocity, and what to tell the user.

    Newton's method, each step the smallest that closes the linearised loops; then the nearest velocity.
    """
    if not model.closures:
        return state, []
    q, e, n = state.q, state.e.copy(), model.nv
    for _ in range(ITERATIONS):
        residual, J, _ = algorithms.constraints(model, q, e[:n])
        if np.max(np.abs(residual), initial=0.0) <= CLOSED:
            break
        q = algorithms.integrate(model, q, -np.linalg.pinv(J.astype(float)) @ residual.astype(float))
    residual, J, _ = algorithms.constraints(model, q, e[:n])
    residual, J = residual.astype(float), J.astype(float)
    if not np.max(np.abs(residual), initial=0.0) <= 1e3 * CLOSED:
        worst, name = int(np.argmax(np.abs(residual))), ""
        at = 0
        for closure in model.closures:
            if at <= worst < at + closure.count:
                name = closure.name
            at += closure.count
        raise SimulationError(
            f"simulate: no configuration near q closes the loop {name!r} of robot {model.name!r}: "
            f"{residual[worst]:.3g} (m or rad) are missing; start from a q nearer to one that is closed"
        )
    v = e[:n] - np.linalg.pinv(J) @ (J @ e[:n])
    log = []
    moved, changed = np.max(np.abs(algorithms.difference(model, state.q, q))), np.max(np.abs(v - e[:n]))
    if moved > SAID:
        log.append(f"start: q was moved by up to {moved:.3g} to close the loops")
    if changed > SAID:
        log.append(f"start: v was changed by up to {changed:.3g} to keep the loops closed")
    return State(state.t, q, np.concatenate([v, e[n:]])), log
