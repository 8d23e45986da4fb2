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
            yield finite(Chunk(made_t, made_q, made_e, u=given, steps=passes))
            q, e = q_all[-1], e_all[-1]

    def once(self, state: State, h: float, u: np.ndarray) -> State:
        inputs = {"q": state.q, "e": state.e, "number": np.zeros(1), "timing": np.array([state.t, h]), "u": u}
        made = self.programs.steps(False, False)(inputs)
        return State(state.t + h, made["q_next"][0], made["e_next"][0])
