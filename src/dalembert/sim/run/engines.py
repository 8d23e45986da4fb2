"""Engines: what advances a state from one time to another with a compiled loop, chunk by chunk.

`advance(state, stop, leg, nodes, every)` gives chunks of steps until `stop`, with so many nodes equally far apart or
one for every step; leg: what drives the way, of several commands all; every: steps end at those nodes, but each step is
a node. `once(state, h, command)` is the state after one step of size h, however large its error. lands: whether
recording times must be ends of steps; adaptive: whether it chooses its steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.typing import Array

from ..failure import sound
from ..integrators.adaptive import AdaptiveClock, StepLimits
from ..integrators.catalogue import sampled_program
from ..integrators.implicit import ITERATIONS, NewtonClock, unknowns
from ..system.drive import Leg
from ..system.sampling import Sampling
from ..system.system import System
from .compiled import Programs

DEFAULT_STEP = 1e-3  # [s] of integrators that do not choose their own
LONGEST_CHUNK = 8192  # passes: few enough to be interrupted soon
WATCHED_CHUNKS = (16, 1024)  # the first and the longest, where an event may make the rest of the chunk void
FEW_NODES = 64  # steps from node to node above which the steps between them stay in registers
CALLED_CHUNK = 1  # of passes that run in Python: what was computed before an error or an interrupt is kept
FIRST_STEP = 1e-6  # [s]: eight times as much if it was too careful, and again


class State(NamedTuple):
    """Time t [s], configuration q (nq,), and e = [v, element states, accounts]."""

    t: float
    q: Array
    e: Array


@dataclass
class Chunk:
    """Nodes t (n+1,), q (n+1, nq), e (n+1, ne), the first where the chunk began.

    dense: states between nodes can be interpolated. polynomials (n, degree, nv + ne): of the steps between the nodes,
    where they cannot be found again from the nodes. u (n, nu): what drove the steps to the nodes, where it is not the
    same for all. steps: taken from the first node to the last.
    """

    t: Array
    q: Array
    e: Array
    dense: bool = False
    polynomials: Array | None = None
    u: Array | None = None
    steps: int = 0

    @property
    def end(self) -> State:
        """The last node."""
        return State(float(self.t[-1]), self.q[-1], self.e[-1])

    def cut(self, steps: int) -> Chunk:
        """The first so many steps."""
        end = steps + 1
        return Chunk(self.t[:end], self.q[:end], self.e[:end], self.dense, self.polynomials, self.u, steps)


class Trouble(Exception):
    """A step that cannot be taken: at which state, why in words, and the steps before it.

    undefined: the acceleration at the state is not a number. cure: what to do, where that is known.
    """

    def __init__(
        self, state: State, why: str, chunk: Chunk | None = None, undefined: bool = False, cure: str = ""
    ) -> None:
        super().__init__(why)
        self.state, self.why, self.chunk, self.undefined, self.cure = state, why, chunk, undefined, cure


class FixedSteps:
    """Steps of equal size: the largest that divides the way and is at most the step of the settings.

    sampling: controllers that run at rates inside the compiled step; memory: theirs, of the run so far.
    """

    lands, adaptive = True, False

    def __init__(
        self, programs: Programs, step: float, sampling: Sampling | None = None, memory: Array | None = None
    ) -> None:
        self.programs, self.step, self.sampling, self.memory = programs, step, sampling, memory

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        stride = 1 if every else stride
        programs, sampled = self.programs.at(state.e), self.sampling is not None
        called = programs.system.called
        thin = stride > FEW_NODES and not called and not sampled
        first, t0, h = (
            (round(state.t / self.step), 0.0, self.step) if sampled else (0, state.t, (stop - state.t) / count)
        )
        rows = np.repeat(leg.commands, steps_of(leg, t0, h), axis=0) if leg.several else None  # one for every step
        number, q, e, sizes = 0, state.q, state.e, chunk_sizes(every)
        while number < count:
            passes = min(stride if thin or called else max(next(sizes) // stride, 1) * stride, count - number)
            inputs = {"q": q, "e": e, "number": np.array([float(first + number)]), "timing": np.array([t0, h])}
            if sampled:
                results = self._controlled(inputs, passes)
            else:
                inputs["u"] = leg.command if rows is None else rows[number : number + passes].reshape(1, -1)
                results = programs.steps(not thin, leg.several)(inputs, passes=passes)
            kept = np.append(np.arange(stride, passes, stride), passes)  # the steps of this chunk that end at a node
            ends = number + kept
            t = np.where(ends == count, stop, t0 + (first + ends) * h)
            q_all, e_all = (results[n] if thin else results[n][0, kept - 1] for n in ("q_next", "e_next"))
            driven = results["command_next"][0, kept - 1] if sampled else None if rows is None else rows[ends - 1]
            begin = t0 + (first + number) * h if number else state.t
            chunk = Chunk(_after(begin, t), _after(q, q_all), _after(e, e_all), u=driven, steps=passes)
            yield finite(chunk, programs.system.model.nv)
            number += passes
            q, e = chunk.q[-1], chunk.e[-1]

    def _controlled(self, inputs: dict[str, Array], passes: int) -> dict[str, Array]:
        """Steps with the controllers inside; the loop is kept with them, for the last system that they drove."""
        assert self.sampling is not None and self.memory is not None
        loops, programs = self.sampling.loops, self.programs
        if programs not in loops:
            loops.clear()
            loops[programs] = sampled_program(programs.system, programs.integrator, self.sampling)
        inputs = inputs | {"command": np.zeros(programs.system.nu)}
        results = loops[programs](inputs | ({"memory": self.memory} if self.sampling.size else {}), passes=passes)
        self.memory = results["memory_next"][0] if self.sampling.size else self.memory
        return results

    def first_command(self, state: State) -> Array:
        """The command (nu,) of the controllers for the first step."""
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([0.0, self.step])}
        memory = self.memory
        command = self._controlled(inputs, 1)["command_next"][0, 0]
        self.memory = memory
        return command

    def once(self, state: State, h: float, command: Array) -> State:
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([state.t, h]), "u": command}
        results = self.programs.at(state.e).steps(False, False)(inputs)
        return State(state.t + h, results["q_next"][0], results["e_next"][0])


class ImplicitSteps:
    """Steps of one size, each solved by Newton's method."""

    lands, adaptive = True, False

    def __init__(self, programs: Programs, step: float) -> None:
        self.programs, self.step = programs, step

    @staticmethod
    def guess(system: System, state: State, h: float) -> Array:
        """Where Newton's iteration begins: at the same velocity."""
        layout = system.layout
        impulses = np.zeros(unknowns(system) - layout.measured_size)
        return np.concatenate([h * layout.velocity(state.e), layout.states(state.e), impulses])

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        stride = 1 if every else stride
        h, thin, sizes = (stop - state.t) / count, stride > FEW_NODES, chunk_sizes(every)
        clock, programs = NewtonClock(), self.programs.at(state.e)
        guess = self.guess(programs.system, state, h)
        carried = {"q": state.q, "e": state.e, "x": guess, "clock": np.array(clock)}
        begin, first = state, 0.0
        while first < count:
            before = clock.steps
            goal = min(first + stride, count) if thin else count
            constant = {"timing": np.array([state.t, h, goal]), "u": leg.command}
            results = programs.steps(not thin)(carried | constant, passes=next(sizes))
            carried = {n: results[f"{n}_next"][0] for n in carried}
            clock = NewtonClock(*carried["clock"])
            carried["clock"] = np.array(clock._replace(passes=0.0))
            if thin:
                q_all, e_all, done = carried["q"][None], carried["e"][None], np.array([clock.steps])
            else:
                q_all, e_all, done = (results[n][0, : int(clock.passes)] for n in ("q_made", "e_made", "done"))
                done = done[:, 0]
            taken = np.flatnonzero(np.diff(done, prepend=before) > 0.5)
            kept = taken[(done[taken] % stride == 0) | (done[taken] == count)]
            if len(kept):
                t = np.where(done[kept] == count, stop, state.t + done[kept] * h)
                nodes_of = _after(begin.t, t), _after(begin.q, q_all[kept]), _after(begin.e, e_all[kept])
                chunk = finite(Chunk(*nodes_of, steps=int(done[kept[-1]] - first)), programs.system.model.nv)
                begin, first = chunk.end, done[kept[-1]]
                yield chunk
            if clock.failed > 0.5:
                where = State(state.t + clock.steps * h, carried["q"], carried["e"])
                raise Trouble(where, f"Newton's iteration did not settle (last change {clock.change:.1e})")

    def once(self, state: State, h: float, command: Array) -> State:
        programs = self.programs.at(state.e)
        inputs = {"q": state.q, "e": state.e, "x": self.guess(programs.system, state, h), "u": command}
        inputs |= {"clock": np.array(NewtonClock()), "timing": np.array([state.t, h, 1.0])}
        results = programs.steps(False)(inputs, passes=ITERATIONS)
        if not NewtonClock(*results["clock_next"][0]).steps > 0.5:
            raise Trouble(state, f"Newton's iteration did not settle in a step of {h:.1e} s")
        return State(state.t + h, results["q_next"][0], results["e_next"][0])


