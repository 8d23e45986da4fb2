"""Quantities computed from the states of a run on request: accelerations, readings of sensors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert.model import Model

from ..integrators.catalogue import TIME_STEPPING
from .compiled import Programs


class Accelerations:
    """a (n, nv) of the states of a run, under all that acts: called once, and when the run is pickled."""

    def __init__(
        self, programs: Programs, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, step: float | None
    ) -> None:
        self.programs, self.step = programs, step
        self.states = {"t": t[:, None], "q": q, "e": e, "u": u}

    def __call__(self) -> np.ndarray:
        programs, states, count = self.programs, self.states, len(self.states["t"])
        if not count:
            return np.zeros((0, programs.system.model.nv))
        if programs.system.called:  # by Python, one state after the other
            rows = zip(*states.values(), strict=True)
            return np.array([programs.system.rates(t[0], q, e, u) for t, q, e, u in rows])[
                :, : programs.system.model.nv
            ]
        if programs.integrator is not TIME_STEPPING:
            return programs.rates(states, (count,))["rates"][:, : programs.system.model.nv].copy()
        assert self.step is not None
        timing = np.column_stack([self.states["t"][:, 0], np.full(count, self.step)])
        inputs = {name: states[name] for name in ("q", "e", "u")} | {"number": np.zeros((count, 1)), "timing": timing}
        layout = programs.system.layout
        after = programs.steps(False, False)(inputs, (count,), 1)["e_next"]
        return (layout.velocity(after.reshape(count, -1)) - layout.velocity(states["e"])) / self.step

    def __reduce__(self) -> tuple[Any, ...]:
        return Known, (self(),)


class Known:
    """Numbers that were computed before."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def __call__(self) -> np.ndarray:
        return self.numbers


def derived(
    programs: Programs, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, step: float | None
) -> dict[str, Any]:
    """Arguments from which a run computes accelerations and readings."""
    numbers = Accelerations(programs, t, q, e, u, step)
    return {"accelerations": numbers, "sensed": partial(sensed, programs.system.model)}


def sensed(model: Model, run: Any) -> dict[str, np.ndarray]:
    """Readings of the sensors of a model along a run."""
    from .sensors import readings

    return readings(model, run.t, run.q, run.v, run.a, run.tau, run.contacts) if model.sensors else {}
