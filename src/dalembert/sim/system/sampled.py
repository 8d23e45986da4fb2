"""Controllers that run at rates, as people write them: `Sampled`, and the layout of their state.

A controller is called every `period`, gets what it kept and what other controllers hold, and its answer acts `delay`
later until the next one does. Where it can be traced, `Sampling` carries all of this as one vector, the memory, through
the compiled loop of steps; `CalledControllers` does the same in Python for controllers that cannot, leg by leg.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute.identity import is_own
from dalembert.errors import DalembertError, is_number
from dalembert.math.arrays import asked
from dalembert.model import Model

from ..failure import SimulationError

TIE = 1e-9  # relative to a period: instants closer than that are one


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that runs at a rate: torque=Sampled(law, 1e-3).

    law (t, q, v) → tau (nv,) is called at t = 0, period, 2 period …, once each and in order. Its answer acts from
    `delay` [s] later on, and is held until the next one does; before the first the torque is zero.

    state: what the law keeps from one sample to the next, an array or a dict of arrays, or a function (q, v) → that;
    the law is then (t, q, v, state) → (tau, state). inputs: other `Sampled` controllers by name, whose held answers,
    arrays of any shape, the law takes as keyword arguments: a planner at 50 Hz, a whole-body program at 500 Hz, torques
    at 1 kHz.

    A law written with arithmetic, `dalembert.math` and the robot's methods runs inside the compiled step, in `rollout`,
    `stepper` and in `simulate` with fixed steps. `simulate` does so where state or inputs are stated (state=(): the law
    keeps nothing) or the law is one of `dalembert.control`; any other may keep a state of its own, and is called from
    Python; the log of the run says which.
    """

    law: Callable[..., Any]
    period: float
    delay: float = 0.0
    state: Any = None
    inputs: Mapping[str, Sampled] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.law):
            raise DalembertError(
                f"Sampled: law is of type {type(self.law).__name__}, expected a function (t, q, v) → tau"
            )
        for name, low in (("period", np.nextafter(0.0, 1.0)), ("delay", 0.0)):
            value = getattr(self, name)
            if not (is_number(value) and low <= float(value) < np.inf):
                above = "≥ 0" if low == 0.0 else "above 0"
                raise DalembertError(f"Sampled: {name} is {value!r}, expected a time {above} [s]")
        for name, source in self.inputs.items():
            if not isinstance(source, Sampled):
                raise DalembertError(
                    f"Sampled: input {name!r} is {type(source).__name__}, expected a Sampled controller"
                )

    @property
    def name(self) -> str:
        """Its name in messages."""
        return getattr(self.law, "__name__", type(self.law).__name__)

    @property
    def declared(self) -> bool:
        """Whether all that it keeps is stated, here and in its inputs."""
        here = self.state is not None or is_own(type(self.law)) or bool(self.inputs)
        return here and all(each.declared or each.state is None for each in self.inputs.values())

    @property
    def keeps(self) -> bool:
        """Whether the law takes and returns a state."""
        return self.state is not None and not (isinstance(self.state, tuple) and not self.state)

    def chain(self) -> list[Sampled]:
        """This one and all that it takes from, sources first, each once."""
        sources: list[Sampled] = []
        for source in self.inputs.values():
            sources += [each for each in source.chain() if each not in sources]
        return [*sources, self]


class Kept(NamedTuple):
    """How a state is laid out: names and shapes of its parts; one part without a name for an array."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    named: bool

    @classmethod
    def of(cls, where: str, state: Any) -> Kept:
        """The layout of a state."""
        if isinstance(state, Mapping):
            return cls(tuple(state), tuple(np.shape(x) for x in state.values()), True)
        shape = np.shape(state)
        if np.asarray(state).dtype.kind not in "fiubO":
            raise DalembertError(f"{where}: state is {state!r}, expected an array or a dict of arrays")
        return cls(("state",), (shape,), False)

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def flat(self, where: str, state: Any) -> list[Any]:
        """A state as numbers in a row."""
        if self.named != isinstance(state, Mapping) or (self.named and set(state) != set(self.names)):
            kind = f"a dict with {', '.join(self.names)}" if self.named else f"an array {self.shapes[0]}"
            raise SimulationError(f"{where}: the law returned another kind of state, expected {kind}")
        parts = [state[name] for name in self.names] if self.named else [state]
        numbers: list[Any] = []
        for name, shape, part in zip(self.names, self.shapes, parts, strict=True):
            if np.shape(part) != shape:
                raise SimulationError(f"{where}: {name} has shape {np.shape(part)} after a sample, expected {shape}")
            numbers += list(np.asarray(part, object).ravel())
        return numbers

    def structured(self, flat: np.ndarray) -> Any:
        """The state of numbers in a row."""
        parts, begin = {}, 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            size = int(np.prod(shape))
            parts[name] = flat[begin : begin + size].reshape(shape) if shape else flat[begin]
            begin += size
        return parts if self.named else parts["state"]


NOTHING = Kept((), (), True)


def initial(model: Model, controller: Sampled, q: np.ndarray, v: np.ndarray) -> Any:
    """The state that a controller starts with."""
    return controller.state(q, v) if callable(controller.state) else controller.state


def settings_of(law: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The named settings that a law takes as arguments."""
    if not settings:
        return {}
    parameters = inspect.signature(law).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return dict(settings)
    names = {p.name for p in parameters}
    return {name: value for name, value in settings.items() if name in names}


def sample(controller: Sampled, t: Any, q: Any, v: Any, state: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
    """(answer, state after) of a call of the controller's law."""
    if not controller.keeps:
        return asked(controller.law, t, q, v, **inputs), None
    both = asked(controller.law, t, q, v, state, **inputs)
    if not (isinstance(both, tuple) and len(both) == 2):
        raise SimulationError(
            f"Sampled: {controller.name} has a state and returned {type(both).__name__}, expected (tau, state)"
        )
    return both
