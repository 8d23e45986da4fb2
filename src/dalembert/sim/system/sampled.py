"""Controllers that run at rates: what people write (`Sampled`), and the discrete state of all of them in a run.

A controller is asked every `period`, gets what it kept and what other controllers hold, and its answer acts `delay`
later until the next one does. Where it can be traced, `Sampling` carries all of this as one vector, the memory, through
the compiled loop of steps; `Asking` does the same in Python for controllers that cannot, leg by leg.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import Recent, code
from dalembert.execute.identity import is_own
from dalembert.graph import trace
from dalembert.math import abs as absolute
from dalembert.math import floor, repeat, where
from dalembert.model import Model

from ..failure import SimulationError
from .drive import Command, Leg

TIE = 1e-9  # relative to a period: instants closer than that are one


@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that runs at a rate: torque=Sampled(law, 1e-3).

    law (t, q, v) → tau (nv,) is asked at t = 0, period, 2 period …, once each and in order. Its answer acts from
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
            if not (isinstance(value, (int, float, np.number)) and low <= float(value) < np.inf):
                above = "≥ 0" if low == 0.0 else "above 0"
                raise DalembertError(f"Sampled: {name} is {value!r}, expected a time {above} [s]")
        for name, source in self.inputs.items():
            if not isinstance(source, Sampled):
                raise DalembertError(
                    f"Sampled: input {name!r} is {type(source).__name__}, expected a Sampled controller"
                )

    @property
    def name(self) -> str:
        """What messages call it."""
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
        found: list[Sampled] = []
        for source in self.inputs.values():
            found += [each for each in source.chain() if each not in found]
        return [*found, self]


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
    """Those of the named settings that a law takes as arguments."""
    if not settings:
        return {}
    parameters = inspect.signature(law).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return dict(settings)
    names = {p.name for p in parameters}
    return {name: value for name, value in settings.items() if name in names}


def answered(controller: Sampled, t: Any, q: Any, v: Any, state: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
    """(answer, state after) of a controller that is asked."""
    if not controller.keeps:
        return controller.law(t, q, v, **inputs), None
    both = controller.law(t, q, v, state, **inputs)
    if not (isinstance(both, tuple) and len(both) == 2):
        raise SimulationError(
            f"Sampled: {controller.name} has a state and returned {type(both).__name__}, expected (tau, state)"
        )
    return both


class Block(NamedTuple):
    """One controller in the memory: [state, answers], the latest answer first.

    every: steps from sample to sample; whole, rest: its delay as whole periods and further steps. kept: layout of its
    state; shape: of its answer; begin: where its part of the memory begins.
    """

    controller: Sampled
    every: int
    whole: int
    rest: int
    kept: Kept
    shape: tuple[int, ...]
    begin: int

    @property
    def width(self) -> int:
        """Numbers of an answer."""
        return int(np.prod(self.shape))

    @property
    def answers(self) -> int:
        """Answers that are remembered."""
        return self.whole + (2 if self.rest else 1)

    @property
    def size(self) -> int:
        """Numbers in the memory."""
        return self.kept.size + self.answers * self.width


class Sampling:
    """The controllers of a run with steps of `step` [s], traced: one vector `memory` (size,), advanced at every step.

    settings: sizes of what laws take beside the state, by name (see `rollout`'s parameters). count: numbers of an
    answer that drives the robot, by default its nv torques.
    """

    def __init__(
        self,
        where: str,
        model: Model,
        torque: Sampled,
        step: float,
        settings: Mapping[str, int] | None = None,
        count: int | None = None,
    ) -> None:
        count = model.nv if count is None else count
        self.where, self.model, self.torque, self.step = where, model, torque, step
        self.settings = dict(settings or {})
        self.loops: dict[Any, Any] = {}  # of steps with these controllers, compiled; see `SampledFixed`
        self.blocks: list[Block] = []
        for controller in torque.chain():
            self._add(controller)
        if self.blocks[-1].shape != (count,):
            raise SimulationError(
                f"{where}: torque function {torque.name} returned shape {self.blocks[-1].shape}, expected "
                f"({count},) for robot {model.name!r}"
            )

    def _add(self, controller: Sampled) -> None:
        every, late = (self._steps(controller, name) for name in ("period", "delay"))
        kept, shape = self._shapes(controller)
        begin = self.size
        self.blocks.append(Block(controller, every, late // every, late % every, kept, shape, begin))

    def _steps(self, controller: Sampled, name: str) -> int:
        time = float(getattr(controller, name))
        count = round(time / self.step)
        if abs(time - count * self.step) > TIE * self.step * max(count, 1) or (name == "period" and not count):
            raise DalembertError(
                f"{self.where}: the {name} of {controller.name}, {time:g} s, is no multiple of the step, "
                f"{self.step:g} s"
            )
        return count

    def _shapes(self, controller: Sampled) -> tuple[Kept, tuple[int, ...]]:
        """The layout of its state and the shape of its answer, by tracing it once."""
        model, found = self.model, []
        sources = {id(block.controller): block.shape for block in self.blocks}

        def ask(t: Any, q: Any, v: Any, *given: Any) -> list[Any]:
            settings = settings_of(controller.law, dict(zip(self.settings, given, strict=True)))
            state = initial(model, controller, q, v) if controller.keeps else None
            kept = Kept.of(f"Sampled {controller.name}", state) if controller.keeps else NOTHING
            taken = kept.structured(np.array([*kept.flat("", state), t[0]], object)[:-1]) if controller.keeps else None
            inputs = {name: np.zeros(sources[id(each)]) + 0.0 * t[0] for name, each in controller.inputs.items()}
            answer, after = answered(controller, t[0], q, v, taken, inputs | settings)
            if controller.keeps:
                kept.flat(f"Sampled {controller.name}", after)
            found.append((kept, np.shape(answer)))
            return list(np.asarray(answer, object).ravel())

        sizes = {"t": 1, "q": model.nq, "v": model.nv, **self.settings}
        first = trace(ask, sizes, "sampled").fingerprint()
        try:
            same = trace(ask, sizes, "sampled").fingerprint() == first
        except Exception:  # it met what it kept of the first trace
            same = False
        if not same:
            raise SimulationError(
                f"{self.where}: {controller.name} gives another answer when it is asked again: it keeps a state, "
                "counts or draws random numbers: pass what it keeps as state=…"
            )
        return found[-1]

    @property
    def size(self) -> int:
        """Numbers in the memory."""
        return sum(block.size for block in self.blocks)

    def start(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The memory at the beginning: states as they start, answers of 0."""
        parts: list[Any] = []
        for block in self.blocks:
            if block.controller.keeps:
                parts += block.kept.flat(block.controller.name, initial(self.model, block.controller, q, v))
            parts += [0.0] * (block.answers * block.width)
        return np.array(parts, np.result_type(np.asarray(q), np.asarray(v), *map(np.asarray, parts or [0.0])))

    def advanced(
        self, number: Any, t: Any, q: np.ndarray, v: np.ndarray, memory: np.ndarray, settings: Mapping[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(tau (nv,) over step `number`, the memory after it)."""
        parts: list[np.ndarray] = []
        held: dict[int, Any] = {}
        for block in self.blocks:
            old = memory[block.begin : block.begin + block.size]
            controller = block.controller
            inputs = {name: held[id(each)] for name, each in controller.inputs.items()}
            inputs |= settings_of(controller.law, settings)
            phase = number - block.every * floor((number + 0.5) / block.every)
            new = self._sampled(block, phase, t, q, v, old, inputs)
            answers = new[block.kept.size :]
            now = answers[block.whole * block.width : (block.whole + 1) * block.width]
            if block.rest:
                before = answers[(block.whole + 1) * block.width :]
                now = where(phase > block.rest - 0.5, now, before)
            held[id(controller)] = now.reshape(block.shape) if block.shape else now[0]
            parts.append(new)
        return held[id(self.torque)], np.concatenate(parts)

    def _sampled(
        self, block: Block, phase: Any, t: Any, q: np.ndarray, v: np.ndarray, old: np.ndarray, inputs: dict[str, Any]
    ) -> np.ndarray:
        """A block's memory after this step: asked where its phase is 0, otherwise as it was."""

        def asked(memory: np.ndarray) -> np.ndarray:
            state, answers = memory[: block.kept.size], memory[block.kept.size :]
            structured = block.kept.structured(state) if block.controller.keeps else None
            answer, after = answered(block.controller, t, q, v, structured, inputs)
            kept = block.kept.flat(block.controller.name, after) if block.controller.keeps else []
            fresh = np.asarray(answer, object).ravel()
            return np.array([*kept, *fresh, *answers[: (block.answers - 1) * block.width]], object)

        if block.every == 1:
            return asked(old)

        def sample(memory: np.ndarray, done: Any) -> dict[str, Any]:
            return {"memory": asked(memory), "done": 1.0}

        waiting = where(absolute(phase) > 0.5, 1.0, 0.0)
        return repeat(sample, 1, {"memory": old, "done": waiting}, "done")["memory"]


def shared_sampling(
    where: str,
    model: Model,
    torque: Sampled,
    step: float,
    settings: Mapping[str, int] | None = None,
    count: int | None = None,
) -> Sampling:
    """As `Sampling`; that of an earlier run with the same controllers if there was one."""

    def prepare() -> Sampling:
        return Sampling(where, model, torque, step, settings, count)

    sizes = tuple((settings or {}).items())
    return _recent.get(code(where, model, torque, step, sizes, count), prepare)


_recent = Recent(32)


class _Asked:
    """A controller in Python: when it is asked next, what it keeps, and the answers that act or will act."""

    def __init__(self, controller: Sampled) -> None:
        self.controller, self.count = controller, 0
        self.state: Any = None
        self.answers: list[tuple[float, Any]] = []  # (from when on, answer), in order

    @property
    def next(self) -> float:
        """When it is asked again [s]."""
        return self.count * float(self.controller.period)

    def held(self, t: float) -> Any:
        """The answer that acts at a time; None before the first."""
        tie = TIE * float(self.controller.period)
        acting = [answer for begin, answer in self.answers if begin <= t + tie]
        return acting[-1] if acting else None

    def take(self, t: float, answer: Any) -> None:
        """An answer to the sample of now."""
        tie = TIE * float(self.controller.period)
        while len(self.answers) > 1 and self.answers[1][0] <= t + tie:
            del self.answers[0]
        self.answers.append((self.next + float(self.controller.delay), answer))
        self.count += 1

    def instants(self, t: float) -> list[float]:
        """Times after now at which something changes."""
        return [self.next, *(begin for begin, _ in self.answers)]


class Asking:
    """The controllers of a run as Python functions, asked in order; gives the legs between their instants.

    ask(controller, t, q, v, state, inputs) → (tau, state): calls the law of the torques and checks its answer.
    """

    def __init__(self, model: Model, torque: Sampled, count: int, ask: Callable[..., tuple[np.ndarray, Any]]) -> None:
        self.model, self.torque, self.count, self.ask = model, torque, count, ask
        self.asked = {id(each): _Asked(each) for each in torque.chain()}

    def legs(self, duration: float, now: Callable[[], tuple[float, np.ndarray, np.ndarray]]) -> Iterator[Leg]:
        """The legs, each with the torques (nv,) that are held over it; `now` gives t, q, v where a leg begins."""
        begin, shortest = 0.0, min(float(each.period) for each in self.torque.chain())
        tie = TIE * shortest
        while True:
            for each in self.asked.values():
                if each.next <= begin + tie and (begin + tie < duration or not each.count):
                    each.take(begin, self._answer(each, *now()))
            later = [x for each in self.asked.values() for x in each.instants(begin) if x > begin + tie]
            end = min(later)
            end = duration if end > duration - tie else end
            acting = self.asked[id(self.torque)].held(begin)
            yield Leg.single(Command.held(np.zeros(self.count) if acting is None else acting).flat(), end)
            if end >= duration:
                return
            begin = end

    def _answer(self, each: _Asked, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        controller = each.controller
        if controller.keeps and not each.count:
            each.state = initial(self.model, controller, q, v)
        inputs = {}
        for name, source in controller.inputs.items():
            held = self.asked[id(source)].held(t)
            inputs[name] = np.zeros_like(self.asked[id(source)].answers[-1][1]) if held is None else held
        at = each.next
        if controller is self.torque:
            answer, each.state = self.ask(controller, at, q, v, each.state, inputs)
            return answer
        answer, each.state = answered(controller, at, q.copy(), v.copy(), each.state, inputs)
        return np.array(answer, float)
