"""Settings of fixed steps and of rollouts, and what steps take of a model and its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError, is_number, unknown
from dalembert.model import Model

from ..elements.base import Element
from ..elements.friction import with_friction
from ..elements.surroundings import surroundings
from ..integrators.catalogue import INTEGRATORS, integrator_for
from ..integrators.record import Integrator
from ..run.events import Event
from .tallies import Tally

FORCES = ("last", "every")  # of which records the forces of contacts are asked for


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """Settings that rollouts, their gradients and steppers share; see `Robot.rollout`. step [s]."""

    step: float = 1e-3
    integrator: str | Integrator | None = None
    elements: Sequence[Element] = ()
    friction: str | None = None
    contact: Contact | None = None

    def method(self, where: str, model: Model) -> Integrator:
        """The integrator for a model."""
        return integrator_for(where, self.integrator, "semi-implicit", self.contact, model)

    def check_step(self, where: str) -> None:
        """Refuse a step that is not a positive time."""
        if not (is_number(self.step) and 0.0 < float(self.step) < np.inf):
            raise DalembertError(f"{where}: step is {self.step!r}, expected a time above 0 [s]")


@dataclass(frozen=True, kw_only=True)
class RolloutSettings(StepSettings):
    """The settings of a rollout beside the states; see `Robot.rollout`."""

    torque: Any = None
    controls: Any = None
    steps: int = 1000
    record: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()
    memory: Any = None
    forces: str | None = None
    tallies: tuple[Tally, ...] = ()

    @property
    def every(self) -> int:
        """Steps from record to record."""
        return int(self.record or self.steps)

    @property
    def count(self) -> int:
        """Records; steps after the last of them leave no trace."""
        return int(self.steps) // self.every

    def check(self) -> None:
        """Refuse numbers and events that no rollout can have."""
        self.check_step("rollout")
        for name, value in (("steps", self.steps), ("record", self.record)):
            if name == "record" and value is None:
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise DalembertError(f"rollout: {name} is {value!r}, expected a whole number ≥ 1")
        if self.record is not None and self.record > self.steps:
            raise DalembertError(
                f"rollout: record is {self.record}, expected at most the number of steps, {self.steps}"
            )
        if self.forces not in (None, *FORCES):
            raise unknown("forces", str(self.forces), FORCES, "rollout")
        for event in self.events:
            if not isinstance(event, Event):
                raise DalembertError(f"rollout: events: expected Events, got {type(event).__name__}")


def prepared(
    where: str,
    model: Model,
    elements: tuple[Element, ...],
    integrator: Integrator,
    friction: str | None,
    live: Sequence[str] = (),
) -> tuple[Model, tuple[Element, ...]]:
    """The model and the elements of steps; refuses what they cannot take.

    friction: "dry", "smooth", or None for the first of them that the integrator and live groups allow.
    """
    for element in elements:
        if not isinstance(element, Element):
            raise DalembertError(f"{where}: elements: expected force elements, got {type(element).__name__}")
        if type(element).gaps is not Element.gaps:
            raise DalembertError(f"{where}: {element.label()} needs events, which only `simulate` has")
    able = integrator.impulsive
    instead = " or ".join(repr(name) for name, known in INTEGRATORS.items() if known.impulsive)
    switching = [e.label() for e in elements if any(c.admissible.switches for c in e.constraints(model))]
    if switching and not able:
        raise DalembertError(
            f"{where}: {switching[0]} begins and ceases to act, which steps of {integrator.name!r} do not take: "
            f"use integrator={instead}, or `simulate`"
        )
    if friction == "dry" and not able:
        raise DalembertError(f"{where}: friction='dry' needs integrator={instead}, got {integrator.name!r}")
    if friction == "dry" and "friction" in live:
        raise DalembertError(f"{where}: friction='dry' takes the model's friction: live friction is smooth")
    for element in elements:
        model = element.prepared(model)
    fits = able and "friction" not in live
    elements = (*elements, *surroundings(model))
    model, elements, _ = with_friction(where, model, elements, friction or ("dry" if fits else "smooth"))
    return model, elements
