"""Settings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError, is_number

from ..elements.base import Element
from ..integrators.record import Integrator
from .engines import DEFAULT_STEP, steps_between
from .events import Event

MOST_RECORDS, MOST_STEPS = 1e8, 1e15  # of what fits into memory, and of what can be counted in time


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a run beside its start; see `Robot.simulate`."""

    duration: float
    torque: Any = None
    controls: Any = None
    integrator: str | Integrator | None = None
    step: float | None = None
    rtol: float = 1e-8
    atol: float = 1e-10
    record: float | None = 0.01
    elements: Sequence[Element] = ()
    events: Sequence[Event] = ()
    friction: str = "dry"
    contact: Contact | None = None
    progress: bool | None = None

    def check(self) -> None:
        """Refuse numbers that no run can have."""
        for name in ("duration", "step", "rtol", "atol", "record"):
            value = getattr(self, name)
            if value is None and name in ("step", "record"):
                continue
            if not is_number(value) or not 0.0 < float(value) < np.inf:
                raise DalembertError(f"simulate: {name} is {value!r}, expected a number above 0")
        if self.record is not None and float(self.duration) / float(self.record) > MOST_RECORDS:
            records = float(self.duration) / float(self.record)
            raise DalembertError(
                f"simulate: record is {self.record!r} for {float(self.duration):g} s, {records:.1e} records, "
                f"expected at most {MOST_RECORDS:g}: record less often, or record=None for every step"
            )

    def fixed_step(self, method: Integrator) -> float | None:
        """The length of fixed steps [s]; None: adaptive ones."""
        return None if self.step is None and method.adaptive else self.step or DEFAULT_STEP

    def even_step(self, method: Integrator) -> tuple[float | None, list[str]]:
        """The fixed step that leads from record to record, at most `fixed_step`, and what the log says of it."""
        longest, duration = self.fixed_step(method), float(self.duration)
        if longest is None:
            return None, []
        longest = float(longest)
        if duration / longest > MOST_STEPS:
            raise DalembertError(
                f"simulate: steps of {longest:g} s over {duration:g} s are {duration / longest:.1e} steps, expected at "
                f"most {MOST_STEPS:g}"
            )
        way = duration if self.record is None else min(float(self.record), duration)
        even = way / steps_between(0.0, way, longest)
        if self.step is not None and abs(even - longest) <= 1e-9 * longest:
            return even, []
        return even, [f"step: {even:.6g} s" + ("" if self.step is None else f", not {longest:g}, to meet the records")]


def each_of(name: str, items: Any, kind: type[Any], what: str) -> tuple[Any, ...]:
    """A sequence of elements or events as a tuple."""
    try:
        checked = tuple(items)
    except TypeError:
        raise DalembertError(f"simulate: {name} is one {type(items).__name__}: write {name}=[…]") from None
    for item in checked:
        if not isinstance(item, kind):
            raise DalembertError(f"simulate: {name}: expected {what}, got {type(item).__name__}")
    return checked
