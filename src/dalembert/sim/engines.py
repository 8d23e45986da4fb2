"""Engines: what advances a state from one time to another with a compiled loop, chunk by chunk.

Each gives chunks of steps: nodes (t, q, e), the first of which is where the chunk began, and between two nodes the
dense output where the method has one. A law that changes abruptly is advanced from change to change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from . import adaptive, implicit
from .compiled import ADAPTIVE, IMPLICIT, Programs

LONGEST_CHUNK = 8192  # passes: few enough to be interrupted soon
WATCHED_CHUNK = 256  # where an event may make the rest of the chunk void
CALLED_CHUNK = 1  # of passes that run in Python: what was computed before an error or an interrupt is kept
FIRST_STEP = 1e-6  # [s] of adaptive runs: eight times as much if it was too careful, and again
DEFAULT_STEP = 1e-3  # [s] of integrators that do not choose their own


class State(NamedTuple):
    """Time t [s], configuration q (nq,), and e = [v, element states, accounts]."""

    t: float
    q: np.ndarray
    e: np.ndarray


@dataclass
class Chunk:
    """Nodes t (n+1,), q (n+1, nq), e (n+1, ne). dense: a state can be had anywhere between nodes.

    polynomials (n, degree, nv + ne): of the steps between the nodes, where they cannot be found again from the nodes.
    """

    t: np.ndarray
    q: np.ndarray
    e: np.ndarray
    dense: bool = False
    polynomials: np.ndarray | None = None
    u: np.ndarray | None = None  # (n, nu): what drove the steps to the nodes, where it is not the same for all
    steps: int = 0  # taken from the first node to the last

    @property
    def end(self) -> State:
        """The last node."""
        return State(float(self.t[-1]), self.q[-1], self.e[-1])

    def cut(self, steps: int) -> Chunk:
        """The first so many steps."""
        end = steps + 1
        return Chunk(self.t[:end], self.q[:end], self.e[:end], self.dense, self.polynomials, self.u, steps)


class Trouble(Exception):
    """A step that cannot be taken: at which state, why in words, and the steps that were."""

    def __init__(self, state: State, why: str, chunk: Chunk | None = None) -> None:
        super().__init__(why)
        self.state, self.why, self.chunk = state, why, chunk


class Engine(Protocol):
    """What all engines have."""

    lands: bool  # whether recording times must be ends of steps
    adaptive: bool  # whether it chooses its steps

    def advance(self, state: State, stop: float, u: np.ndarray, nodes: int | None, every: bool) -> Iterator[Chunk]:
        """Chunks of steps from a state until `stop`, with so many nodes equally far apart, or one for every step.

        every: steps end at those nodes, but each step is a node.
        """

    def once(self, state: State, h: float, u: np.ndarray) -> State:
        """The state after one step of size h, however large its error."""


class Adaptive:
    """Steps whose size follows from the tolerances. u may have a row for each leg of the way, with its end [s] last."""

    lands: bool
    adaptive = True

    def __init__(self, programs: Programs, rtol: float, atol: float, most: float) -> None:
        self.programs, self.system = programs, programs.system
        self.rtol, self.atol, self.most = rtol, atol, most
        self.lands = programs.method.dense is None
        self.h = 0.0  # of the last leg: a good first step for the next one

    def slope(self, state: State, u: np.ndarray) -> np.ndarray:
        """ė (ne,) at a state."""
        return self.programs.rates({"t": np.array([state.t]), "q": state.q, "e": state.e, "u": u})["rates"][0]

    def advance(
        self, state: State, stop: float, u: np.ndarray, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        ends, rows = (np.array([stop]), u[None]) if u.ndim == 1 else (u[:, -1], u[:, :-1])
        h = min(self.h or FIRST_STEP, ends[0] - state.t, self.most)
        clock = np.array(adaptive.Clock(state.t, h, fresh=1.0), float)
        least = 16.0 * np.finfo(float).eps * max(abs(state.t), abs(stop))
        passes = CALLED_CHUNK if self.system.called else WATCHED_CHUNK if every else LONGEST_CHUNK
        limits = np.array(adaptive.Limits(stop, self.rtol, self.atol, least, self.most))
        carried = {"q": state.q, "e": state.e, "k": np.zeros_like(state.e), "clock": clock, "row": np.zeros(1)}
        while clock[0] < stop:
            clock[5] = 0.0
            given = {"limits": limits, "stop": ends, "u": rows.ravel()}
            made = self.programs.attempts(carried | given, passes=passes)
            carried = {n: made[f"{n}_next"][0] for n in carried}
            clock, start = carried["clock"], made["start"][0, : int(carried["clock"][5])]
            taken = np.flatnonzero(start[:, 1] > 0.5)
            chunk = Chunk(
                _with_end(start[:, 0], taken, clock[0]),
                _with_end(made["q_start"][0], taken, carried["q"]),
                _with_end(made["e_start"][0], taken, carried["e"]),
                dense=not self.lands,
                polynomials=made["dense"][0, taken] if "dense" in made else None,
                u=None if u.ndim == 1 else rows[start[taken, 2].astype(int)],
                steps=len(taken),
            )
            yield chunk
            if clock[4] > 0.5:
                finite = np.all(np.isfinite(carried["k"]))
                why = f"the step became smaller than {least:.1e} s" if finite else "the acceleration is not finite"
                raise Trouble(chunk.end, why)
        self.h = clock[1]

    def once(self, state: State, h: float, u: np.ndarray) -> State:
        clock, stop = np.array(adaptive.Clock(state.t, h), float), np.array([state.t + h])
        limits = np.array(adaptive.Limits(state.t + h, 1e100, 1e100, 0.0, np.inf))
        inputs = {"q": state.q, "e": state.e, "k": self.slope(state, u), "clock": clock, "row": np.zeros(1)}
        made = self.programs.attempts(inputs | {"limits": limits, "stop": stop, "u": u})
        return State(state.t + h, made["q_next"][0], made["e_next"][0])


class Fixed:
    """Steps of one size, as near to the one asked for as divides the way. u may have a row for every step."""

    lands, adaptive = True, False

    def __init__(self, programs: Programs, step: float) -> None:
        self.programs, self.step = programs, step

    def advance(
        self, state: State, stop: float, u: np.ndarray, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        stride = 1 if every else stride
        h, number = (stop - state.t) / count, 0
        t0, q, e = state
        called = self.programs.system.called
        thin = stride > 64 and not called  # few nodes: leave the steps between them in registers
        while number < count:
            passes = min(stride if thin or called else max(LONGEST_CHUNK // stride, 1) * stride, count - number)
            inputs = {"q": q, "e": e, "number": np.array([float(number)]), "timing": np.array([t0, h]), "u": u}
            if u.ndim == 2:
                inputs["u"] = u[number : number + passes].reshape(1, -1)
            made = self.programs.steps(not thin, u.ndim == 2)(inputs, passes=passes)
            begin = State(t0 + number * h, q, e)
            number += passes
            if thin:
                ends, q_all, e_all = np.array([number]), made["q_next"], made["e_next"]
            else:
                keep = np.unique(np.append(np.arange(stride - 1, passes, stride), passes - 1))
                ends, q_all, e_all = number - passes + 1 + keep, made["q_next"][0, keep], made["e_next"][0, keep]
            t = np.where(ends == count, stop, t0 + ends * h)
            made_t, made_q, made_e = np.append(begin.t, t), np.append(q[None], q_all, 0), np.append(e[None], e_all, 0)
            given = u[ends - 1] if u.ndim == 2 else None
            yield _finite(Chunk(made_t, made_q, made_e, u=given, steps=passes))
            q, e = q_all[-1], e_all[-1]

    def once(self, state: State, h: float, u: np.ndarray) -> State:
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([state.t, h]), "u": u}
        made = self.programs.steps(False, False)(inputs)
        return State(state.t + h, made["q_next"][0], made["e_next"][0])


class Implicit:
    """Steps of one size, each solved by Newton's method."""

    lands, adaptive = True, False

    def __init__(self, programs: Programs, step: float) -> None:
        self.programs, self.system, self.step = programs, programs.system, step

    def guess(self, state: State, h: float) -> np.ndarray:
        """Where Newton's iteration begins: at the same velocity."""
        x = np.zeros(implicit.unknowns(self.system))
        x[: self.system.measured] = state.e[: self.system.measured]
        x[: self.system.model.nv] *= h
        return x

    def advance(
        self, state: State, stop: float, u: np.ndarray, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        stride = 1 if every else stride
        h, thin = (stop - state.t) / count, stride > 64  # few nodes: leave the steps between them in registers
        passes = WATCHED_CHUNK if every else LONGEST_CHUNK
        clock = np.array(implicit.Clock())
        carried = {"q": state.q, "e": state.e, "x": self.guess(state, h), "clock": clock}
        begin, first = state, 0.0
        while first < count:
            before, clock[4] = clock[0], 0.0
            goal = min(first + stride, count) if thin else count
            given = {"timing": np.array([state.t, h, goal]), "u": u}
            made = self.programs.newton(not thin)(carried | given, passes=passes)
            carried = {n: made[f"{n}_next"][0] for n in carried}
            clock = carried["clock"]
            if thin:
                q_all, e_all, done = carried["q"][None], carried["e"][None], clock[:1]
            else:
                q_all, e_all, done = (made[n][0, : int(clock[4])] for n in ("q_made", "e_made", "done"))
                done = done[:, 0]
            taken = np.flatnonzero(np.diff(done, prepend=before) > 0.5)
            kept = taken[(done[taken] % stride == 0) | (done[taken] == count)]
            if len(kept):
                t = np.append(begin.t, np.where(done[kept] == count, stop, state.t + done[kept] * h))
                nodes_q, nodes_e = np.append(begin.q[None], q_all[kept], 0), np.append(begin.e[None], e_all[kept], 0)
                chunk = _finite(Chunk(t, nodes_q, nodes_e, steps=int(done[kept[-1]] - first)))
                begin, first = chunk.end, done[kept[-1]]
                yield chunk
            if clock[3] > 0.5:
                where = State(state.t + clock[0] * h, carried["q"], carried["e"])
                raise Trouble(where, f"Newton's iteration did not settle (last change {clock[2]:.1e})")

    def once(self, state: State, h: float, u: np.ndarray) -> State:
        clock, timing = np.array(implicit.Clock()), np.array([state.t, h, 1.0])
        inputs = {"q": state.q, "e": state.e, "x": self.guess(state, h), "clock": clock, "timing": timing, "u": u}
        made = self.programs.newton(False)(inputs, passes=implicit.ITERATIONS)
        return State(state.t + h, made["q_next"][0], made["e_next"][0])


def steps_between(begin: float, stop: float, step: float) -> int:
    """How many steps of at most `step` lead from one time to the other."""
    return max(1, int(np.ceil((stop - begin) / step * (1.0 - 1e-9))))


def strides(begin: float, stop: float, step: float, nodes: int | None) -> tuple[int, int]:
    """Steps from node to node, and in all."""
    if nodes is None:
        return 1, steps_between(begin, stop, step)
    stride = steps_between(0.0, (stop - begin) / nodes, step)
    return stride, stride * nodes


def _with_end(x: np.ndarray, taken: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rows `taken` of x, and `end` below them."""
    rows = np.empty((len(taken) + 1, *x.shape[1:]))
    np.take(x, taken, axis=0, out=rows[:-1], mode="clip")  # "raise" would copy twice
    rows[-1] = end
    return rows


def _finite(chunk: Chunk) -> Chunk:
    """The chunk, if its numbers are numbers; else trouble at the last good node."""
    bad = ~(np.isfinite(chunk.q).all(axis=1) & np.isfinite(chunk.e).all(axis=1))
    if bad.any():
        good = chunk.cut(max(int(np.argmax(bad)) - 1, 0))
        raise Trouble(good.end, "the motion grew beyond all numbers", good)
    return chunk


def engine(programs: Programs, step: float | None, rtol: float, atol: float, most: float) -> Engine:
    """The engine of an integrator: adaptive, with steps of `most` [s] at most, where it can be and no step is given."""
    if programs.integrator in ADAPTIVE and step is None:
        return Adaptive(programs, rtol, atol, most)
    step = DEFAULT_STEP if step is None else step
    return Implicit(programs, step) if programs.integrator in IMPLICIT else Fixed(programs, step)
