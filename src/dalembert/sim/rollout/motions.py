"""The motions of a rollout as one function of states, torques and parameters, on the processor and on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.execute import Interrupted, Program, batch_shape, empty, is_single
from dalembert.compiler.execute.device import Array as DeviceArray
from dalembert.compiler.execute.device import Constants, part
from dalembert.errors import DalembertError
from dalembert.quantities.guards import check_quaternions
from dalembert.typing import Array

from ..failure import FASTEST, SimulationError, sound
from ..system.planners import Planners
from ..system.sampled import Sampled
from .stepping import Stepping

# Places among the numbers that a device keeps. DUMP is written and not read; from NUMBERS on, for every record, the
# number of the first step that leads to it, and then that of the last one.
T0, H, ZERO, DUMP, NUMBERS = range(5)


class Motions:
    """(q, e, u, live groups) → (q, e) after every `every` steps, `count` times; as `execute.foreign.ForeignCall` asks.

    e = [v, z]: velocities and states of elements. u, if there is one, is flat where it has a row for every step.
    """

    name = "rollout"
    scratch: tuple[int, ...] = ()

    def __init__(self, stepping: Stepping, step: float, every: int, count: int) -> None:
        self.stepping, self.step, self.every, self.count = stepping, step, every, count
        self.owner = f"robot {stepping.model.name!r}"
        self.lengths = dict(stepping.arguments)
        if stepping.varying:
            self.lengths["u"] *= self.steps
        driven = "torque" if stepping.system.actuators is None else "controls"
        words = {"e": "v", "u": ", ".join(stepping.series) or driven}  # as people call them
        self.sizes = {words.get(name, name): size for name, size in self.lengths.items()}
        self.shapes: list[tuple[int, ...]] = [(count, self.lengths["q"]), (count, self.lengths["e"])]
        self.operators: dict[str, Any] = {}

    @property
    def steps(self) -> int:
        """The number of steps in all."""
        return self.every * self.count

    @property
    def each(self) -> bool:
        """Whether every step is recorded: by one loop then, else by one for every record."""
        return self.every == 1

    @cached_property
    def numbers(self) -> Constants:
        """Constants on a device: 0, the step [s], a zero, a place to write to, and numbers of steps."""
        first = [float(k * self.every) for k in range(self.count)]
        return Constants([0.0, self.step, 0.0, 0.0, *first, *(x + self.every - 1.0 for x in first)])

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """NumPy arrays, on the processor."""
        batch = batch_of(list(self.sizes), arrays)
        dtype = np.float32 if all(map(is_single, arrays)) else np.float64
        named = dict(zip(self.lengths, arrays, strict=True)) | {"timing": np.array([0.0, self.step])}
        q, e = (empty((*(batch or (1,)), *shape), dtype) for shape in self.shapes)
        if check:
            check_quaternions(self.stepping.model, self.name, {"q": named["q"]})
        alone = int(np.prod(batch)) == 1
        loop = self.stepping.onwards(each=self.each, alone=alone)
        number = np.empty((*q.shape[:-2], 1), dtype)
        k, steps, nu = 0, self.steps if self.each else self.every, self.stepping.row
        carried = self.stepping.carried
        if carried is not None and carried.primed is not None and q.size:
            named["e"] = self._primed(loop, named, batch, dtype, threads)
        try:
            for k in range((1 if self.each else self.count) if q.size else 0):
                inputs = named | {"number": np.array([float(k * self.every)])}
                if self.stepping.varying:
                    inputs["u"] = named["u"][..., k * steps * nu : (k + 1) * steps * nu]
                here = {"q_next": q[..., self._rows(k), :], "e_next": e[..., self._rows(k), :], "number_next": number}
                loop.run(inputs, here, batch or (1,), steps, threads)
                named |= {"q": q[..., k, :], "e": e[..., k, :]}
                if check:
                    self._check_finite(arrays, q, e, k)
        except KeyboardInterrupt as error:
            raise self._interrupted(error, k, q, e, arrays, batch) from None
        return tuple(x.reshape(*batch, *x.shape[-2:]) for x in (q, e))

    def _primed(
        self, loop: Program, named: dict[str, Any], batch: tuple[int, ...], dtype: Any, threads: int | None
    ) -> Array:
        """e with the memory with which an integrator that has one begins, found by single steps."""
        stepping, shape = self.stepping, batch or (1,)
        ne, end = stepping.system.ne, stepping.system.ne + stepping.carried_size
        q0, e0 = (np.broadcast_to(named[name], (*shape, stepping.sizes[name])) for name in ("q", "e"))
        marks = e0[..., end:]
        number = np.empty((*shape, 1), dtype)

        def run(q: Array, e: Array, memory: Array) -> tuple[Array, Array, Array]:
            inputs = named | {"q": q, "e": np.concatenate([e, memory, marks], -1), "number": np.zeros(1)}
            if stepping.varying:
                inputs["u"] = named["u"][..., : stepping.row]
            q1, e1 = (np.empty((*shape, 1, stepping.sizes[name]), dtype) for name in ("q", "e"))
            loop.run(inputs, {"q_next": q1, "e_next": e1, "number_next": number}, shape, 1, threads)
            return q1[..., 0, :], e1[..., 0, :ne], e1[..., 0, ne:end]

        assert stepping.carried is not None and stepping.carried.primed is not None
        memory = stepping.carried.primed(stepping.system, run, q0, e0[..., :ne], e0[..., ne:end])
        return np.concatenate([e0[..., :ne], memory, marks], -1)

    def _rows(self, k: int) -> slice:
        """The records that loop k writes."""
        return slice(None) if self.each else slice(k, k + 1)

    def _check_finite(self, arrays: Sequence[Array], q: Array, e: Array, k: int) -> None:
        """Raise if the records of loop k are not all sound."""
        rows = self._rows(k)
        speeds, total = e[..., rows, : self.stepping.model.nv], q[..., rows, :].sum() + e[..., rows, :].sum()
        if np.isfinite(total) and max(speeds.max(initial=0.0), -speeds.min(initial=0.0)) <= FASTEST:
            return  # a sum is finite only if all of its terms are
        if not sound(q[..., rows, :], e[..., rows, :], self.stepping.model.nv).all():
            raise self._trouble(arrays, q, e, rows)

    def _interrupted(
        self, error: KeyboardInterrupt, k: int, q: Array, e: Array, arrays: Sequence[Array], batch: tuple[int, ...]
    ) -> Interrupted:
        """The exception for an interruption of loop k. result: (q, e) of the records until then, (q, e) at the end."""
        passes = error.passes if isinstance(error, Interrupted) else 0
        steps = passes if self.each else k * self.every + passes
        records = passes if self.each else k
        ends = []
        for x, start in zip((q, e), arrays, strict=False):  # the state is written to the record that it leads to
            row = records - 1 if self.each or not passes else k
            ends.append(x[..., row, :] if steps else np.broadcast_to(start, (*(batch or (1,)), start.shape[-1])))
        so_far = q[..., :records, :], e[..., :records, :], *ends
        parts = [x.reshape(*batch, *x.shape[len(batch or (1,)) :]) for x in so_far]
        text = f"rollout: interrupted after {steps} of {self.steps} steps; `result` of this error is the Rollout so far"
        return Interrupted(text, steps, parts)

    def pullback(self) -> Any:
        """Gradients: see `Adjoint`."""
        from .adjoint import Adjoint

        if "vjp" not in self.operators:
            self.operators["vjp"] = Adjoint(self)
        return self.operators["vjp"]

    def device_kernel(self, check: bool) -> DeviceMotions:
        """The same on a graphics processor; check: quaternions that are not of unit length give NaN."""
        return self.operators.setdefault(f"cuda {check}", DeviceMotions(self, check))

    def _trouble(self, arrays: Sequence[Array], q: Array, e: Array, rows: slice) -> DalembertError:
        """The error for records q, e that are sound before those in `rows`, and not all there; or for bad inputs."""
        for name, x in zip(self.sizes, arrays, strict=True):
            if not np.isfinite(x).all():
                return DalembertError(
                    f"rollout: {name} has NaN or inf, expected finite numbers (check=False takes all)"
                )
        model = self.stepping.model
        good = sound(q[..., rows, :], e[..., rows, :], model.nv)
        good = good.reshape(-1, good.shape[-1])
        record = int(np.argmin(good.all(axis=0)))
        number, first = int(np.argmin(good[:, record])), record + (rows.start or 0)
        state = e.reshape(-1, *e.shape[-2:])[number, first]
        speeds = np.abs(state[: model.nv]) <= FASTEST
        at = 0 if speeds.all() else int(np.argmin(speeds))
        fast = f"is faster than {FASTEST:g} rad/s or m/s"
        nan = "is NaN: a step far too long does that, or a law or a force that gives NaN"
        what = f"joint {model.freedom_names[at]!r} {nan if np.isnan(state[at]) else fast}"
        begin, end = ((first + k) * self.every * self.step for k in (0, 1))
        events = self.stepping.events
        for event, mark in zip(events, state[len(state) - len(events) :], strict=True):
            if np.isnan(mark) and speeds.all():
                return SimulationError(
                    f"rollout: event {event.name!r} of motion {number} is NaN between t = {begin:.6g} and {end:.6g} s: "
                    "its function must give a number everywhere"
                )
        error = Diverged(
            f"rollout: motion {number} diverged between t = {begin:.6g} and {end:.6g} s ({what}): try a smaller step, "
            f"{self._stiff_cure()}, robot.stops() where joints run away, or check=False to go on; `rollout` of this "
            "error has the records until then"
        )
        error.states = q[..., :first, :], e[..., :first, :]
        return error

    def _stiff_cure(self) -> str:
        """Say what helps where damping or a law is too stiff for the step, or loops are open."""
        contact, loops = self.stepping.system.contact, self.stepping.model.closures
        stiff = "servos of actuators in the place of a stiff torque law"
        cure = stiff if contact is not None else "'implicit-velocity' for stiff damping"
        return f"{cure}, a start with closed loops by robot.close_loops(q, v)" if loops else cure


class Diverged(SimulationError):
    """Motions that are no longer numbers. states: q, e of the records before."""

    states: tuple[Array, Array]


def batch_of(names: Sequence[str], arrays: Sequence[Array]) -> tuple[int, ...]:
    """The batch shape that the arguments share."""
    return batch_shape("rollout", {name: a.shape[:-1] for name, a in zip(names, arrays, strict=True)})


class DeviceMotions:
    """The motions on a graphics processor: one launch for every record, or for all if each step is one."""

    def __init__(self, motions: Motions, check: bool) -> None:
        self.motions, self.check = motions, check

    def launch(self, element: str, count: int, arrays: Sequence[DeviceArray], stream: int | None = None) -> None:
        """arrays: those of the inputs, then q and e of the records."""
        motions, stepping = self.motions, self.motions.stepping
        constant = motions.numbers.placed(element)
        *inputs, q_records, e_records = arrays
        named = dict(zip(motions.lengths, inputs, strict=True)) | {"timing": constant(T0)}
        kernel = stepping.onwards(self.check, motions.each, lean=True)
        nu, each = stepping.row, motions.each
        for k in range(1 if each else motions.count):
            named["number"] = constant(NUMBERS + k)
            now = dict(named)
            if stepping.varying:
                now["u"] = part(named["u"], element, k * motions.every * nu, nu)
            records = zip((q_records, e_records), motions.shapes, strict=True)
            q, e = (part(x, element, k * n, n if each else None) for x, (_, n) in records)
            places = [*(now[name] for name in kernel.sizes), q, e, constant(DUMP)]
            kernel.on("cuda").launch(element, count, places, stream, motions.steps if each else motions.every)
            named |= {"q": q, "e": e}


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
                end = min(planners.next(number), self.steps if self.each else (number // self.every + 1) * self.every)
                records = self._piece(named, number, end, q, e, threads)
                number = end
                if check and not sound(q[:, records], e[:, records], nv).all():
                    raise self._trouble(arrays, q, e, records)
        except KeyboardInterrupt:
            raise self._stopped(number, named, q, e, batch) from None
        return tuple(x.reshape(*batch, *x.shape[-2:]) for x in (q, e))

    def _piece(self, named: dict[str, Any], begin: int, end: int, q: Array, e: Array, threads: int | None) -> slice:
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

    def _stopped(self, steps: int, named: dict[str, Any], q: Array, e: Array, batch: tuple[int, ...]) -> Interrupted:
        """The error to raise on Ctrl-C. result: (q, e) of the records until then, (q, e) at the end."""
        records = steps // self.every
        parts = q[:, :records], e[:, :records], named["q"], named["e"]
        text = f"rollout: interrupted after {steps} of {self.steps} steps; `result` of this error is the Rollout so far"
        return Interrupted(text, steps, [x.reshape(*batch, *x.shape[1:]) for x in parts])
