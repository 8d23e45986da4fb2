"""Motions of a rollout whose controllers include planners: compiled pieces of steps, and plans between them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.execute import Interrupted, empty, is_single
from dalembert.quantities.guards import check_quaternions

from ..failure import sound
from ..system.planners import Planners
from ..system.sampled import Sampled
from .motions import Motions, batch_of
from .stepping import Stepping


class PlannedMotions(Motions):
    """A `Motions` in pieces that end where a planner plans or its answer begins to act, and at records."""

    def __init__(self, stepping: Stepping, step: float, every: int, count: int, torque: Sampled) -> None:
        super().__init__(stepping, step, every, count)
        self.torque = torque

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """NumPy arrays, on the processor."""
        assert self.stepping.sampling is not None
        nv, answers = self.stepping.model.nv, self.stepping.sampling.planned
        batch = batch_of(
            *zip(*((n, x) for n, x in zip(self.sizes, arrays, strict=True) if n not in answers), strict=True)
        )
        dtype = np.float32 if all(map(is_single, arrays)) else np.float64
        rows = prod(batch)
        named = {
            name: np.broadcast_to(x, (*batch, x.shape[-1])).reshape(rows, -1)
            for name, x in zip(self.lengths, arrays, strict=True)
        }
        if check:
            check_quaternions(self.stepping.model, self.name, {"q": named["q"]})
        planners = Planners(self.stepping.sampling, self.torque, rows)
        settings = {name: named[name] for name in self.stepping.settings}
        q, e = (empty((rows, *shape), dtype) for shape in self.shapes)
        number = 0
        try:
            while number < self.steps and rows:
                named |= planners.reach(number, named["q"], named["e"][:, :nv], settings, threads)
                end = min(planners.next(number), self._record_after(number))
                records = self._piece(named, number, end, q, e, threads)
                number = end
                if check and not sound(q[:, records], e[:, records], nv).all():
                    raise self._trouble(arrays, q, e, records)
        except KeyboardInterrupt:
            raise self._stopped(number, named, q, e, batch) from None
        return tuple(x.reshape(*batch, *x.shape[-2:]) for x in (q, e))

    def _record_after(self, number: int) -> int:
        """The step at which the next record is due."""
        return self.steps if self.each else (number // self.every + 1) * self.every

    def _piece(
        self, named: dict[str, Any], begin: int, end: int, q: np.ndarray, e: np.ndarray, threads: int | None
    ) -> slice:
        """Steps begin … end; `named` becomes the state after them. Returns which records they wrote to."""
        rows = len(q)
        loop = self.stepping.onwards(each=self.each, alone=rows == 1)
        inputs = named | {"number": np.array([float(begin)]), "timing": np.array([0.0, self.step])}
        count = end - begin if self.each else 1
        outputs = {f"{name}_next": np.empty((rows, count, x.shape[-1]), x.dtype) for name, x in (("q", q), ("e", e))}
        loop.run(inputs, outputs | {"number_next": np.empty((rows, 1), q.dtype)}, (rows,), end - begin, threads)
        last = end if self.each else (end - 1) // self.every + 1
        for name, records in (("q", q), ("e", e)):
            after = outputs[f"{name}_next"]
            records[:, last - count : last], named[name] = after, after[:, -1]
        return slice(last - count, last)

    def _stopped(
        self, steps: int, named: dict[str, Any], q: np.ndarray, e: np.ndarray, batch: tuple[int, ...]
    ) -> Interrupted:
        """The error to raise on Ctrl-C. result: (q, e) of the records until then, (q, e) at the end."""
        records = steps // self.every
        parts = q[:, :records], e[:, :records], named["q"], named["e"]
        text = f"rollout: interrupted after {steps} of {self.steps} steps; `result` of this error is the Rollout so far"
        return Interrupted(text, steps, [x.reshape(*batch, *x.shape[1:]) for x in parts])
