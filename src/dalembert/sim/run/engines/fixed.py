"""Steps of one size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...integrators.fixed import sampled_program
from ...program import Program
from ...system.drive import Leg
from ...system.sampling import Sampling
from ..compiled import Programs
from .base import Chunk, State, chunk_sizes, finite, strides


class Fixed:
    """Steps of equal size: the largest that divides the way and is at most the step of the settings."""

    lands, adaptive = True, False

    def __init__(self, programs: Programs, step: float) -> None:
        self.programs, self.step = programs, step

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        stride = 1 if every else stride
        h, number = (stop - state.t) / count, 0
        t0, q, e = state
        programs = self.programs.at(state.e)
        called = programs.system.called
        thin = stride > 64 and not called  # few nodes: leave the steps between them in registers
        rows = np.repeat(leg.commands, steps_of(leg, t0, h), axis=0) if leg.several else None  # one for every step
        sizes = chunk_sizes(every)
        while number < count:
            passes = min(stride if thin or called else max(next(sizes) // stride, 1) * stride, count - number)
            inputs = {"q": q, "e": e, "number": np.array([float(number)]), "timing": np.array([t0, h])}
            inputs["u"] = leg.command if rows is None else rows[number : number + passes].reshape(1, -1)
            results = programs.steps(not thin, leg.several)(inputs, passes=passes)
            kept = np.arange(stride, passes + 1, stride)  # the steps of this chunk that end at a node
            if not len(kept) or kept[-1] != passes:
                kept = np.append(kept, passes)
            ends = number + kept
            t = np.where(ends == count, stop, t0 + ends * h)
            q_all, e_all = (results[n] if thin else results[n][0, kept - 1] for n in ("q_next", "e_next"))
            nodes_q, nodes_e = _after(q, q_all), _after(e, e_all)
            driven = None if rows is None else rows[ends - 1]
            yield finite(
                Chunk(_after(t0 + number * h, t), nodes_q, nodes_e, u=driven, steps=passes),
                self.programs.system.model.nv,
            )
            number += passes
            q, e = nodes_q[-1], nodes_e[-1]

    def once(self, state: State, h: float, command: np.ndarray) -> State:
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([state.t, h]), "u": command}
        results = self.programs.at(state.e).steps(False, False)(inputs)
        return State(state.t + h, results["q_next"][0], results["e_next"][0])


class SampledFixed(Fixed):
    """Steps of one size, driven by controllers that run at rates; their memory is that of the run so far."""

    def __init__(self, programs: Programs, step: float, sampling: Sampling, memory: np.ndarray) -> None:
        super().__init__(programs, step)
        self.sampling, self.memory = sampling, memory

    @property
    def _loop(self) -> Program:
        """Kept with the controllers, for the last system that they drove."""
        loops, programs = self.sampling.loops, self.programs
        if programs not in loops:
            loops.clear()
            loops[programs] = sampled_program(programs.system, programs.integrator, self.sampling)
        return loops[programs]

    def _inputs(self, number: int, q: np.ndarray, e: np.ndarray) -> dict[str, np.ndarray]:
        timing, command = np.array([0.0, self.step]), np.zeros(self.programs.system.nu)
        inputs = {"q": q, "e": e, "number": np.array([float(number)]), "timing": timing, "command": command}
        return inputs | ({"memory": self.memory} if self.sampling.size else {})

    def first_command(self, state: State) -> np.ndarray:
        """The command of the first step (nu,)."""
        return self._loop(self._inputs(0, state.q, state.e))["command_next"][0, 0]

    def advance(
        self, state: State, stop: float, leg: Leg, nodes: int | None = None, every: bool = False
    ) -> Iterator[Chunk]:
        stride, count = strides(state.t, stop, self.step, nodes)
        first, number = round(state.t / self.step), 0
        _, q, e = state
        sizes = chunk_sizes(False)
        while number < count:
            passes = min(max(next(sizes) // stride, 1) * stride, count - number)
            results = self._loop(self._inputs(first + number, q, e), passes=passes)
            kept = np.arange(stride, passes + 1, stride)
            if not len(kept) or kept[-1] != passes:
                kept = np.append(kept, passes)
            ends = number + kept
            t = np.where(ends == count, stop, (first + ends) * self.step)
            names = ("q_next", "e_next", "command_next")
            q_all, e_all, driven = (results[n][0, kept - 1] for n in names)
            nodes_q, nodes_e = _after(q, q_all), _after(e, e_all)
            begin = state.t if not number else (first + number) * self.step
            self.memory = results["memory_next"][0] if self.sampling.size else self.memory
            yield finite(
                Chunk(_after(begin, t), nodes_q, nodes_e, u=driven, steps=passes), self.programs.system.model.nv
            )
            number += passes
            q, e = nodes_q[-1], nodes_e[-1]


def steps_of(leg: Leg, begin: float, step: float) -> np.ndarray:
    """How many steps [s] each command of a leg is held for."""
    return np.rint(np.diff(leg.ends, prepend=begin) / step).astype(int)


def _after(first: np.ndarray | float, rows: np.ndarray) -> np.ndarray:
    """`first`, and the rows below it."""
    joined = np.empty((len(rows) + 1, *rows.shape[1:]))
    joined[0], joined[1:] = first, rows
    return joined
