"""The settings of motions, which runs, rollouts, their gradients and steppers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError, is_number, unknown
from dalembert.model import Model

from .elements.base import Element
from .integrators.catalogue import Integrator, integrator_for
from .rollout.tallies import Tally
from .run.engines import DEFAULT_STEP, steps_between
from .run.run import Event

FORCES = ("last", "every")  # of which records the forces of contacts are asked for
MOST_RECORDS, MOST_STEPS = 1e8, 1e15  # of what fits into memory, and of what can be counted in time


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How motions are computed: given once, as `settings=`, to `simulate`, `rollout`, `rollout_gradient`, `stepper`.

    Each takes what it has a keyword for, and a keyword that is given beside it wins.

    All of them: torque, integrator, step [s], elements, friction, contact. Runs and rollouts: controls, events.
    Runs: duration [s], record [s] between states, rtol and atol of adaptive steps, progress. Rollouts: `steps`,
    `every` so many of which a state is kept, parameters, memory, forces. See `Robot.simulate` and `Robot.rollout`.
    """

    torque: Any = None
    controls: Any = None
    integrator: str | Integrator | None = None
    step: float | None = None
    elements: Sequence[Element] = ()
    events: Sequence[Event] = ()
    friction: str | None = None
    contact: Contact | None = None
    # runs
    duration: float | None = None
    rtol: float = 1e-8
    atol: float = 1e-10
    record: float | None = 0.01
    progress: bool | None = None
    # rollouts
    steps: int = 1000
    every: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    memory: Any = None
    forces: str | None = None
    tallies: tuple[Tally, ...] = ()

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.stated().items())})"

    def stated(self) -> dict[str, Any]:
        """The settings that differ from what they are by default, by name."""
        named = {known.name: (getattr(self, known.name), known.default) for known in fields(self)}
        return {name: value for name, (value, usual) in named.items() if not _is_usual(value, usual)}

    # ---- rollouts and steppers

    @property
    def length(self) -> float:
        """The length of fixed steps of rollouts and steppers [s]."""
        return DEFAULT_STEP if self.step is None else self.step

    @property
    def interval(self) -> int:
        """Steps from record to record of a rollout."""
        return int(self.every or self.steps)

    @property
    def count(self) -> int:
        """Records of a rollout; steps after the last of them leave no trace."""
        return int(self.steps) // self.interval

    def method(self, where: str, model: Model) -> Integrator:
        """The integrator of fixed steps for a model."""
        return integrator_for(where, self.integrator, "semi-implicit", self.contact, model)

    def check_step(self, where: str) -> None:
        """Refuse a step that is not a positive time."""
        if not (is_number(self.length) and 0.0 < float(self.length) < np.inf):
            raise DalembertError(f"{where}: step is {self.step!r}, expected a time above 0 [s]")

    def check_rollout(self) -> None:
        """Refuse numbers and events that no rollout can have."""
        self.check_step("rollout")
        for name, value in (("steps", self.steps), ("every", self.every)):
            if name == "every" and value is None:
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise DalembertError(f"rollout: {name} is {value!r}, expected a whole number ≥ 1")
        if self.every is not None and self.every > self.steps:
            raise DalembertError(f"rollout: every is {self.every}, expected at most the number of steps, {self.steps}")
        if self.forces not in (None, *FORCES):
            raise unknown("forces", str(self.forces), FORCES, "rollout")
        for event in self.events:
            if not isinstance(event, Event):
                raise DalembertError(f"rollout: events: expected Events, got {type(event).__name__}")

    # ---- runs

    def check_run(self) -> None:
        """Refuse numbers that no run can have."""
        for name in ("duration", "step", "rtol", "atol", "record"):
            value = getattr(self, name)
            if value is None and name in ("step", "record"):
                continue
            if not is_number(value) or not 0.0 < float(value) < np.inf:
                raise DalembertError(f"simulate: {name} is {value!r}, expected a number above 0")
        if self.record is not None and self.time / float(self.record) > MOST_RECORDS:
            raise DalembertError(
                f"simulate: record is {self.record!r} for {self.time:g} s, {self.time / float(self.record):.1e} "
                f"records, expected at most {MOST_RECORDS:g}: record less often, or record=None for every step"
            )

    @property
    def time(self) -> float:
        """The duration of a run [s]."""
        assert self.duration is not None
        return float(self.duration)

    def fixed_step(self, method: Integrator) -> float | None:
        """The length of fixed steps of a run [s]; None: adaptive ones."""
        return None if self.step is None and method.adaptive else self.step or DEFAULT_STEP

    def even_step(self, method: Integrator) -> tuple[float | None, list[str]]:
        """The fixed step that leads from record to record, at most `fixed_step`, and what the log says of it."""
        longest, duration = self.fixed_step(method), self.time
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


def _is_usual(value: Any, usual: Any) -> bool:
    if usual is MISSING:  # a mapping, empty by default
        return not value
    return value is usual or (type(value) is type(usual) and isinstance(usual, (int, float, tuple)) and value == usual)


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
