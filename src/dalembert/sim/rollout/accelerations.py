"""Accelerations of recorded states of a rollout: the mean over the step that follows each, computed when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .motions import Motions

LARGEST = 1 << 24  # bytes of torques and parameters that a rollout keeps for this


class Later:
    """`rollout.a` of motions with arguments `arrays`, from their states q (…, nq), e; recorded: (…, n, nq)."""

    def __init__(
        self, motions: Motions, arrays: list[np.ndarray], q: np.ndarray, e: np.ndarray, recorded: bool
    ) -> None:
        self.motions, self.q, self.e, self.recorded = motions, q, e, recorded
        names = [name for name in motions.lengths if name not in ("q", "e")]
        given = dict(zip(motions.lengths, arrays, strict=True))
        small = sum(given[name].nbytes for name in names) <= LARGEST
        self.kept = {name: given[name].copy() for name in names} if small else None  # theirs may change

    def __call__(self) -> np.ndarray:
        """(…, nv), or of records (…, n, nv)."""
        motions, stepping = self.motions, self.motions.stepping
        if type(motions) is not Motions:
            raise DalembertError("rollout: a: planners act between the steps: roll out without them, or use `simulate`")
        if self.kept is None:
            raise DalembertError(
                f"rollout: a: torques and parameters take more than {LARGEST >> 20} MB, which a rollout does not keep: "
                "roll out fewer motions at a time"
            )
        shape, nv = self.q.shape[:-1], stepping.model.nv
        rows = int(np.prod(shape))
        recorded = self.recorded
        count = shape[-1] if recorded else 1
        numbers = (np.arange(1, count + 1) * motions.every).astype(self.q.dtype)
        inputs: dict[str, Any] = {"q": self.q.reshape(rows, -1), "e": self.e.reshape(rows, -1)}
        inputs["number"] = np.broadcast_to(numbers[:, None] if recorded else numbers, (*shape, 1)).reshape(rows, 1)
        for name, x in self.kept.items():
            if name == "u" and stepping.varying:
                row = np.minimum(numbers.astype(int), motions.steps - 1)
                x = x.reshape(*x.shape[:-1], motions.steps, -1)[..., row, :]
                x = x if recorded else x[..., 0, :]
            elif recorded and x.ndim > 1:
                x = x[..., None, :]
            inputs[name] = np.ascontiguousarray(np.broadcast_to(x, (*shape, x.shape[-1]))).reshape(rows, -1)
        inputs["timing"] = np.array([0.0, motions.step])
        loop = stepping.onwards(alone=False)
        outputs = {name: np.empty((rows, *size), self.q.dtype) for name, size in loop.shapes.items()}
        inputs = {name: np.ascontiguousarray(x, self.q.dtype) for name, x in inputs.items()}
        loop.run(inputs, outputs, (rows,), 1)
        after = outputs["e_next"].reshape(*shape, -1)[..., :nv]
        return (after - self.e[..., :nv]) / self.q.dtype.type(motions.step)
