"""Numbers that reach zero at an impact of a fixed step, which both ends of the step are away from.

A step with rigid contact ends as far from the surface as a body has come since it bounced. The number is then followed
from the begin of the step at the velocity there, as far as contact is looked for: 1.5 steps. It has been at zero if it
would get there, contacts have pushed in the step, and it does not approach zero behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.math.tolerances import ROUNDED
from dalembert.typing import Array

from ..failure import SimulationError
from ..system.system import System
from .compiled import Programs, gap_counts
from .engines import Chunk, Engine, State
from .run import Event

LOOK_AHEAD = 1.5  # steps: a contact that closes within them is solved for
FREE = 0.6  # of the time to an impact: a shorter step that ends before the contact is looked for
NEAR = 1e-7  # of the step: an impact that is nearer in time is now
ROUNDS = 32  # of such steps, of which about 18 leave 1e-7 of the time

Numbers = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of states t (k,), q (k, nq), e (k, ne)


class Bounces:
    """Impacts in steps of a system; numbers: of its gaps and events, directions (n,): in which they may pass zero."""

    def __init__(self, system: System, engine: Engine, numbers: Numbers, directions: Array) -> None:
        self.system, self.engine, self.numbers, self.directions = system, engine, numbers, directions

    def seen(self, chunk: Chunk, numbers: Array, signs: Array) -> Array:
        """Which numbers (k, n) reach zero at an impact within each step; numbers, signs (k + 1, n): at its nodes."""
        reached = np.zeros((len(chunk.t) - 1, len(self.directions)), bool)
        memory = self.system.contact_memory(chunk.e[1:])
        steady = (signs[:-1] == signs[1:]) & (signs[:-1] * self.directions <= 0) & (signs[:-1] != 0)
        for k in np.flatnonzero((memory.contacts[:, ::3] > 0.0).any(axis=1) & steady.any(axis=1)):
            h, sign = chunk.t[k + 1] - chunk.t[k], signs[k]
            ends = [self._ahead(self._at(chunk, int(k)), LOOK_AHEAD * h), self._ahead(self._at(chunk, int(k) + 1), h)]
            before, after = self.numbers(*(np.array(x) for x in zip(*ends, strict=True)))
            reached[k] = steady[k] & (sign * before <= 0.0) & (sign * after >= sign * numbers[k + 1])
        return reached

    def located(self, chunk: Chunk, step: int, which: Array, u: Array) -> State:
        """The state just before the first of these impacts, within the chunk.

        An impact is looked for ahead of the step over it: where it lies behind the step's end, that node becomes the
        state without it.
        """
        state, end = self._at(chunk, step), float(chunk.t[step + 1])
        last = min(end + (LOOK_AHEAD - 1.0) * (end - state.t), float(chunk.t[-1]))
        for _ in range(ROUNDS):
            limit = end if state.t < end else last
            left = self._time(state, last, which)
            if state.t >= last or left <= NEAR * (end - float(chunk.t[step])):
                break
            time = min(FREE * left, limit - state.t)
            state = self.engine.once(state, time, u)
            if limit - state.t <= ROUNDED * limit:
                state = state._replace(t=limit)
            if state.t == end:
                chunk.q[step + 1], chunk.e[step + 1] = state.q, state.e
        return state

    def _time(self, state: State, end: float, which: Array) -> float:
        """How long [s] the first of some numbers takes to zero at the velocity of a state, until a time `end`."""
        far = self._ahead(state, end - state.t)
        here, there = self.numbers(*(np.array(x) for x in zip(state, far, strict=True)))[:, which]
        shares = np.abs(here) / np.maximum(np.abs(here - there), np.finfo(float).tiny)
        return float(np.minimum(shares, 1.0).min()) * (end - state.t)

    def _ahead(self, state: State, time: float) -> State:
        """The state after a time [s] at its velocity."""
        v = self.system.layout.velocity(state.e)
        q = np.asarray(integrate(self.system.model, state.q, time * v), float)
        return State(state.t + time, q, state.e)

    def _at(self, chunk: Chunk, k: int) -> State:
        return State(float(chunk.t[k]), chunk.q[k], chunk.e[k])


RESOLUTION = 1e-12  # [m, rad, or per s]: what is clearly positive or negative
ROUNDING = 1e-12  # of the change of an event's number over a step: nearer to zero at an impact, it is zero

Torques = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of states (t, q, e) (k, …) → u (k, nu)


class UndefinedEvent(SimulationError):
    """An event whose number is NaN. chunk: the steps before it that are not recorded yet."""

    def __init__(self, message: str, chunk: Chunk | None) -> None:
        super().__init__(message)
        self.chunk = chunk


class GuardCrossing(NamedTuple):
    """The first thing that happens in a chunk: in which step, the state there, and which guards fire (ng,)."""

    step: int
    state: State
    fired: Array
    before: Array  # (ng,) numbers where the step began
    never_left: Array  # (nm,): rows that fire without having been clearly away from zero since they began


class GuardWatch:
    """The guards of a run: those of constraint rows, of gaps of elements, of the user's events, in this order."""

    def __init__(self, programs: Programs, engine: Engine, events: tuple[Event, ...], torques: Torques | None) -> None:
        self.programs, self.engine, self.events, self._torques = programs, engine, events, torques
        self.rows = programs.system.layout.nm
        self.gaps = [(k, j) for k, n in enumerate(gap_counts(programs.system)) for j in range(n)]
        self.count = self.rows + len(self.gaps) + len(events)
        self._numbers = programs.watched(events) if self.count else None
        directions = [-1] * len(self.gaps) + [event.direction for event in events]
        self._directions = np.array(directions, int)
        self._armed = np.zeros(self.rows, bool)
        self._signs = np.zeros(len(directions))
        contact = programs.system.contact
        # What a step with rigid contact solves for it leaves at rounding or its tolerance, on either side of zero.
        self._level = 0.0 if contact is None else contact.contact.tolerance * getattr(engine, "step", 0.0)
        self._tolerance = np.zeros(self.rows)

    def values(self, t: Array, q: Array, e: Array, u: Array) -> Array:
        """The numbers (k, ng) at states (k, …) driven by u."""
        assert self._numbers is not None
        driven = u if self._torques is None else self._torques(t, q, e)
        return self._numbers({"t": np.asarray(t)[:, None], "q": q, "e": e, "u": driven}, (len(t),))["values"]

    def _sign(self, numbers: Array) -> Array:
        """The signs (…, n) of gaps and events, 0 for what contact leaves of zero."""
        return np.where(np.abs(numbers) <= self._level, 0.0, np.sign(numbers))

    def at(self, state: State, u: Array) -> Array:
        """The numbers (ng,) at one state; NaN is an error."""
        numbers = self.values(np.array([state.t]), state.q[None], state.e[None], u)
        self._refuse_nan(np.array([state.t]), numbers, None)
        return numbers[0]

    def _refuse_nan(self, t: Array, numbers: Array, chunk: Chunk | None) -> None:
        """Raise if a gap or an event is NaN at times (k,); chunk: the steps to them, kept up to the last good one."""
        bad = np.isnan(numbers[:, self.rows :])
        if bad.any():
            row, k = np.argwhere(bad)[0]
            error = f"simulate: {self._name(int(k))} is NaN at t = {t[row]:.9g} s: look at its function"
            raise UndefinedEvent(error, None if chunk is None else chunk.cut(max(int(row) - 1, 0)))

    def _name(self, k: int) -> str:
        if k < len(self.gaps):
            element, gap = self.gaps[k]
            return f"gap {gap} of {self.programs.system.elements[element].label()}"
        return f"event {self.events[k - len(self.gaps)].name!r}"

    def start(self, numbers: Array, e: Array) -> None:
        """Forget what was: the numbers (ng,) at a state are where the motion begins."""
        self.rearm(numbers, e)
        self._signs = self._sign(numbers[self.rows :])

    def rearm(self, numbers: Array, e: Array) -> None:
        """Rows begin anew, with the modes of e."""
        self._tolerance = np.where(self.programs.held(e), 0.0, RESOLUTION)
        self._armed = numbers[: self.rows] > self._tolerance

    def jumped(self, numbers: Array, before: Array) -> Array:
        """Which gaps and events fire by a jump of the state to these numbers (ng,), and remember them.

        before (ng,): the numbers where the step to the jump began.
        """
        now, then = numbers[self.rows :], before[self.rows :]
        signs = np.where(np.abs(now) <= np.maximum(ROUNDING * np.abs(then), self._level), 0.0, np.sign(now))
        fired = _fires(self._signs, signs, self._directions)
        self._signs = signs
        return np.concatenate([np.zeros(self.rows, bool), fired])

    def released(self, numbers: Array) -> Array:
        """Which rows that were held are not by these numbers (ng,): their forces have left what is admissible."""
        return (numbers[: self.rows] < 0.0) & (self._tolerance == 0.0)

    def first(self, chunk: Chunk, u: Array) -> GuardCrossing | None:
        """The first event in a chunk; if there is none, the guards go on from its end."""
        numbers = self.values(chunk.t, chunk.q, chunk.e, u)
        rows, signs = numbers[:, : self.rows], self._sign(numbers[:, self.rows :])
        signs[0] = self._signs
        armed = np.logical_or.accumulate(np.vstack([self._armed, rows[1:] > self._tolerance]), axis=0)
        fires = np.hstack(
            [_meets(armed[:-1], rows[1:], self._tolerance), _fires(signs[:-1], signs[1:], self._directions)]
        )
        bounced = self._bounced(chunk, numbers, signs, u)
        if bounced.any() and not fires[: int(np.argmax(bounced.any(axis=1))) + 1].any():
            return self._at_bounce(chunk, bounced, numbers, signs, armed, u)
        if not fires.any():
            self._refuse_nan(chunk.t, numbers, chunk)
            self._armed, self._signs = armed[-1], signs[-1]
            return None
        step = int(np.argmax(fires.any(axis=1)))
        self._refuse_nan(chunk.t[: step + 2], numbers[: step + 2], chunk)
        self._armed, self._signs = armed[step], signs[step]
        return self._located(chunk, step, np.flatnonzero(fires[step]), numbers[step], u)

    def _bounces(self, u: Array) -> Bounces:
        """Impacts under the command u."""

        def numbers(t: Array, q: Array, e: Array) -> Array:
            return self.values(t, q, e, u)[:, self.rows :]

        return Bounces(self.programs.system, self.engine, numbers, self._directions)

    def _bounced(self, chunk: Chunk, numbers: Array, signs: Array, u: Array) -> Array:
        """Which gaps and events (k, n) reach zero at an impact within a step."""
        if self.programs.system.contact is None or not len(self._directions):
            return np.zeros((len(chunk.t) - 1, len(self._directions)), bool)
        return self._bounces(u).seen(chunk, numbers[:, self.rows :], signs)

    def _at_bounce(
        self, chunk: Chunk, bounced: Array, numbers: Array, signs: Array, armed: Array, u: Array
    ) -> GuardCrossing:
        """The instant just before the first impact, from which the run goes on: the step over it is taken again."""
        step = int(np.argmax(bounced.any(axis=1)))
        state = self._bounces(u).located(chunk, step, bounced[step], u)
        self._armed, self._signs = armed[step], np.where(bounced[step], 0.0, signs[step])
        fired = np.concatenate([np.zeros(self.rows, bool), bounced[step]])
        before = step - (state.t < chunk.t[step + 1])  # the last step whose end comes before the impact
        return GuardCrossing(int(before), state, fired, numbers[step], np.zeros(self.rows, bool))

    def _located(self, chunk: Chunk, step: int, guards: Array, before: Array, u: Array) -> GuardCrossing:
        """The first time within a step at which one of some guards fires, and all that fire then."""
        begin = State(float(chunk.t[step]), chunk.q[step], chunk.e[step])
        end = State(float(chunk.t[step + 1]), chunk.q[step + 1], chunk.e[step + 1])
        h = end.t - begin.t
        within = ROUNDED * max(abs(begin.t), h)
        seen: dict[float, Array] = {}

        def numbers(after: float) -> Array:
            if after not in seen:
                seen[after] = self.at(end if after == h else self.engine.once(begin, after, u), u)
            return seen[after]

        times = np.array([self._time(int(k), h, within, float(before[k]), numbers) for k in guards])
        first = float(times.min())
        state = end if first == h else self.engine.once(begin, first, u)
        fired = np.zeros(self.count, bool)
        fired[guards[times <= first + 2.0 * within]] = True
        crossed = _fires(self._signs, np.sign(numbers(first)[self.rows :]), self._directions)
        self._signs = np.sign(numbers(first)[self.rows :])
        fired[self.rows :] |= crossed
        self._signs[fired[self.rows :] & ~crossed] = 0.0  # it fires now, a rounding error before its sign changes
        never_left = ~self._armed & fired[: self.rows]
        if never_left.any():  # a flight that begins and ends within the step is highest in its middle
            never_left &= numbers(0.5 * first)[: self.rows] <= RESOLUTION
        return GuardCrossing(step, state, fired, before, never_left)

    def _time(self, guard: int, h: float, within: float, before: float, numbers: Callable[[float], Array]) -> float:
        """The first time after a step's begin [s] at which a guard fires: secants (Illinois), bisection where slow."""
        level = 0.0 if guard >= self.rows or self._armed[guard] else -float(self._tolerance[guard])
        low, high, f_low, f_high = 0.0, h, before - level, float(numbers(h)[guard]) - level
        width, side = h, 0
        for k in range(200):
            if high - low <= within:
                break
            guess = 0.5 * (low + high)
            if k % 4 != 3 or high - low < 0.25 * width:  # else four passes did not bring a quarter of the width
                secant = high - f_high * (high - low) / (f_high - f_low) if f_high != f_low else guess
                guess = min(max(secant, low + 0.5 * within), high - 0.5 * within)
            if k % 4 == 3:
                width = high - low
            number = float(numbers(guess)[guard])
            if self._beyond(guard, number):
                high, f_high, f_low = guess, number - level, 0.5 * f_low if side > 0 else f_low
                side = 1
                if number == level:
                    break
            else:
                low, f_low, f_high = guess, number - level, 0.5 * f_high if side < 0 else f_high
                side = -1
        return high

    def _beyond(self, guard: int, number: float) -> bool:
        """Whether a guard fires at a number within the step at hand."""
        if guard < self.rows:
            return bool(_meets(self._armed[guard], number, self._tolerance[guard]))
        k = guard - self.rows
        return bool(_fires(self._signs[k], np.sign(number), self._directions[k]))


def _meets(armed: Any, number: Any, tolerance: Any) -> Any:
    return (armed & (number <= 0.0)) | (number < -tolerance)


def _fires(before: Any, after: Any, direction: Any) -> Any:
    falls, rises = (before > 0.0) & (after <= 0.0), (before < 0.0) & (after >= 0.0)
    return (falls & (direction <= 0)) | (rises & (direction >= 0))
