"""The motions of a rollout as one function of states, torques and parameters, on the processor and on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dalembert.backends.cuda.constants import Constants, part
from dalembert.backends.cuda.kernel import Array
from dalembert.compile import check_quaternions, is_single
from dalembert.errors import DalembertError

from .failure import SimulationError
from .stepping import Stepping

# Places among the numbers that a device keeps. DUMP is written and not read; from NUMBERS on, for every record, the
# number of the first step that leads to it, and then that of the last one.
T0, H, ZERO, DUMP, NUMBERS = range(5)
WORDS = {"e": "v", "u": "torque"}  # what people call them


class Motions:
    """(q, e, u, live groups) → (q, e) after every `every` steps, `count` times; as `interop.calls.Call` asks.

    e = [v, z]: velocities and states of elements. u, if there is one, is flat where it has a row for every step.
    """

    name = "rollout"
    scratch: tuple[int, ...] = ()

    def __init__(self, stepping: Stepping, step: float, every: int, count: int) -> None:
        self.stepping, self.step, self.every, self.count = stepping, step, every, count
        self.owner = f"robot {stepping.model.name!r}"
        self.lengths = dict(stepping.given)
        if stepping.varying:
            self.lengths["u"] *= self.steps
        self.sizes = {WORDS.get(name, name): size for name, size in self.lengths.items()}
        self.shapes: list[tuple[int, ...]] = [(count, self.lengths["q"]), (count, self.lengths["e"])]
        self.operators: dict[str, Any] = {}

    @property
    def steps(self) -> int:
        """How many in all."""
        return self.every * self.count

    @cached_property
    def numbers(self) -> Constants:
        """What a device keeps: 0, the step [s], a zero, a place to write to, and numbers of steps."""
        first = [float(k * self.every) for k in range(self.count)]
        return Constants([0.0, self.step, 0.0, 0.0, *first, *(x + self.every - 1.0 for x in first)])

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """NumPy arrays, on the processor."""
        batch = batch_of(list(self.sizes), arrays)
        dtype = np.float32 if all(map(is_single, arrays)) else np.float64
        given = dict(zip(self.lengths, arrays, strict=True)) | {"timing": np.array([0.0, self.step])}
        q, e = (np.empty((*(batch or (1,)), *shape), dtype) for shape in self.shapes)
        if check:
            check_quaternions(self.stepping.model, self.name, {"q": given["q"]})
        loop = self.stepping.onwards()
        for k in range(self.count if prod(batch) else 0):
            inputs = given | {"number": np.array([float(k * self.every)])}
            if self.stepping.varying:
                inputs["u"] = given["u"][..., self._rows(k)]
            made = {"q_next": q[..., k, :], "e_next": e[..., k, :], "number_next": np.empty((*q.shape[:-2], 1), dtype)}
            loop.run(inputs, made, batch or (1,), self.every, threads)
            given |= {"q": made["q_next"], "e": made["e_next"]}
            if check:
                self._finite(made["q_next"], made["e_next"], k)
        return tuple(x.reshape(*batch, *x.shape[-2:]) for x in (q, e))

    def pullback(self) -> Any:
        """Gradients: see `Adjoint`."""
        from .adjoint import Adjoint

        if "vjp" not in self.operators:
            self.operators["vjp"] = Adjoint(self)
        return self.operators["vjp"]

    def device_kernel(self, check: bool) -> DeviceMotions:
        """The same on a graphics processor; check: quaternions that are not of unit length give NaN."""
        return self.operators.setdefault(f"cuda {check}", DeviceMotions(self, check))

    def _rows(self, k: int) -> slice:
        """Where u of the steps before record k lies."""
        n = self.every * self.stepping.model.nv
        return slice(k * n, (k + 1) * n)

    def _finite(self, q: np.ndarray, e: np.ndarray, k: int) -> None:
        """Raise for the first motion that is no longer made of numbers."""
        model = self.stepping.model
        good = np.isfinite(q).all(axis=-1) & np.isfinite(e).all(axis=-1)
        if good.all():
            return
        number = int(np.argmin(good.ravel()))
        row = np.isfinite(e.reshape(-1, e.shape[-1])[number, : model.nv])
        joint = model.freedom_names[0 if row.all() else int(np.argmin(row))]
        begin, end = k * self.every * self.step, (k + 1) * self.every * self.step
        raise SimulationError(
            f"rollout: motion {number} is no longer made of numbers between t = {begin:.6g} and {end:.6g} s (joint "
            f"{joint!r}): try a smaller step, 'implicit-velocity' for stiff damping, or check=False to go on"
        )


def batch_of(names: Sequence[str], arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The batch shape that the arguments share."""
    try:
        return np.broadcast_shapes(*[a.shape[:-1] for a in arrays])
    except ValueError:
        found = ", ".join(f"{name} {a.shape[:-1]}" for name, a in zip(names, arrays, strict=True))
        raise DalembertError(f"rollout: batch shapes do not broadcast: {found}") from None


class DeviceMotions:
    """The motions on a graphics processor: one launch for every record; states go from record to record."""

    def __init__(self, motions: Motions, check: bool) -> None:
        self.motions, self.check = motions, check

    def launch(self, element: str, count: int, arrays: Sequence[Array], stream: int | None = None) -> None:
        """arrays: those of the inputs, then q and e of the records."""
        motions, stepping = self.motions, self.motions.stepping
        numbers = motions.numbers.places(element)
        *inputs, q_made, e_made = arrays
        given = dict(zip(motions.lengths, inputs, strict=True)) | {"timing": numbers[T0]}
        kernel, nv = stepping.onwards(guarded=self.check), stepping.model.nv
        for k in range(motions.count):
            given["number"] = numbers[NUMBERS + k]
            now = dict(given)
            if stepping.varying:
                now["u"] = part(given["u"], element, k * motions.every * nv, nv)
            q, e = (part(x, element, k * n) for x, (_, n) in zip((q_made, e_made), motions.shapes, strict=True))
            places = [now[name] for name in kernel.sizes]
            kernel.device.launch(element, count, [*places, q, e, numbers[DUMP]], stream, motions.every)
            given |= {"q": q, "e": e}
