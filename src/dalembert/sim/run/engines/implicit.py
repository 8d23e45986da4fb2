"""Steps of one size, each solved by Newton's method."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...integrators import implicit
from ...system.drive import Leg
from ...system.system import System
from ..compiled import Programs
from .base import Chunk, State, Trouble, chunk_sizes, finite, strides


class Implicit:
    """Steps of one size, each solved by Newton's method."""

    lands, adaptive = True, False

    def __init__(self, programs: Programs, step: float) -> None:
        self.programs, self.step = programs, step

    @staticmethod
    def guess(system: System, state: State, h: float) -> np.ndarray:
        """Where Newton's iteration begins: at the same velocity."""
        layout = system.layout
        impulses = np.zeros(implicit.unknowns(system) - layout.measured_size)
        return np.concatenate([h * layout.velocity(state.e), layout.states(state.e), impulses])

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        stride = 1 if every else stride
        h, thin = (stop - state.t) / count, stride > 64  # few nodes: leave the steps between them in registers
        sizes = chunk_sizes(every)
        clock, programs = implicit.Clock(), self.programs.at(state.e)
        guess = self.guess(programs.system, state, h)
        carried = {"q": state.q, "e": state.e, "x": guess, "clock": np.array(clock)}
        begin, first = state, 0.0
        while first < count:
            before = clock.steps
            goal = min(first + stride, count) if thin else count
            constant = {"timing": np.array([state.t, h, goal]), "u": leg.command}
            results = programs.newton(not thin)(carried | constant, passes=next(sizes))
            carried = {n: results[f"{n}_next"][0] for n in carried}
            clock = implicit.Clock(*carried["clock"])
            carried["clock"] = np.array(clock._replace(passes=0.0))
            if thin:
                q_all, e_all, done = carried["q"][None], carried["e"][None], np.array([clock.steps])
            else:
                q_all, e_all, done = (results[n][0, : int(clock.passes)] for n in ("q_made", "e_made", "done"))
                done = done[:, 0]
            taken = np.flatnonzero(np.diff(done, prepend=before) > 0.5)
            kept = taken[(done[taken] % stride == 0) | (done[taken] == count)]
            if len(kept):
                t = np.append(begin.t, np.where(done[kept] == count, stop, state.t + done[kept] * h))
                nodes_q, nodes_e = np.append(begin.q[None], q_all[kept], 0), np.append(begin.e[None], e_all[kept], 0)
                chunk = finite(Chunk(t, nodes_q, nodes_e, steps=int(done[kept[-1]] - first)), programs.system.model.nv)
                begin, first = chunk.end, done[kept[-1]]
                yield chunk
            if clock.failed > 0.5:
                where = State(state.t + clock.steps * h, carried["q"], carried["e"])
                raise Trouble(where, f"Newton's iteration did not settle (last change {clock.change:.1e})")

    def once(self, state: State, h: float, command: np.ndarray) -> State:
        clock, timing = np.array(implicit.Clock()), np.array([state.t, h, 1.0])
        programs = self.programs.at(state.e)
        guess = self.guess(programs.system, state, h)
        inputs = {"q": state.q, "e": state.e, "x": guess, "clock": clock, "timing": timing, "u": command}
        results = programs.newton(False)(inputs, passes=implicit.ITERATIONS)
        if not implicit.Clock(*results["clock_next"][0]).steps > 0.5:
            raise Trouble(state, f"Newton's iteration did not settle in a step of {h:.1e} s")
        return State(state.t + h, results["q_next"][0], results["e_next"][0])
