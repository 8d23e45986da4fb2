"""Numbers that reach zero at an impact of a fixed step, which both ends of the step are away from.

A step with rigid contact ends as far from the surface as a body has come since it bounced. The number is then followed
from the begin of the step at the velocity there, as far as contact is looked for: 1.5 steps. It has been at zero if it
would get there, contacts have pushed in the step, and it does not approach zero behind it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.math.tolerances import ROUNDED

from ..system.system import System
from .engines import Chunk, Engine, State

LOOK_AHEAD = 1.5  # steps: a contact that closes within them is solved for
FREE = 0.6  # of the time to an impact: a shorter step that ends before the contact is looked for
NEAR = 1e-7  # of the step: an impact that is nearer in time is now
ROUNDS = 32  # of such steps, of which about 18 leave 1e-7 of the time

Numbers = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of states t (k,), q (k, nq), e (k, ne)


class Bounces:
    """Impacts in steps of a system; numbers: of its gaps and events, directions (n,): in which they may pass zero."""

    def __init__(self, system: System, engine: Engine, numbers: Numbers, directions: np.ndarray) -> None:
        self.system, self.engine, self.numbers, self.directions = system, engine, numbers, directions

    def seen(self, chunk: Chunk, numbers: np.ndarray, signs: np.ndarray) -> np.ndarray:
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

    def located(self, chunk: Chunk, step: int, which: np.ndarray, u: np.ndarray) -> State:
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

    def _time(self, state: State, end: float, which: np.ndarray) -> float:
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