class AdaptiveSteps:
    """Steps whose size follows from the tolerances."""

    adaptive = True

    def __init__(self, programs: Programs, rtol: float, atol: float, most: float) -> None:
        self.programs, self.rtol, self.atol, self.most = programs, rtol, atol, most
        self.lands = programs.method.dense is None
        self.h = 0.0  # of the last leg: a good first step for the next one

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        ends = leg.ends if leg.several else np.array([stop])
        clock = AdaptiveClock(state.t, min(self.h or FIRST_STEP, ends[0] - state.t, self.most), fresh=1.0)
        least = 16.0 * np.finfo(float).eps * max(abs(state.t), abs(stop))
        limits = np.array(StepLimits(stop, self.rtol, self.atol, least, self.most))
        carried = {"q": state.q, "e": state.e, "k": np.zeros_like(state.e), "row": np.zeros(1)}
        carried["clock"] = np.array(clock, float)
        attempts, sizes = self.programs.at(state.e).attempts, chunk_sizes(every)
        while clock.t < stop:
            constant = {"limits": limits, "stop": ends, "u": leg.commands.ravel()}
            passes = CALLED_CHUNK if self.programs.system.called else next(sizes)
            results = attempts(carried | constant, passes=passes)
            carried = {n: results[f"{n}_next"][0] for n in carried}
            clock = AdaptiveClock(*carried["clock"])
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

    def once(self, state: State, h: float, command: Array) -> State:
        clock, stop = np.array(AdaptiveClock(state.t, h, fresh=1.0), float), np.array([state.t + h])
        limits = np.array(StepLimits(state.t + h, 1e100, 1e100, 0.0, np.inf))
        inputs = {"q": state.q, "e": state.e, "k": np.zeros_like(state.e), "clock": clock, "row": np.zeros(1)}
        inputs |= {"limits": limits, "stop": stop, "u": command}
        results = self.programs.at(state.e).attempts(inputs, passes=2)  # slope, step
        return State(state.t + h, results["q_next"][0], results["e_next"][0])


