"""One run from beginning to end: legs of the torque law, engines, recording, and what to say when it stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.algorithms import normalize
from dalembert.errors import DalembertError
from dalembert.execute import content, real_array
from dalembert.functions.guards import check_quaternions
from dalembert.interop import is_foreign, on_host
from dalembert.model import Model

from ..elements.base import Element
from ..elements.limits import HardStop
from ..failure import SimulationError
from ..system.laws import Checked, Drive, drive
from .advice import why_and_what
from .compiled import ADAPTIVE, HELD, Programs, programs
from .engines import DEFAULT_STEP, Adaptive, Chunk, Engine, Fixed, State, Trouble, engine, steps_between
from .events import Event, Watch
from .initial import closed_start
from .ledger import Ledger
from .limits import beyond_limits
from .progress import Progress
from .record import Recorder
from .run import Run

PACE, SHORTEST = 256, 1e-10  # steps after which the pace is looked at; average step relative to the duration


def simulate(
    model: Model,
    q: Any,
    v: Any,
    duration: float,
    torque: Any = None,
    integrator: str = "rk45",
    step: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    record: float | None = 0.01,
    elements: Sequence[Element] = (),
    events: Sequence[Event] = (),
    progress: bool | None = None,
) -> Run:
    """See `Robot.simulate`."""
    if not model.nv:
        raise DalembertError(f"simulate: robot {model.name!r} has no joint that moves")
    q, v = on_host("simulate", q, v)
    q, v = _state(model, "q", q, model.nq), _state(model, "v", v, model.nv)
    if isinstance(torque, tuple):
        torque = tuple(on_host("simulate", *torque))
    elif is_foreign(torque):
        (torque,) = on_host("simulate", torque)
    _check_settings(duration, step, rtol, atol, record)
    made, watched = _each("elements", elements, Element, "force elements"), _each("events", events, Event, "Events")
    for element in made:
        model = element.prepared(model)
    given = drive(model, torque, float(duration))
    compiled = programs(model, made, given, integrator)
    if given.called and integrator not in HELD and isinstance(given.function, Checked):
        given.function.check_repeatable(q, v)
    z = [element.start(model, q, v) for element in made]
    e = np.concatenate([v, *z, np.zeros(len(compiled.system.entries))])
    even, said = _even_step(integrator, step, float(duration), record)
    settings = {"integrator": integrator, "step": even, "rtol": rtol, "atol": atol, "duration": float(duration)}
    run = _Simulation(compiled, given, settings, record, watched, progress)
    start, moved = closed_start(compiled, State(0.0, normalize(model, q), e))
    run.log += [*said, *moved]
    return run.run(start)


def _each(name: str, given: Any, kind: type[Any], what: str) -> tuple[Any, ...]:
    """A sequence of elements or events as a tuple."""
    try:
        made = tuple(given)
    except TypeError:
        raise DalembertError(f"simulate: {name} is one {type(given).__name__}: write {name}=[…]") from None
    for each in made:
        if not isinstance(each, kind):
            raise DalembertError(f"simulate: {name}: expected {what}, got {type(each).__name__}")
    return made


def _even_step(
    integrator: str, step: float | None, duration: float, record: float | None
) -> tuple[float | None, list[str]]:
    """The step that leads from record to record, at most the one asked for, and what to tell of it; None: adaptive."""
    if step is None and integrator in ADAPTIVE:
        return None, []
    asked = DEFAULT_STEP if step is None else float(step)
    way = duration if record is None else min(float(record), duration)
    even = way / steps_between(0.0, way, asked)
    if step is not None and abs(even - asked) <= 1e-9 * asked:
        return even, []
    return even, [f"step: {even:.6g} s" + ("" if step is None else f", not {asked:g}, to meet the records")]


class _Simulation:
    """A run in progress."""

    def __init__(
        self,
        compiled: Programs,
        given: Drive,
        settings: dict[str, Any],
        record: float | None,
        events: tuple[Event, ...],
        progress: bool | None,
    ) -> None:
        self.compiled, self.drive, self.settings, self.record = compiled, given, settings, record
        elements = compiled.system.elements
        sudden = bool(events) or given.timed or any(isinstance(e, HardStop) or content(e) is None for e in elements)
        most = (record or settings["duration"] / 100.0) if sudden else np.inf  # else steps may pass over what is short
        self.engine: Engine = engine(compiled, settings["step"], settings["rtol"], settings["atol"], most)
        self.watch = Watch(compiled, self.engine, events)
        self.log, self.steps = list(given.log), 0
        self.held = given.called and compiled.integrator in HELD
        if self.held:
            self.log.append(f"torque: asked once per step, then held ({compiled.integrator})")
        self.progress = Progress(settings["duration"], progress)
        self.ended, self.state = False, State(0.0, np.zeros(0), np.zeros(0))
        self.mark = 0, 0.0  # steps and time [s] at which the pace was looked at

    def run(self, state: State) -> Run:
        """From the state at the beginning to the end, or as far as it goes."""
        duration, start, self.state = self.settings["duration"], state, state
        first = None if self.drive.called or self.drive.sampled else self.drive.values[0]
        recorder = Recorder(self.compiled, state, duration, self.record, first)
        try:
            for end, u in self._legs():
                if self.drive.sampled:
                    recorder.driven(u)
                while self.state.t < end and not self.ended:
                    self.state = self._block(self.state, float(end), u, recorder)
                if self.ended:
                    break
        except Trouble as trouble:
            if trouble.chunk is not None:
                recorder.take(trouble.chunk, recorder.last_u)
            error = SimulationError(why_and_what(self.compiled, trouble, start, self.settings, recorder.last_u))
            error.run = self._result(recorder)
            raise error from None
        except SimulationError as error:
            error.run = self._result(recorder)
            raise
        except KeyboardInterrupt:
            self.log.append(f"interrupted at t = {self.state.t:.6g} s of {duration:g} s")
        finally:
            self.progress.close()
        return self._result(recorder)

    def _legs(self) -> Iterator[tuple[float, np.ndarray]]:
        """(end of each leg [s], what drives it); legs go together where an engine takes rows of them."""
        duration, step = self.settings["duration"], self.settings["step"]
        if self.drive.sampled:
            yield from self.drive.sampled.legs(duration, lambda: self._asked(self.state))
            return
        ends = np.append(self.drive.times[1:], duration)
        if len(ends) > 1 and isinstance(self.engine, Adaptive) and not self.engine.lands and not self.watch.active:
            yield duration, np.column_stack([self.drive.values, ends])
            return
        if len(ends) > 1 and isinstance(self.engine, Fixed) and not self.watch.active and not self.drive.called:
            lengths = np.diff(ends, prepend=0.0)
            counts = np.rint(lengths / step).astype(int)
            whole = int(counts.sum()) == steps_between(0.0, duration, step) and self._in_one_block(step)
            if whole and np.abs(lengths - counts * step).max() < 1e-9 * step and counts.min() > 0:
                yield duration, np.repeat(self.drive.values, counts, axis=0)
                return
        for end, u in zip(ends, self.drive.values, strict=True):
            yield float(end), u

    def _in_one_block(self, step: float) -> bool:
        """Whether all records are equally far apart."""
        every = self.settings["duration"] / (self.record or step)
        return abs(every - round(every)) < 1e-9 * every

    def _block(self, state: State, end: float, u: np.ndarray, recorder: Recorder) -> State:
        """Advance over one block of the way to `end`, or to the first event on it."""
        stop, nodes = recorder.block(state.t, end, self.engine)
        if self.held:
            count = (nodes or 1) * steps_between(0.0, (stop - state.t) / (nodes or 1), self.settings["step"])
            stop, nodes = state.t + (stop - state.t) / count if count > 1 else stop, None
            u = self._asked(state)
            recorder.driven(u)
        for chunk in self.engine.advance(state, stop, u, nodes, self.watch.active):
            event = self.watch.first(chunk, u) if self.watch.active else None
            if event is not None:
                return self._event(chunk, event, state.t, u, recorder)
            recorder.take(chunk, u)
            state = chunk.end
            self.steps += chunk.steps
            self._check_pace(state)
            self.progress.show(state.t)
        return state

    def _check_pace(self, state: State) -> None:
        """Raise if the steps became so short that the run would take hours: a motion that explodes, slowly."""
        steps, t = self.mark
        if self.steps - steps < PACE:
            return
        if state.t - t < SHORTEST * (self.steps - steps) * self.settings["duration"]:
            why = f"{self.steps - steps} steps led only {state.t - t:.1e} s further"
            laws = "; a torque law with too high gains, or asked too seldom, does that" if self.drive.function else ""
            raise Trouble(state, why + laws)
        self.mark = self.steps, state.t

    def _event(
        self, chunk: Chunk, event: tuple[int, int, float], begin: float, u: np.ndarray, recorder: Recorder
    ) -> State:
        """The state after an event; what lies before it is recorded."""
        step, number, after = event
        before = self.watch.state(chunk, step, after, u)
        recorder.take(chunk.cut(step + 1), u, until=before.t)
        recorder.node(before, u)
        self.steps += step + 1
        again = before.t - begin <= 1e-12 * max(1.0, abs(begin)) and bool(self.watch.log)
        state, self.ended = self.watch.happen(number, before, again)
        if self.ended:
            self.log.append(f"ended by event {self.watch.log[-1].name!r} at t = {state.t:.9g} s")
            if self.record is not None:
                recorder.final(before, u)
        return state

    def _asked(self, state: State) -> np.ndarray:
        n = self.compiled.system.model.nv
        assert self.drive.function is not None
        return np.concatenate([self.drive.function(state.t, state.q, state.e[:n]), np.zeros(n + 1)])

    def _result(self, recorder: Recorder) -> Run:
        system = self.compiled.system
        t, q, e, u = recorder.arrays()
        tau, energies, multipliers = self._observed(t, q, e, u)
        w = e[:, system.measured :]
        accounts: dict[str, dict[str, np.ndarray]] = {"work": {}, "heat": {}}
        for k, entry in enumerate(system.entries):
            accounts[entry.kind][entry.name] = w[:, k]
        kinetic, potential, elastic = energies.T
        ledger = Ledger(kinetic, potential, elastic, accounts["work"], accounts["heat"])
        n = system.model.nv
        states = e[:, n : system.measured]
        return Run(
            system.model.name,
            system.model.coordinate_names,
            system.model.freedom_names,
            t,
            q,
            e[:, :n],
            tau,
            states,
            ledger,
            multipliers,
            tuple(self.watch.log),
            (*self.log, *beyond_limits(system.model, system.elements, t, q, e[:, :n], tau)),
            self.steps,
            dict(self.settings),
            system.model.coordinate_units,
            system.model.freedom_units,
        )

    def _observed(self, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """Torques, energies and constraint forces at the recorded times."""
        n = self.compiled.system.model.nv
        if self.drive.called and not self.held:
            assert self.drive.function is not None
            tau = np.array([self.drive.function(x, y, z[:n]) for x, y, z in zip(t, q, e, strict=True)])
            u = np.concatenate([tau, np.zeros((len(t), n + 1))], axis=1)
        made = self.compiled.observed({"t": t[:, None], "q": q, "e": e, "u": u}, (len(t),))
        return made["tau"], made["energies"], made.get("multipliers", np.zeros((len(t), 0)))


def _state(model: Model, name: str, x: Any, size: int) -> np.ndarray:
    expected = f"expected ({size},) for robot {model.name!r}"
    array = real_array(f"simulate: {name}", x, expected).astype(float)
    if array.shape != (size,):
        raise DalembertError(f"simulate: {name} has shape {array.shape}, {expected}; `rollout` takes batches")
    if not np.all(np.isfinite(array)):
        raise DalembertError(f"simulate: {name}[{int(np.argmin(np.isfinite(array)))}] is not finite, {expected}")
    check_quaternions(model, "simulate", {name: array} if name == "q" else {})
    return array


def _check_settings(duration: Any, step: Any, rtol: Any, atol: Any, record: Any) -> None:
    given = {"duration": duration, "step": step, "rtol": rtol, "atol": atol, "record": record}
    for name, value in given.items():
        if value is None and name in ("step", "record"):
            continue
        if not (isinstance(value, (int, float, np.number)) and 0.0 < float(value) < np.inf):
            raise DalembertError(f"simulate: {name} is {value!r}, expected a number above 0")
