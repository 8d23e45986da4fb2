"""Torque laws: what people may pass as `torque`, and the system that it drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compiler.execute import Recent, code, is_traced, real_array
from dalembert.compiler.graph import TracedValueError, trace
from dalembert.dynamics.algorithms import integrate
from dalembert.errors import DalembertError
from dalembert.math.arrays import asked
from dalembert.model import Model

from ..elements.base import Element
from ..elements.drive import Actuators
from ..failure import SimulationError
from .drive import Command
from .planner import sampled
from .sampled import Sampled, sample
from .system import Law


@dataclass(frozen=True, eq=False)
class Drive:
    """How a run is driven: a command for each leg between `times`, or a law.

    times (k,): begin of each leg [s], the first 0; values (k, nu): the command of each leg, flat.
    function: the law, traced, called or sampled, or None. called: the law is a Python function that cannot be traced;
    sampled: it is called at the beginning of each period, and its answer held. timed: the law may change with time.
    log: what the user should know.
    """

    times: np.ndarray
    values: np.ndarray
    function: Law | None = None
    called: bool = False
    sampled: Sampled | None = None
    timed: bool = False
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """The kind of input that drives a robot: its word ("torque", "controls"), and a name for each number (n,)."""

    word: str
    names: tuple[str, ...]
    model: Model

    @classmethod
    def torques(cls, model: Model) -> Inputs:
        """Generalised forces (nv,)."""
        return cls("torque", model.freedom_names, model)

    @property
    def count(self) -> int:
        """The number of inputs."""
        return len(self.names)

    @property
    def named(self) -> str:
        """The owner of a single one."""
        return "joint" if self.word == "torque" else "actuator"


def chosen_inputs(
    where: str, model: Model, torque: Any, controls: Any
) -> tuple[Inputs, Any, tuple[Element, ...], list[str]]:
    """The inputs of the robot, their value, the elements that turn it into forces, and lines for the log."""
    if torque is not None and controls is not None:
        raise DalembertError(
            f"{where}: got both torque and controls: controls drive the actuators, torque acts in their place"
        )
    if controls is not None:
        actuators = Actuators.of(model, where)
        return Inputs("controls", actuators.names, model), sampled(controls), (actuators,), []
    said = []
    if model.actuators:
        verb = "are not used: torque acts in their place" if torque is not None else "are off: nothing drives the robot"
        said = [f"actuators: the {len(model.actuators)} of the model {verb}; controls=… drives them"]
    return Inputs.torques(model), sampled(torque), (), said


def drive(inputs: Inputs, value: Any, duration: float, settings: Mapping[str, int] | None = None) -> Drive:
    """From None, an array, (times, values), or a function of (t, q, v).

    settings: sizes of what a function takes beside the state, by name.
    """
    n, word = inputs.count, inputs.word
    if value is None:
        return Drive(np.zeros(1), np.zeros((1, 0)))
    if isinstance(value, Sampled):
        return _sampled(inputs, value)
    if callable(value):
        return _function(inputs, value, settings or {})
    if isinstance(value, tuple) and len(value) == 2 and (np.ndim(value[1]) == 2 or (n == 1 and np.ndim(value[1]))):
        return _linear(inputs, *value, duration)
    robot = f"for robot {inputs.model.name!r}"
    values = _numbers(inputs, value, f"expected ({n},) or (steps, {n}) {robot}")
    if values.shape == (n,):
        values = values[None]
    if values.ndim != 2 or values.shape[1] != n or not len(values):
        raise DalembertError(
            f"simulate: {word} has shape {values.shape}, expected ({n},) constant, (steps, {n}) over the duration, "
            f"(times, values), a function of (t, q, v), or Sampled(function, period), {robot}"
        )
    times = np.arange(len(values)) * (duration / len(values))
    u = np.array([Command.held(row).flat() for row in values])
    log = (f"{word}: {len(values)} rows, each held for {duration / len(values):.6g} s",) if len(values) > 1 else ()
    return Drive(times, u, log=log)


def _linear(inputs: Inputs, times: Any, values: Any, duration: float) -> Drive:
    """Straight lines between points; the first and last value hold outside."""
    n = inputs.count
    t = _numbers(inputs, times, "expected times (k,)")
    x = _numbers(inputs, values, f"expected values (k, {n})")
    x = x[:, None] if x.ndim == n == 1 else x
    if t.ndim != 1 or x.shape != (len(t), n) or len(t) < 2 or np.any(np.diff(t) <= 0.0):
        raise DalembertError(
            f"simulate: {inputs.word} is (times {t.shape}, values {x.shape}), expected rising times (k,) with k ≥ 2 "
            f"and values (k, {n})"
        )
    slopes = np.diff(x, axis=0) / np.diff(t)[:, None]
    legs = [(0.0, x[0], np.zeros(n), 0.0)] if t[0] > 0.0 else []
    legs += [(t[k], x[k], slopes[k], t[k]) for k in range(len(t) - 1)]
    legs.append((t[-1], x[-1], np.zeros(n), t[-1]))
    current = max(k for k, leg in enumerate(legs) if leg[0] <= 0.0)
    legs = [leg for leg in legs[current:] if leg[0] < duration]
    begins = np.array([max(leg[0], 0.0) for leg in legs])
    u = np.array([Command(value, slope, since).flat() for _, value, slope, since in legs])
    return Drive(begins, u, log=(f"{inputs.word}: straight lines between {len(t)} points",))


def _numbers(inputs: Inputs, x: Any, expected: str) -> np.ndarray:
    a = real_array(f"simulate: {inputs.word}", x, expected).astype(float)
    if not np.all(np.isfinite(a)):
        raise DalembertError(f"simulate: {inputs.word} has NaN or inf, expected finite numbers")
    return a


def _sampled(inputs: Inputs, torque: Sampled) -> Drive:
    log = []
    for each in reversed(torque.chain()):
        late = f", acting {each.delay:g} s later" if each.delay else ""
        what = inputs.word if each is torque else "input"
        log.append(f"{what}: {each.name} is called every {each.period:g} s{late}, then held")
    nothing = np.zeros((1, Command.size(inputs.count)))
    return Drive(np.zeros(1), nothing, Checked(inputs, torque.name, torque.law), sampled=torque, log=tuple(log))


def _name(law: Callable[..., Any]) -> str:
    return getattr(law, "__name__", type(law).__name__)


def _function(inputs: Inputs, law: Callable[..., Any], settings: Mapping[str, int]) -> Drive:
    """Traced if it can be, called back otherwise."""
    name, sizes = _name(law), {"t": 1, "q": inputs.model.nq, "v": inputs.model.nv, **settings}

    def on_vectors(t: Any, q: Any, v: Any, *values: Any) -> np.ndarray:
        return _shaped(inputs, name, asked(law, t[0], q, v, **dict(zip(settings, values, strict=True))))

    def examined() -> tuple[str, bool]:
        """The traced result, and whether it depends on time."""
        traced = trace(on_vectors, sizes, "torque")
        try:
            same = trace(on_vectors, sizes, "torque").fingerprint() == traced.fingerprint()
        except Exception:  # it met what it kept of the first trace
            same = False
        if not same:
            raise changing(inputs.word, name)
        return traced.fingerprint(), any(n.op == "input" and n.value[0] == "t" for n in traced.schedule())

    try:
        fingerprint, timed = _examined.get(code(law, inputs, tuple(sizes.items())), examined)
    except SimulationError:
        raise
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        why = " ".join(str(error).split()) or type(error).__name__
        log = (f"{inputs.word}: {name} cannot be traced ({why}) and is called back from Python, which is slower",)
        nothing = np.zeros((1, Command.size(inputs.count)))
        return Drive(np.zeros(1), nothing, Checked(inputs, name, law), True, timed=True, log=log)
    return Drive(np.zeros(1), np.zeros((1, 0)), TracedLaw(law, fingerprint), timed=timed)


_examined = Recent(64)  # by the code of a law and all that it refers to: what it was found to compute


def changing(word: str, name: str) -> SimulationError:
    """The error for a law that is no function of (t, q, v)."""
    return SimulationError(
        f"simulate: {word} function {name} gives another answer when it is called again: it keeps a state, counts or "
        "draws random numbers, while an integrator asks at trial times, more than once, and not in order: pass "
        f"dalembert.Sampled({name}, period), which asks once per period"
    )


@dataclass(frozen=True, eq=False)
class TracedLaw:
    """A law that can be traced, known by what it computes now: a function may change with what it refers to."""

    function: Law
    fingerprint: str

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, **settings: Any) -> Any:
        return self.function(t, q, v, **settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedLaw) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _shaped(inputs: Inputs, name: str, answer: Any) -> np.ndarray:
    array = np.asarray(answer)
    if array.shape != (inputs.count,):
        raise SimulationError(
            f"simulate: {inputs.word} function {name} returned shape {array.shape}, expected ({inputs.count},) for "
            f"robot {inputs.model.name!r}"
        )
    return array


@dataclass(frozen=True, eq=False)
class Checked:
    """A law of the user's that is called for numbers, which are checked."""

    inputs: Inputs
    name: str
    law: Callable[..., Any]

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        try:
            answer = self.law(float(t), q.copy(), v.copy())
        except TracedValueError:  # it kept something from the attempt to trace it
            raise changing(self.inputs.word, self.name) from None
        return self._checked(t, q, v, answer)

    def sample(
        self, controller: Sampled, t: float, q: np.ndarray, v: np.ndarray, state: Any, held: Mapping[str, Any]
    ) -> tuple[np.ndarray, Any]:
        """(tau, state after) of a call of a controller."""
        try:
            answer, after = sample(controller, t, q.copy(), v.copy(), state, held)
        except TracedValueError:
            raise changing(self.inputs.word, self.name) from None
        return self._checked(t, q, v, answer), after

    def _checked(self, t: Any, q: np.ndarray, v: np.ndarray, answer: Any) -> np.ndarray:
        """The answer (nv,), if it consists of numbers."""
        if is_traced(answer):
            raise changing(self.inputs.word, self.name)
        word = self.inputs.word
        expected = f"expected ({self.inputs.count},) for robot {self.inputs.model.name!r}"
        try:
            answer = real_array(f"simulate: what {word} function {self.name} returned", answer, expected)
        except DalembertError as error:
            raise SimulationError(str(error)) from None
        numbers = _shaped(self.inputs, self.name, answer.astype(float))
        if not np.all(np.isfinite(numbers)):
            k = int(np.argmin(np.isfinite(numbers)))
            raise SimulationError(
                f"simulate: at t = {float(t):.6g} s {word} function {self.name} returned {numbers[k]} for "
                f"{self.inputs.named} {self.inputs.names[k]!r}, expected finite numbers: look at what it does with "
                f"q = {q}, v = {v}"
            )
        return numbers

    def check_repeatable(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise if its answer at the start changes after a call at another state."""
        model, first = self.inputs.model, self(0.0, q, v)
        self(1e-3, integrate(model, q, np.full(model.nv, 1e-3)), v + 1e-3)
        if not np.array_equal(first, self(0.0, q, v)):
            raise changing(self.inputs.word, self.name)
