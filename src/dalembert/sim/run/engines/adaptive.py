"""Steps whose size follows from the tolerances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...integrators import adaptive
from ...system.drive import Leg
from ..compiled import Programs
from .base import Chunk, State, Trouble, chunk_sizes

CALLED_CHUNK = 1  # of passes that run in Python: what was computed before an error or an interrupt is kept
FIRST_STEP = 1e-6  # [s]: eight times as much if it was too careful, and again


class Adaptive:
    """Steps whose size follows from the tolerances."""

    lands: bool
    adaptive = True

    def __init__(self, programs: Programs, rtol: float, atol: float, most: float) -> None:
        self.programs, self.system = programs, programs.system
        self.rtol, self.atol, self.most = rtol, atol, most
        self.lands = programs.method.dense is None
        self.h = 0.0  # of the last leg: a good first step for the next one

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        ends = leg.ends if leg.several else np.array([stop])
        h = min(self.h or FIRST_STEP, ends[0] - state.t, self.most)
        clock = adaptive.Clock(state.t, h, fresh=1.0)
        least = 16.0 * np.finfo(float).eps * max(abs(state.t), abs(stop))
        sizes = chunk_sizes(every)
        limits = np.array(adaptive.Limits(stop, self.rtol, self.atol, least, self.most))
        carried = {"q": state.q, "e": state.e, "k": np.zeros_like(state.e), "row": np.zeros(1)}
        carried["clock"] = np.array(clock, float)
        attempts = self.programs.at(state.e).attempts
        while clock.t < stop:
            constant = {"limits": limits, "stop": ends, "u": leg.commands.ravel()}
            results = attempts(carried | constant, passes=CALLED_CHUNK if self.system.called else next(sizes))
            carried = {n: results[f"{n}_next"][0] for n in carried}
            clock = adaptive.Clock(*carried["clock"])
            carried["clock"] = np.array(clock._replace(tries=0.0))
            start = results["start"][0, : int(clock.tries)]
            taken = np.flatnonzero(start[:, 1] > 0.5)
            chunk = Chunk(
                _with_end(start[:, 0], taken, clock.t),
                _with_end(results["q_start"][0], taken, carried["q"]),
                _with_end(results["e_start"][0], taken, carried["e"]),
                dense=not self.lands,
                polynomials=results["dense"][0, taken] if "dense" in results else None,
                u=leg.commands[start[taken, 2].astype(int)] if leg.several else None,
                steps=len(taken),
            )
            yield chunk
            if clock.failed > 0.5:
                finite = np.all(np.isfinite(carried["k"]))
                why = f"the step became smaller than {least:.1e} s" if finite else "the acceleration is not finite"
                raise Trouble(chunk.end, why, undefined=not finite)
        self.h = float(clock.h)

    def once(self, state: State, h: float, command: np.ndarray) -> State:
        clock, stop = np.array(adaptive.Clock(state.t, h, fresh=1.0), float), np.array([state.t + h])
        limits = np.array(adaptive.Limits(state.t + h, 1e100, 1e100, 0.0, np.inf))
        inputs = {"q": state.q, "e": state.e, "k": np.zeros_like(state.e), "clock": clock, "row": np.zeros(1)}
        results = self.programs.at(state.e).attempts(
            inputs | {"limits": limits, "stop": stop, "u": command}, passes=2
        )  # slope, step
        return State(state.t + h, results["q_next"][0], results["e_next"][0])


def _with_end(x: np.ndarray, taken: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rows `taken` of x, and `end` below them."""
    rows = np.empty((len(taken) + 1, *x.shape[1:]))
    np.take(x, taken, axis=0, out=rows[:-1], mode="clip")  # "raise" would copy twice
    rows[-1] = end
    return rows
