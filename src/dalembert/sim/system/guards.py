"""Guards: numbers that are positive until something happens, which `simulate` watches between steps."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.math import abs as absolute
from dalembert.math import maximum

if TYPE_CHECKING:
    from .system import Applied, System

NO_FORCE = 1e-12  # relative to the forces at work: what counts as none


def guards(system: System, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> list[Any]:
    """Guards of rows that come and go, then of the elements' gaps."""
    layout = system.layout
    v, z = layout.velocity(e), layout.states(e)
    values: list[Any] = []
    if layout.nm:
        applied = system.applied(t, q, e, u)
        assert applied.rows is not None
        forces = system.accelerations(q, e, applied)[1]
        slack = NO_FORCE * force_scale(system, q, v, applied)
        modes = layout.modes(e)
        coordinates = system.constraint_rows(t, q, v, z).coordinate
        for k in range(system.permanent_count, system.row_count):
            admissible, mode = system.row_owners[k].constraint.admissible, modes[k - system.permanent_count]
            values.append(admissible.guard(mode, coordinates[k], applied.rows.rate[k], forces[k], slack))
    for element, s in zip(system.elements, system.driven_situations(t, q, e, u)[1], strict=True):
        values += element.gaps(s)
    return values


def force_scale(system: System, q: np.ndarray, v: np.ndarray, applied: Applied) -> Any:
    """The largest generalised force at work."""
    bias = algorithms.rnea(system.model, q, v, np.zeros(len(v)), applied.wrenches)
    return reduce(maximum, [absolute(x) for x in (*bias, *applied.forces)])
