"""Events: numbers that change sign during a run, located to round-off, and what then happens to the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.errors import DalembertError

from ..elements.limits import HardStop, limits
from ..system.system import System, labels
from .compiled import Programs
from .engines import Chunk, Engine, State


@dataclass(frozen=True)
class Event:
    """A condition on the motion: function(t, q, v) → a number, traced; the event is where it changes sign.

    direction: 1 only from negative to positive, −1 only the other way, 0 both; terminal: the run ends there.
    """

    name: str
    function: Callable[[Any, np.ndarray, np.ndarray], Any]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DalembertError(
                f"event {self.name!r}: function is of type {type(self.function).__name__}, expected (t, q, v) → number"
            )
        if self.direction not in (-1, 0, 1):
            raise DalembertError(f"event {self.name!r}: direction is {self.direction!r}, expected -1, 0 or 1")

    def number(self, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        """The number of a traced state, checked."""
        try:
            value = np.asarray(self.function(t, q, v), object)
        except DalembertError as error:
            raise DalembertError(f"event {self.name!r}: {error}") from None
        if value.size != 1:
            raise DalembertError(f"event {self.name!r}: function returned shape {value.shape}, expected one number")
        return value.reshape(())[()]


class Happening(NamedTuple):
    """An event that took place: its name, t [s], q (nq,), v (nv,) just before it."""

    name: str
    t: float
    q: np.ndarray
    v: np.ndarray


class Watch:
    """Looks at the steps of a run for events: those of elements (hard stops) and those of the user."""

    def __init__(self, programs: Programs, engine: Engine, events: tuple[Event, ...]) -> None:
        self.programs, self.engine, self.events = programs, engine, events
        system = programs.system
        self.stops = [e for e in system.elements if isinstance(e, HardStop)]
        self.log: list[Happening] = []
        self._numbers = programs.watched(events) if self.active else None

    @property
    def active(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.events or self.stops)

    def first(self, chunk: Chunk, u: np.ndarray) -> tuple[int, int, float] | None:
        """(step of the chunk, number of the event, time after the step's begin [s]) of the first event, or None."""
        values = self._values(chunk.t, chunk.q, chunk.e, u)
        crossed = self._crossed(values[:-1], values[1:])
        if not crossed.any():
            return None
        step = int(np.argmax(crossed.any(axis=1)))
        h = chunk.t[step + 1] - chunk.t[step]
        begin = State(float(chunk.t[step]), chunk.q[step], chunk.e[step])
        found = [(self._located(begin, h, u, int(k)), int(k)) for k in np.flatnonzero(crossed[step])]
        after, number = min(found)
        return step, number, after

    def state(self, chunk: Chunk, step: int, after: float, u: np.ndarray) -> State:
        """Where the motion is at the event."""
        begin = State(float(chunk.t[step]), chunk.q[step], chunk.e[step])
        return self.engine.once(begin, after, u) if after > 0.0 else begin

    def happen(self, number: int, state: State, again: bool) -> tuple[State, bool]:
        """The state just after an event, and whether the run ends. again: at the time of the last one."""
        n = self.programs.system.model.nv
        own = 3 * len(self.stops)
        name = self.stops[number // 3].label() if number < own else self.events[number - own].name
        self.log.append(Happening(name, float(state.t), state.q.copy(), state.e[:n].copy()))
        if number >= own:
            return state, self.events[number - own].terminal
        stop = self.stops[number // 3]
        if number % 3 == 2:
            return _released(self.programs, stop, state), False
        return _impact(self.programs, stop, state, -1 if number % 3 == 0 else 1, again), False

    def _values(self, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        inputs = {"t": np.asarray(t)[:, None], "q": q, "e": e, "u": u}
        assert self._numbers is not None
        return self._numbers(inputs, (len(t),))["gaps"]

    def _crossed(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Whether each number changed sign the way its event asks."""
        own = 3 * len(self.stops)
        directions = np.array([-1] * own + [event.direction for event in self.events])
        falls, rises = (before >= 0.0) & (after < 0.0), (before <= 0.0) & (after > 0.0)
        rises &= before != after
        both = falls & (before > 0.0) | rises & (before < 0.0)
        return np.where(directions < 0, falls, np.where(directions > 0, rises & (before < 0.0), both))

    def _located(self, begin: State, h: float, u: np.ndarray, number: int) -> float:
        """The first time after a step's begin at which a number has changed sign, by bisection and secants in turn."""

        def value(after: float) -> float:
            state = self.engine.once(begin, after, u) if after > 0.0 else begin
            return float(self._values(np.array([state.t]), state.q[None], state.e[None], u)[0, number])

        low, high, f_low, f_high = 0.0, h, value(0.0), value(h)
        falling = f_high < 0.0
        for k in range(80):
            if high - low <= 4.0 * np.finfo(float).eps * max(abs(begin.t), h):
                break
            guess = 0.5 * (low + high)
            if k % 3 and f_low != f_high:
                secant = low - f_low * (high - low) / (f_high - f_low)
                guess = (
                    min(max(secant, low + 0.01 * (high - low)), high - 0.01 * (high - low)) if k % 3 == 1 else secant
                )
                if not low < guess < high:
                    guess = 0.5 * (low + high)
            f = value(guess)
            if (f < 0.0) == falling and f != 0.0:
                high, f_high = guess, f
            else:
                low, f_low = guess, f
        return high  # beyond it, so that the same event is not found again


def _impact(programs: Programs, stop: HardStop, state: State, side: int, again: bool) -> State:
    """A joint meets its stop: an impulse turns its speed round, or ends it; the energy lost is the stop's."""
    system = programs.system
    model, n = system.model, system.model.nv
    body, (lower, upper) = model.joint(stop.joint), limits(model, stop)
    q, e = state.q.copy(), state.e.copy()
    q[body.q] = lower if side < 0 else upper
    v, k = e[:n].copy(), body.v.start
    slow = again or abs(v[k]) <= stop.rest_speed or stop.restitution == 0.0
    J = np.eye(n)[[k, *_resting(programs, state, k)]]
    if system.closing_count:  # the impulse goes through closed loops too
        J = np.concatenate([J, programs.closing({"q": q, "v": v})["J"][0]])
    wanted = -(J @ v)
    wanted[0] *= 1.0 if slow else 1.0 + stop.restitution
    M = algorithms.mass_matrix(model, q)
    response = np.linalg.solve(M, J.T)
    e[:n] = v + response @ (np.linalg.pinv(J @ response, rcond=1e-10, hermitian=True) @ wanted)
    lost = 0.5 * (v @ M @ v - e[:n] @ M @ e[:n])
    if slow:
        e[k] = 0.0
        e[_mode(system, stop)] = float(side)
    account = [(entry.kind, entry.name) for entry in system.entries].index(("heat", _label(system, stop)))
    e[system.measured + account] += lost
    return State(state.t, q, e)


def _released(programs: Programs, stop: HardStop, state: State) -> State:
    """The joint leaves its stop, from where that is: beyond it by round-off, it could not meet it again."""
    system, body = programs.system, programs.system.model.joint(stop.joint)
    q, e, mode = state.q.copy(), state.e.copy(), _mode(programs.system, stop)
    q[body.q] = limits(system.model, stop)[0 if e[mode] < 0.0 else 1]
    e[mode] = 0.0
    return State(state.t, q, e)


def _resting(programs: Programs, state: State, but: int) -> list[int]:
    """Freedoms that rest on other stops."""
    system = programs.system
    found = []
    for element in system.elements:
        if isinstance(element, HardStop) and abs(state.e[_mode(system, element)]) > 0.5:
            k = system.model.joint(element.joint).v.start
            found += [k] if k != but else []
    return found


def _mode(system: System, stop: HardStop) -> int:
    """Where the state of a stop lies in e."""
    at = system.model.nv
    for element in system.elements:
        if element is stop:
            return at
        at += element.size(system.model)
    raise DalembertError(f"{stop.label()} is not part of the run")


def _label(system: System, stop: HardStop) -> str:
    return next(
        label for element, label in zip(system.elements, labels(system.elements), strict=True) if element is stop
    )
