"""Recording: states on a grid of times, by dense output or at the ends of steps."""

from __future__ import annotations

import numpy as np

from dalembert.typing import Array

from ..integrators.adaptive import interpolated, on_polynomials
from .compiled import Programs
from .engines import Chunk, Engine, State


class Recorder:
    """Collects (t, q, e, u) on the grid 0, record, 2 record, …, duration; or at every step when record is None."""

    def __init__(
        self, programs: Programs, start: State, duration: float, record: float | None, first: Array | None = None
    ) -> None:
        """first (nu,): what drives the start; None: what drives the first steps."""
        self.programs, self.record, self.duration = programs, record, duration
        self.last_u = np.zeros(programs.system.nu)
        self._rows: list[tuple[Array, Array, Array, Array | None]] = [
            (np.array([start.t]), start.q[None], start.e[None], first)
        ]
        count = 0 if record is None else int(np.ceil(duration / record * (1.0 - 1e-9)))
        self.grid = np.append(np.arange(1, count) * (record or 0.0), duration)
        self._next = 0

    @property
    def end(self) -> float:
        """The time of the last record [s]."""
        return float(self._rows[-1][0][-1])

    def driven(self, u: Array) -> None:
        """Set what drives the start, if that was not known before."""
        if self._rows[0][3] is None:
            self._rows[0] = (*self._rows[0][:3], u)

    def block(self, begin: float, end: float, engine: Engine) -> tuple[float, int | None]:
        """(stop, wanted nodes on the way there) of the next stretch; the nodes, equally far apart, are of the grid.

        None: every step is a node. An engine with dense output goes all the way at once.
        """
        if self.record is None or not engine.lands:
            return end, None
        tiny = 1e-9 * self.record
        low, high = np.searchsorted(self.grid, (begin + tiny, end - tiny))
        stops = np.append(self.grid[low:high], end)
        if engine.adaptive:
            return float(stops[0]), None
        uneven = np.flatnonzero(np.abs(np.diff(stops, prepend=begin) - self.record) >= tiny)
        nodes = len(stops) if not len(uneven) else max(int(uneven[0]), 1)
        return float(stops[nodes - 1]), nodes

    def take(self, chunk: Chunk, u: Array, until: float = np.inf) -> None:
        """Record what lies on the grid within a chunk, driven by u or its own numbers; nothing after `until`."""
        self.last_u = u if chunk.u is None else chunk.u[-1]
        if self.record is None:
            inside = np.flatnonzero(chunk.t[1:] <= until) + 1
            self._keep(chunk.t[inside], chunk.q[inside], chunk.e[inside], u if chunk.u is None else chunk.u[inside - 1])
            return
        tiny = 1e-9 * self.record
        end = chunk.t[-1] + tiny if until == np.inf else min(chunk.t[-1] + tiny, until - tiny)
        stop = int(np.searchsorted(self.grid, end, "right"))
        times = self.grid[self._next : stop]
        self._next = max(stop, self._next)
        if not len(times):
            return
        if not chunk.dense:
            at = np.minimum(np.searchsorted(chunk.t, times - tiny), len(chunk.t) - 1)
            self._keep(times, chunk.q[at], chunk.e[at], u if chunk.u is None else chunk.u[at - 1])
            return
        at = np.clip(np.searchsorted(chunk.t, times, "left") - 1, 0, len(chunk.t) - 2)
        h = chunk.t[at + 1] - chunk.t[at]
        x = np.clip((times - chunk.t[at]) / h, 0.0, 1.0)
        u = u if chunk.u is None else chunk.u[at]
        step, programs = (chunk.t[at], h, x, chunk.q[at], chunk.e[at]), self.programs
        if chunk.polynomials is None:
            q, e = interpolated(programs.between, programs.method, *step, u)
        else:
            q, e = on_polynomials(programs.system, chunk.polynomials[at], *step[1:])
        self._keep(times, q, e, u)

    def node(self, state: State, u: Array) -> None:
        """Record a single state, if every step is recorded or its time is of the grid."""
        if self.record is None:
            self._keep(np.array([state.t]), state.q[None], state.e[None], u)
        elif self._next < len(self.grid) and abs(self.grid[self._next] - state.t) <= 1e-9 * self.record:
            self._keep(self.grid[self._next : self._next + 1], state.q[None], state.e[None], u)
            self._next += 1

    def final(self, state: State, u: Array) -> None:
        """Record the last state of a run that ended between times of the grid."""
        if self._rows[-1][0][-1] < state.t:
            self._keep(np.array([state.t]), state.q[None], state.e[None], u)

    def _keep(self, t: Array, q: Array, e: Array, u: Array) -> None:
        if not len(t):
            return
        if len(self._rows) == 1 and self._rows[0][3] is None:
            self._rows[0] = (*self._rows[0][:3], u if u.ndim == 1 else u[0])
        self._rows.append((t, q, e, u))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """t (n,), q (n, nq), e (n, ne), u (n, nu)."""
        t, q, e = (np.concatenate([row[k] for row in self._rows]) for k in range(3))
        u = [np.broadcast_to(self.last_u if r[3] is None else r[3], (len(r[0]), len(self.last_u))) for r in self._rows]
        return t, q, e, np.concatenate(u)
