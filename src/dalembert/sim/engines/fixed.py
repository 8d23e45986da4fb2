"""Steps of one size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..compiled import Programs
from .base import LONGEST_CHUNK, Chunk, State, finite, strides


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
            keep = np.arange(0 if thin else stride - 1, 1 if thin else passes, stride)  # of the rows that were made
            if not thin and (not len(keep) or keep[-1] != passes - 1):
                keep = np.append(keep, passes - 1)
            ends = number + (passes if thin else 1) + keep
            t = np.where(ends == count, stop, t0 + ends * h)
            rows_q, rows_e = (made[n] if thin else made[n][0] for n in ("q_next", "e_next"))
            nodes_q, nodes_e = _after(q, rows_q, keep), _after(e, rows_e, keep)
            given = u[ends - 1] if u.ndim == 2 else None
            yield finite(Chunk(_after(t0 + number * h, t), nodes_q, nodes_e, u=given, steps=passes))
            number += passes
            q, e = nodes_q[-1], nodes_e[-1]

    def once(self, state: State, h: float, u: np.ndarray) -> State:
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([state.t, h]), "u": u}
        made = self.programs.steps(False, False)(inputs)
        return State(state.t + h, made["q_next"][0], made["e_next"][0])


def _after(first: np.ndarray | float, rows: np.ndarray, keep: np.ndarray | slice = slice(None)) -> np.ndarray:
    """`first`, and below it some of the rows."""
    chosen = rows[keep]
    made = np.empty((len(chosen) + 1, *chosen.shape[1:]))
    made[0], made[1:] = first, chosen
    return made
