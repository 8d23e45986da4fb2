"""The state machine of a run: smooth motion between instants, and what happens at each of them.

`enter` begins a stretch with what drives it, `first` looks for the next instant on a chunk of steps, `happen` lets it
happen. All guards that fire at one time are one instant, however many they are; each is reported once.
"""

from __future__ import annotations

import numpy as np

from dalembert.typing import Array

from ..elements.base import Situation
from ..failure import SimulationError
from .compiled import Programs
from .engines import Chunk, Engine, State
from .hybrid import Hybrid
from .run import Event, Happening
from .watch import GuardCrossing, GuardWatch, Torques

MOST_AT_ONCE = 100  # instants at one time, after which the run could not go on
SPARE = 8  # instants of dry friction at one time beside one or two for each row
AT_ONCE = 1e-13  # [s, relative to 1 + the time]: what counts as one time


class Instants:
    """Events of a run. log: events that took place; remarks: for the log; ended: by which event, or ""."""

    def __init__(self, programs: Programs, engine: Engine, events: tuple[Event, ...], torques: Torques | None) -> None:
        self.programs, self.system, self.layout = programs, programs.system, programs.system.layout
        self.watch, self._torques = GuardWatch(programs, engine, events, torques), torques
        self.hybrid = Hybrid(programs) if self.layout.nm else None
        self.log: list[Happening] = []
        self.remarks: list[str] = []
        self.ended = ""
        self._started = False
        self._switched: dict[str, int] = {}  # joints of dry friction, by how often they switched at this time
        self._at, self._times = -np.inf, 0  # time of an instant [s], and how many there were since, at that time

    @property
    def watching(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.watch.count)

    def enter(self, state: State, u: Array) -> State:
        """The state from which a stretch driven by u begins, with stops left and friction overcome as u asks."""
        if not self.watching:
            return state
        numbers = self.watch.at(state, u)
        if not self._started:
            self._started = True
            self.watch.start(numbers, state.e)
            return self._settled(state, u, np.zeros(self.watch.count, bool), numbers, initial=True)
        released = self.watch.released(numbers)
        if not released.any():
            return state
        fired = np.concatenate([released, np.zeros(self.watch.count - self.watch.rows, bool)])
        return self._settled(state, u, fired, numbers)

    def first(self, chunk: Chunk, u: Array) -> GuardCrossing | None:
        """The next instant on a chunk of steps, if there is one."""
        return self.watch.first(chunk, u) if self.watching else None

    def happen(self, crossing: GuardCrossing, u: Array) -> State:
        """The state just after an instant."""
        return self._settled(crossing.state, u, crossing.fired, crossing.before, crossing.never_left)

    def _settled(
        self,
        state: State,
        u: Array,
        fired: Array,
        before: Array,
        never_left: Array | None = None,
        initial: bool = False,
    ) -> State:
        """Let happen all that does at one time.

        before (ng,): numbers where the step to it began; never_left (nm,): rows that meet their end without having
        clearly left it, which they do without restitution.
        """
        self._count(state)
        rows, earlier = self.watch.rows, state
        state = self._users(fired, state, earlier)
        if self.hybrid is not None:
            modes = self.layout.modes(state.e).copy()
            soft = np.zeros(rows, bool) if never_left is None else never_left
            outcome = self.hybrid.instant(state, self._driving(state, u), fired[:rows], soft)
            state = outcome.state
            # count the joints whose friction sticks or slips now, in silence
            owners = self.system.row_owners[self.system.permanent_count :]
            for owner, old, new in zip(owners, modes, self.layout.modes(state.e), strict=True):
                if old != new and not owner.constraint.reported:
                    name = owner.constraint.name
                    self._switched[name] = self._switched.get(name, 0) + 1
            self._report(earlier, modes, state, outcome.hit[self.system.permanent_count :], initial)
            if outcome.endless:
                self.remarks.append(f"impacts at t = {state.t:.9g} s had no end, and were taken as inelastic")
        numbers = self.watch.at(state, u)
        jumped = self.watch.jumped(numbers, before) & ~fired
        if jumped.any():
            state = self._users(jumped, state, earlier)
            numbers = self.watch.at(state, u)
        self.watch.rearm(numbers, state.e)
        return state

    def _driving(self, state: State, u: Array) -> Array:
        return u if self._torques is None else self._torques(np.array([state.t]), state.q[None], state.e[None])[0]

    def _count(self, state: State) -> None:
        """Raise if instants follow each other without end."""
        if state.t - self._at > AT_ONCE * max(1.0, abs(state.t)):
            self._at, self._times, self._switched = state.t, 0, {}
        self._times += 1
        silent = not self.log or self.log[-1].t < self._at
        most = self.watch.rows * (2 if self._torques is None else 1) + SPARE
        if self._switched and silent and self._times > most:
            name = max(self._switched, key=lambda each: self._switched[each]).removeprefix("friction ")
            raise SimulationError(
                f"simulate: stopped at t = {state.t:.9g} s: dry friction of joint {name!r} lets go and holds again "
                f"without end ({self._times} times at one instant): does the torque switch with the sign of its speed? "
                "Give the switch a width, as tanh(v / 0.01), let the law run at a rate (dalembert.Sampled), or take "
                "friction='smooth'; dry friction itself belongs in the joint"
            )
        if self._times > MOST_AT_ONCE:
            names = ", ".join(sorted({happening.name for happening in self.log[-MOST_AT_ONCE:]})) or "friction"
            raise SimulationError(
                f"simulate: stopped at t = {state.t:.9g} s: events follow each other without end ({names}): "
                "constraints may contradict each other there"
            )

    def _users(self, fired: Array, state: State, before: State) -> State:
        """Gaps of elements and the user's events that fire: they are reported, and elements change their states."""
        gaps = self.watch.gaps
        for k in np.flatnonzero(fired[self.watch.rows :]):
            if k < len(gaps):
                state = self._jumped(*gaps[k], state)
                self._note(self.system.elements[gaps[k][0]].label(), before, "gap")
                continue
            event = self.watch.events[k - len(gaps)]
            self._note(event.name, before, "event")
            if event.terminal and not self.ended:
                self.ended = event.name
        return state

    def _jumped(self, element: int, gap: int, state: State) -> State:
        """The state after an element's own jump."""
        v, z = self.layout.velocity(state.e), self.layout.states(state.e)
        parts = self.layout.by_element(z)
        s = Situation(self.system.model, state.t, state.q, v, parts[element], np.zeros(len(v)))
        parts[element] = np.asarray(self.system.elements[element].jumped(gap, s), float)
        return state._replace(e=self.layout.replaced(state.e, states=np.concatenate(parts)))

    def _report(self, before: State, modes: Array, after: State, hit: Array, initial: bool) -> None:
        """Report the impacts and changed modes of rows at an instant."""
        owners = self.system.row_owners[self.system.permanent_count :]
        reported: set[int] = set()
        for owner, old, new, struck in zip(owners, modes, self.layout.modes(after.e), hit, strict=True):
            held, was = (bool(owner.constraint.admissible.active(mode)) for mode in (new, old))
            if not owner.constraint.reported or id(owner.constraint) in reported or not (struck or held != was):
                continue
            if initial and not struck:
                continue
            ranged = np.isfinite(owner.constraint.admissible.lower) or np.isfinite(owner.constraint.admissible.upper)
            kind = "impact" if struck else ("rests" if held else "leaves") if ranged else "sticks" if held else "slips"
            reported.add(id(owner.constraint))
            self._note(owner.constraint.name, before, kind)

    def _note(self, name: str, state: State, kind: str) -> None:
        self.log.append(Happening(name, float(state.t), state.q.copy(), self.layout.velocity(state.e).copy(), kind))
