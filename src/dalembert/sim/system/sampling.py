"""Controllers that run at rates inside the compiled step: one vector, the memory, holds all that they keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Recent, code
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import floor, repeat, where
from dalembert.model import Model

from ..failure import SimulationError
from .planner import Planner, check_planned
from .sampled import NOTHING, TIE, Kept, Sampled, initial, sample, settings_of


class Block(NamedTuple):
    """One controller in the memory: [state, answers], the latest answer first.

    every: steps from sample to sample; whole, rest: its delay as whole periods and further steps. kept: layout of its
    state; shape: of its answer; begin: where its part of the memory begins. is_planned: its answers are an input of the
    step, and it has no part in the memory (see `planners`).
    """

    controller: Sampled
    every: int
    whole: int
    rest: int
    kept: Kept
    shape: tuple[int, ...]
    begin: int
    is_planned: bool = False

    @property
    def late(self) -> int:
        """Steps from a sample to when its answer acts."""
        return self.whole * self.every + self.rest

    @property
    def width(self) -> int:
        """Numbers of an answer."""
        return int(np.prod(self.shape))

    @property
    def answers(self) -> int:
        """Answers that are remembered."""
        return self.whole + (2 if self.rest else 1)

    @property
    def size(self) -> int:
        """Numbers in the memory."""
        return 0 if self.is_planned else self.kept.size + self.answers * self.width


class Sampling:
    """The controllers of a run with steps of `step` [s], traced: one vector `memory` (size,), advanced at every step.

    settings: sizes of what laws take beside the state, by name (see `rollout`'s parameters). count: numbers of an
    answer that drives the robot, by default its nv torques.
    """

    def __init__(
        self,
        where: str,
        model: Model,
        torque: Sampled,
        step: float,
        settings: Mapping[str, int] | None = None,
        count: int | None = None,
    ) -> None:
        count = model.nv if count is None else count
        self.where, self.model, self.torque, self.step = where, model, torque, step
        self.settings = dict(settings or {})
        self.loops: dict[Any, Any] = {}  # of steps with these controllers, compiled; see `run.engines.FixedSteps`
        self.blocks: list[Block] = []
        for controller in torque.chain():
            self._add(controller)
        if self.blocks[-1].shape != (count,):
            raise SimulationError(
                f"{where}: torque function {torque.name} returned shape {self.blocks[-1].shape}, expected "
                f"({count},) for robot {model.name!r}"
            )

    def _add(self, controller: Sampled) -> None:
        every, late = (self._steps(controller, name) for name in ("period", "delay"))
        if isinstance(controller.law, Planner):
            check_planned(self.where, controller)
            kept, shape, is_planned = NOTHING, controller.law.shape, True
        else:
            kept, shape, is_planned = *self._shapes(controller), False
        begin = self.size
        self.blocks.append(Block(controller, every, late // every, late % every, kept, shape, begin, is_planned))

    @property
    def planned(self) -> dict[str, Block]:
        """Blocks whose answers come from outside, by the name of the step's input that holds them."""
        return {f"held {k}": block for k, block in enumerate(self.blocks) if block.is_planned}

    @property
    def planned_sizes(self) -> dict[str, int]:
        """Numbers of those inputs."""
        return {name: block.width for name, block in self.planned.items()}

    def _steps(self, controller: Sampled, name: str) -> int:
        time = float(getattr(controller, name))
        count = round(time / self.step)
        if abs(time - count * self.step) > TIE * self.step * max(count, 1) or (name == "period" and not count):
            raise DalembertError(
                f"{self.where}: the {name} of {controller.name}, {time:g} s, is not a multiple of the step, "
                f"{self.step:g} s"
            )
        return count

    def _shapes(self, controller: Sampled) -> tuple[Kept, tuple[int, ...]]:
        """The layout of its state and the shape of its answer, by tracing it once."""
        model, layouts = self.model, []
        sources = {id(block.controller): block.shape for block in self.blocks}

        def answer_at(t: Any, q: Any, v: Any, *vectors: Any) -> list[Any]:
            values, answers = vectors[: len(self.settings)], vectors[len(self.settings) :]
            settings = settings_of(controller.law, dict(zip(self.settings, values, strict=True)))
            state = initial(model, controller, q, v) if controller.keeps else None
            kept = Kept.of(f"Sampled {controller.name}", state) if controller.keeps else NOTHING
            taken = kept.structured(np.array([*kept.flat("", state), t[0]], object)[:-1]) if controller.keeps else None
            inputs = {
                name: x.reshape(sources[id(each)]) if sources[id(each)] else x[0]
                for x, (name, each) in zip(answers, controller.inputs.items(), strict=True)
            }
            answer, after = sample(controller, t[0], q, v, taken, inputs | settings)
            if controller.keeps:
                kept.flat(f"Sampled {controller.name}", after)
            layouts.append((kept, np.shape(answer)))
            return list(np.asarray(answer, object).ravel())

        sizes = {"t": 1, "q": model.nq, "v": model.nv, **self.settings}
        sizes |= {f"input {name}": int(np.prod(sources[id(each)])) for name, each in controller.inputs.items()}
        first = trace(answer_at, sizes, "sampled").fingerprint()
        try:
            same = trace(answer_at, sizes, "sampled").fingerprint() == first
        except Exception:  # it met what it kept of the first trace
            same = False
        if not same:
            raise SimulationError(
                f"{self.where}: {controller.name} gives another answer when it is called again: it keeps a state, "
                "counts or draws random numbers: pass what it keeps as state=…"
            )
        return layouts[-1]

    @property
    def size(self) -> int:
        """Numbers in the memory."""
        return sum(block.size for block in self.blocks)

    def start(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The memory at the beginning: states as they start, answers of 0."""
        parts: list[Any] = []
        for block in self.blocks:
            if block.is_planned:
                continue
            if block.controller.keeps:
                parts += block.kept.flat(block.controller.name, initial(self.model, block.controller, q, v))
            parts += [0.0] * (block.answers * block.width)
        return np.array(parts, np.result_type(np.asarray(q), np.asarray(v), *map(np.asarray, parts or [0.0])))

    def advanced(
        self, number: Any, t: Any, q: np.ndarray, v: np.ndarray, memory: np.ndarray, settings: Mapping[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(tau (nv,) over step `number`, the memory after it). settings: with the answers of planners."""
        parts: list[np.ndarray] = [np.zeros(0, object)]
        held: dict[int, Any] = {}
        outside = {id(block.controller): settings[name] for name, block in self.planned.items()}
        settings = {name: x for name, x in settings.items() if name in self.settings}
        for block in self.blocks:
            if block.is_planned:
                numbers = outside[id(block.controller)]
                held[id(block.controller)] = numbers.reshape(block.shape) if block.shape else numbers[0]
                continue
            old = memory[block.begin : block.begin + block.size]
            controller = block.controller
            inputs = {name: held[id(each)] for name, each in controller.inputs.items()}
            inputs |= settings_of(controller.law, settings)
            phase = number - block.every * floor((number + 0.5) / block.every)
            new = self._sampled(block, phase, t, q, v, old, inputs)
            answers = new[block.kept.size :]
            now = answers[block.whole * block.width : (block.whole + 1) * block.width]
            if block.rest:
                before = answers[(block.whole + 1) * block.width :]
                now = where(phase > block.rest - 0.5, now, before)
            held[id(controller)] = now.reshape(block.shape) if block.shape else now[0]
            parts.append(new)
        return held[id(self.torque)], np.concatenate(parts)

    def _sampled(
        self, block: Block, phase: Any, t: Any, q: np.ndarray, v: np.ndarray, old: np.ndarray, inputs: dict[str, Any]
    ) -> np.ndarray:
        """A block's memory after this step: with a new answer where its phase is 0, otherwise as it was."""

        def with_answer(memory: np.ndarray) -> np.ndarray:
            state, answers = memory[: block.kept.size], memory[block.kept.size :]
            structured = block.kept.structured(state) if block.controller.keeps else None
            answer, after = sample(block.controller, t, q, v, structured, inputs)
            kept = block.kept.flat(block.controller.name, after) if block.controller.keeps else []
            fresh = np.asarray(answer, object).ravel()
            return np.array([*kept, *fresh, *answers[: (block.answers - 1) * block.width]], object)

        if block.every == 1:
            return with_answer(old)

        def once(memory: np.ndarray, done: Any) -> dict[str, Any]:
            return {"memory": with_answer(memory), "done": 1.0}

        waiting = where(absolute(phase) > 0.5, 1.0, 0.0)
        return repeat(once, 1, {"memory": old, "done": waiting}, "done")["memory"]


def shared_sampling(
    where: str,
    model: Model,
    torque: Sampled,
    step: float,
    settings: Mapping[str, int] | None = None,
    count: int | None = None,
) -> Sampling:
    """Like `Sampling`; reuses that of an earlier run with the same controllers."""

    def prepare() -> Sampling:
        return Sampling(where, model, torque, step, settings, count)

    sizes = tuple((settings or {}).items())
    return _recent.get(code(where, model, torque, step, sizes, count), prepare)


_recent = Recent(32)