Engine = AdaptiveSteps | FixedSteps | ImplicitSteps


def engine(programs: Programs, step: float | None, rtol: float, atol: float, most: float) -> Engine:
    """The engine of an integrator: adaptive, with steps of `most` [s] at most, where it can be and no step is given."""
    if programs.integrator.adaptive and step is None:
        return AdaptiveSteps(programs, rtol, atol, most)
    step = DEFAULT_STEP if step is None else step
    return FixedSteps(programs, step) if programs.integrator.residual is None else ImplicitSteps(programs, step)


def chunk_sizes(watched: bool) -> Iterator[int]:
    """Passes of one chunk after the other: short ones first where something may happen, as it just did."""
    size, longest = WATCHED_CHUNKS if watched else (LONGEST_CHUNK, LONGEST_CHUNK)
    while True:
        yield size
        size = min(2 * size, longest)


def steps_between(begin: float, stop: float, step: float) -> int:
    """How many steps of at most `step` lead from one time to the other."""
    return max(1, int(np.ceil((stop - begin) / step * (1.0 - 1e-9))))


def strides(begin: float, stop: float, step: float, nodes: int | None) -> tuple[int, int]:
    """Steps from node to node, and in all."""
    if nodes is None:
        return 1, steps_between(begin, stop, step)
    stride = steps_between(0.0, (stop - begin) / nodes, step)
    return stride, stride * nodes


def steps_of(leg: Leg, begin: float, step: float) -> Array:
    """How many steps [s] each command of a leg is held for."""
    return np.rint(np.diff(leg.ends, prepend=begin) / step).astype(int)


def finite(chunk: Chunk, nv: int) -> Chunk:
    """The chunk if all of it is sound, with nv velocities; raises `Trouble` at the last sound node otherwise."""
    good = sound(chunk.q, chunk.e, nv)
    if not good.all():
        until = chunk.cut(max(int(np.argmin(good)) - 1, 0))
        raise Trouble(until.end, "the motion grew beyond all numbers", until)
    return chunk


def _after(first: Array | float, rows: Array) -> Array:
    """`first`, and the rows below it."""
    joined = np.empty((len(rows) + 1, *rows.shape[1:]))
    joined[0], joined[1:] = first, rows
    return joined


def _with_end(x: Array, taken: Array, end: Array) -> Array:
    """Rows `taken` of x, and `end` below them."""
    rows = np.empty((len(taken) + 1, *x.shape[1:]))
    np.take(x, taken, axis=0, out=rows[:-1], mode="clip")  # "raise" would copy twice
    rows[-1] = end
    return rows
