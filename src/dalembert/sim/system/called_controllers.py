"""Controllers that run at rates and cannot be compiled: called from Python between the legs of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dalembert.model import Model

from .drive import Command, Leg
from .sampled import TIE, Sampled, initial, sample


class _Controller:
    """A controller in Python: when it is called next, what it keeps, and the answers that act or will act."""

    def __init__(self, controller: Sampled) -> None:
        self.controller, self.count = controller, 0
        self.state: Any = None
        self.answers: list[tuple[float, Any]] = []  # (from when on, answer), in order

    @property
    def next(self) -> float:
        """When it is called again [s]."""
        return self.count * float(self.controller.period)

    def held(self, t: float) -> Any:
        """The answer that acts at a time; None before the first."""
        tie = TIE * float(self.controller.period)
        acting = [answer for begin, answer in self.answers if begin <= t + tie]
        return acting[-1] if acting else None

    def take(self, t: float, answer: Any) -> None:
        """An answer to the sample of now."""
        tie = TIE * float(self.controller.period)
        while len(self.answers) > 1 and self.answers[1][0] <= t + tie:
            del self.answers[0]
        self.answers.append((self.next + float(self.controller.delay), answer))
        self.count += 1

    def instants(self, t: float) -> list[float]:
        """Times after now at which something changes."""
        return [self.next, *(begin for begin, _ in self.answers)]


class CalledControllers:
    """The controllers of a run as Python functions, called in order; gives the legs between their instants.

    law(controller, t, q, v, state, inputs) → (tau, state): calls the law of the torques and checks its answer.
    """

    def __init__(self, model: Model, torque: Sampled, count: int, law: Callable[..., tuple[np.ndarray, Any]]) -> None:
        self.model, self.torque, self.count, self.law = model, torque, count, law
        self.controllers = {id(each): _Controller(each) for each in torque.chain()}

    def legs(self, duration: float, now: Callable[[], tuple[float, np.ndarray, np.ndarray]]) -> Iterator[Leg]:
        """The legs, each with the torques (nv,) that are held over it; `now` gives t, q, v where a leg begins."""
        begin, shortest = 0.0, min(float(each.period) for each in self.torque.chain())
        tie = TIE * shortest
        while True:
            for each in self.controllers.values():
                if each.next <= begin + tie and (begin + tie < duration or not each.count):
                    each.take(begin, self._answer(each, *now()))
            later = [x for each in self.controllers.values() for x in each.instants(begin) if x > begin + tie]
            end = min(later)
            end = duration if end > duration - tie else end
            acting = self.controllers[id(self.torque)].held(begin)
            yield Leg.single(Command.held(np.zeros(self.count) if acting is None else acting).flat(), end)
            if end >= duration:
                return
            begin = end

    def _answer(self, each: _Controller, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        controller = each.controller
        if controller.keeps and not each.count:
            each.state = initial(self.model, controller, q, v)
        inputs = {}
        for name, source in controller.inputs.items():
            held = self.controllers[id(source)].held(t)
            inputs[name] = np.zeros_like(self.controllers[id(source)].answers[-1][1]) if held is None else held
        at = each.next
        if controller is self.torque:
            answer, each.state = self.law(controller, at, q, v, each.state, inputs)
            return answer
        answer, each.state = sample(controller, at, q.copy(), v.copy(), each.state, inputs)
        return np.array(answer, float)
