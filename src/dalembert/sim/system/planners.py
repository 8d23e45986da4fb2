"""Planners over a run: when each plans, and which of its answers act. Steps are computed in pieces between these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .planner import Planner, planner_of
from .sampled import Sampled
from .sampling import Block, Sampling


class PlannedAnswers:
    """The answers of one planner over a run of motions: when it plans, what acts now, and what will act later.

    name: of the step's input; every, late: steps from plan to plan, and from a plan to when its answer acts.
    """

    def __init__(self, name: str, planner: Planner, every: int, late: int, count: int) -> None:
        self.name, self.planner, self.every, self.late = name, planner, every, late
        self.memory = planner.start(count)
        self.held = np.zeros((count, int(np.prod(planner.shape))))
        self._waiting: list[tuple[int, np.ndarray]] = []  # (from which step on, answers), in order

    def reach(
        self, number: int, t: float, q: np.ndarray, v: np.ndarray, settings: Mapping[str, np.ndarray], threads: Any
    ) -> None:
        """Plan if it is time to, and take what acts from step `number` on."""
        if number % self.every == 0:
            chosen = {name: x for name, x in settings.items() if name in self.planner.settings}
            answers = self.planner.advance(t, q, v, self.memory, chosen, threads)
            self._waiting.append((number + self.late, answers))
        while self._waiting and self._waiting[0][0] <= number:
            self.held = self._waiting.pop(0)[1]

    def next(self, number: int) -> int:
        """The step after `number` at which something changes."""
        later = [begin for begin, _ in self._waiting]
        return min([(number // self.every + 1) * self.every, *later])


class Planners:
    """All planners of a run of `count` motions. torque: the controllers, as the sampling has them."""

    def __init__(self, sampling: Sampling, torque: Sampled, count: int) -> None:
        self.step = sampling.step
        chain = dict(zip((id(block.controller) for block in sampling.blocks), torque.chain(), strict=True))
        self.answers = [
            PlannedAnswers(name, planner_of(chain[id(block.controller)]), block.every, block.late, count)
            for name, block in sampling.planned.items()
        ]

    def reach(
        self, number: int, q: np.ndarray, v: np.ndarray, settings: Mapping[str, np.ndarray], threads: int | None
    ) -> dict[str, np.ndarray]:
        """The answers that act from step `number` on, at which the motions are in the states q, v, by input."""
        for each in self.answers:
            each.reach(number, number * self.step, q, v, settings, threads)
        return {each.name: each.held for each in self.answers}

    def next(self, number: int) -> int:
        """The step after `number` at which an answer changes."""
        return min(each.next(number) for each in self.answers)


class PlannedMemory:
    """A planner whose plans and answers lie in the memory of a stepper: [plan, answers], the latest answer first."""

    def __init__(self, name: str, block: Block) -> None:
        self.name, self.block, self.planner = name, block, planner_of(block.controller)

    @property
    def size(self) -> int:
        """Numbers in the memory."""
        return self.planner.size + self.block.answers * self.block.width

    def start(self, count: int) -> np.ndarray:
        """The memory (count, size) before the first step."""
        return np.concatenate([self.planner.start(count), np.zeros((count, self.size - self.planner.size))], 1)

    def held(
        self, q: np.ndarray, v: np.ndarray, numbers: np.ndarray, memory: np.ndarray, step: float, threads: int | None
    ) -> np.ndarray:
        """Answers (…, width) that act over the steps of these numbers (…,); memory (…, size) moves on in place."""
        block, width = self.block, self.block.width
        flat: np.ndarray = memory.reshape(-1, self.size)
        q, v = (np.broadcast_to(x, (*numbers.shape, x.shape[-1])).reshape(len(flat), -1) for x in (q, v))
        steps = np.rint(numbers).astype(int).ravel()
        for number in set(steps[steps % block.every == 0].tolist()):
            rows = np.flatnonzero(steps == number)
            plans = flat[rows, : self.planner.size]
            fresh = self.planner.advance(number * step, q[rows], v[rows], plans, {}, threads)
            answers = flat[rows, self.planner.size :]
            flat[rows] = np.concatenate([plans, fresh, answers[:, : (block.answers - 1) * width]], 1)
        memory[...] = flat.reshape(memory.shape)
        answers = flat[:, self.planner.size :].reshape(len(flat), block.answers, width)
        acting = block.whole + ((steps % block.every < block.rest) if block.rest else 0)
        return answers[np.arange(len(flat)), acting].reshape(*numbers.shape, width)
