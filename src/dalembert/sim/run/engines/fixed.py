"""Steps of one size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...system.drive import Leg
from ..compiled import Programs
from .base import Chunk, State, chunk_sizes, finite, strides


class Fixed:
    """Steps of one size, as near to the one asked for as divides the way."""

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
            yield finite(Chunk(_after(t0 + number * h, t), nodes_q, nodes_e, u=driven, steps=passes))
            number += passes
            q, e = nodes_q[-1], nodes_e[-1]

    def once(self, state: State, h: float, command: np.ndarray) -> State:
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([state.t, h]), "u": command}
        results = self.programs.at(state.e).steps(False, False)(inputs)
        return State(state.t + h, results["q_next"][0], results["e_next"][0])


def steps_of(leg: Leg, begin: float, step: float) -> np.ndarray:
    """How many steps [s] each command of a leg is held for."""
    return np.rint(np.diff(leg.ends, prepend=begin) / step).astype(int)


def _after(first: np.ndarray | float, rows: np.ndarray) -> np.ndarray:
    """`first`, and the rows below it."""
    joined = np.empty((len(rows) + 1, *rows.shape[1:]))
    joined[0], joined[1:] = first, rows
    return joined
