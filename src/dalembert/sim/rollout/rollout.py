"""Rollouts: a batch of motions with fixed steps, as one compiled loop on SIMD lanes and threads, or on a GPU.

A plan takes 100 µs to 1 ms. A rollout of the same options and shapes as one before takes that one's kit (`plan.Kit`);
what a short one reads and writes lies in fixed arrays, so that it takes one copy in, the compiled loop, one copy out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.compiler.execute import Interrupted
from dalembert.compiler.execute.registry import usual_backend
from dalembert.compiler.graph import trace
from dalembert.compiler.interop import is_foreign
from dalembert.compiler.interop.kinds import library
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.guards import UNIT_TOLERANCE, quaternions
from dalembert.typing import Array

from ..failure import FASTEST
from ..settings import Settings
from ..system.sampled import Sampled
from ..system.unsolved import counts, unsolved
from .live import check_values
from .memory import remembered
from .motions import Diverged, Motions, batch_of
from .plan import Kit, RolloutPlan, arrays_of, kit_for, planned
from .result import Rollout, RolloutContacts, StepAccelerations, crowded, named_result, with_forces
from .stepping import NEVER, Stepping

SHORT = 1e-3  # [s] of one thread: a longer rollout divides its work, and its plan does not matter
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def rollout(
    model: Model, q: Any, v: Any, settings: Settings, threads: int | None = None, check: bool = True
) -> Rollout:
    """See `Robot.rollout`."""
    arrays = arrays_of(settings, q, v)
    kit = kit_for(model, arrays, settings, True, check)
    result, _ = _rolled(kit, model, arrays, settings, threads, check)
    law = settings.torque if settings.controls is None else settings.controls
    if (callable(law) or isinstance(law, Sampled)) and counts():
        result._programs = partial(unsolved, model, law)
    return result


def _rolled(
    kit: Kit | None, model: Model, arrays: dict[str, Any], settings: Settings, threads: int | None, check: bool
) -> tuple[Rollout, RolloutPlan | None]:
    """A rollout from its kit, or from the beginning and with its plan, with room for all contacts."""
    seen = kit is not None and kit.equipment is not None
    native = usual_backend() == "llvm"
    if kit is not None and seen and native and kit.ready is not None:
        result: Rollout | None = kit.ready(arrays, settings.memory, check)
        if result is not None:
            return result, None
    growth = 1
    while True:
        plan = planned(model, arrays["q"], arrays["v"], settings, check, growth=growth, kit=kit)
        result = _result(plan.motions, plan.arguments, settings, threads, check)
        if any(map(is_foreign, plan.arguments)) or not crowded(result.contacts):
            break
        growth = plan.more_room
    if kit is not None and not seen and kit.equipment is not None and native:
        kit.ready = made_ready(plan, settings, arrays)
    return result, plan


def _result(motions: Motions, inputs: list[Any], settings: Settings, threads: int | None, check: bool) -> Rollout:
    """The motions, computed where the inputs lie."""
    last, foreign = settings.every is None, any(map(is_foreign, inputs))
    apart = motions.every * motions.step
    try:
        if foreign:
            from dalembert.compiler.execute.foreign import evaluate

            q, e = evaluate(motions, inputs, None, threads, check)
        else:
            q, e = motions(*inputs, threads=threads, check=check)
    except Diverged as error:
        q, e = (x.reshape(*batch_of(list(motions.sizes), inputs), *x.shape[-2:]) for x in error.states)
        if q.shape[-2] and not last:
            error.rollout = named_result(motions, np.arange(1, q.shape[-2] + 1) * apart, q, e, e[..., -1, :])
        raise
    except Interrupted as error:
        q, e, q_end, e_end = error.result
        if last:
            error.result = named_result(motions, error.passes * motions.step, q_end, e_end, e_end)
        else:
            error.result = named_result(motions, np.arange(1, q.shape[-2] + 1) * apart, q, e, e_end)
        raise
    e_end = e[..., -1, :]
    t: Any = motions.steps * motions.step
    if last:
        q, e = q[..., 0, :], e[..., 0, :]
    else:
        t = library("rollout", [q]).counted(motions.count, apart, q) if foreign else _times(motions)
    result = named_result(motions, t, q, e, e_end)
    if not foreign:
        result._later = StepAccelerations(motions, inputs, q, e, recorded=not last)
    if settings.forces is not None:
        every = ... if last or settings.forces == "every" else (..., -1, slice(None))
        result.contacts = with_forces(result.contacts, motions, q[every], e[every])
    return result


def _times(motions: Motions) -> Array:
    return np.arange(1, motions.count + 1) * (motions.every * motions.step)


def made_ready(plan: RolloutPlan, settings: Settings, arrays: dict[str, Any]) -> Ready | None:
    """The rollout on fixed arrays, if it is one short loop without states that Python finds between its pieces."""
    motions, stepping = plan.motions, plan.motions.stepping
    if any(type(x) is not np.ndarray or x.dtype not in FLOATS or not x.ndim for x in arrays.values()):
        return None
    batch = _batch(plan, arrays)
    rows = int(np.prod(batch))
    if len({x.dtype for x in arrays.values()}) > 1 or not rows:
        return None
    if type(motions) is not Motions or stepping.carried is not None or stepping.system.permanent_count:
        return None
    if settings.forces is not None or (not motions.each and motions.count > 1):
        return None
    loop = stepping.onwards(each=motions.each, alone=rows == 1)
    each, _ = loop.on("llvm").seconds(arrays["q"].dtype, rows, 1)
    return Ready(plan, settings, arrays, batch) if each * motions.steps <= SHORT else None


def _batch(plan: RolloutPlan, arrays: dict[str, Array]) -> tuple[int, ...]:
    """The batch shape of arrays, of which the torque or arguments of the law may have a row for each step."""
    stepping = plan.motions.stepping
    by_rows = {*stepping.series, *([plan.word] if stepping.varying else ())}
    return np.broadcast_shapes(*(x.shape[:-2] if name in by_rows else x.shape[:-1] for name, x in arrays.items()))


class Ready:
    """One rollout on fixed arrays: q (rows, nq), v and what else it takes; of one thread at a time."""

    def __init__(self, plan: RolloutPlan, settings: Settings, arrays: dict[str, Array], batch: tuple[int, ...]) -> None:
        motions, stepping = plan.motions, plan.motions.stepping
        self.motions, self.recorded, self.batch = motions, settings.every is not None, batch
        nv, kept, rows = stepping.model.nv, stepping.kept, int(np.prod(batch))
        dtype = plan.arguments[0].dtype
        self._inputs = {name: np.zeros((rows, size), dtype) for name, size in motions.lengths.items()}
        self._views = {name: x.reshape(*batch, x.shape[-1]) for name, x in self._inputs.items()}
        e = self._views["e"]
        self._named = {"v": e[..., :nv]} | {n: x for n, x in self._views.items() if n != "e"}
        if "u" in self._named:
            self._named[plan.word] = self._named.pop("u")
        if stepping.series:
            table = self._named.pop(plan.word).reshape(*batch, motions.steps, stepping.row)
            ends = np.cumsum([*stepping.series.values()])[:-1]
            self._named |= zip(stepping.series, np.split(table, ends, axis=-1), strict=True)
        self._memory = e[..., nv : nv + kept]
        known = dict(zip(stepping.arguments, plan.arguments, strict=True))
        for name in self._inputs.keys() - {"q", "e", "u", *arrays}:  # that the plan adds, such as a contact's friction
            self._inputs[name][...] = known[name]
        count = stepping.tallies.size
        if count:
            e[..., nv + kept : nv + kept + count] = stepping.tallies.start
        e[..., nv + kept + count :] = NEVER
        self._q, self._e = (np.zeros((rows, *shape), dtype) for shape in motions.shapes)
        timing = {"timing": np.array([0.0, motions.step], dtype), "number": np.zeros(1, dtype)}
        outputs = {"q_next": self._q, "e_next": self._e, "number_next": np.zeros((rows, 1), dtype)}
        loop = stepping.onwards(each=motions.each, alone=rows == 1)
        self._run = loop.bound(self._inputs | timing, outputs, motions.every * (motions.count if motions.each else 1))
        self._units = [x for _, x in quaternions(stepping.model, {"q": self._inputs["q"]})]
        self._live = tuple(name for name in stepping.constants if name in arrays)
        self._start = _start_of(stepping) if kept else None
        self._report = _report_places(stepping, self._e.shape[-1])
        self._lock = threading.Lock()

    def __call__(self, arrays: dict[str, Array], memory: Any, check: bool) -> Rollout | None:
        """The rollout of arrays by name, of the shapes that it was made for; None: something needs a second look."""
        motions = self.motions
        with self._lock:
            for name, x in arrays.items():
                place = self._named[name]
                if name in motions.stepping.series:
                    x = x[..., : motions.steps, :]
                elif x.ndim > place.ndim or x.shape[-1] != place.shape[-1]:  # rows of torques, as many as there is room
                    x = x.reshape(*x.shape[:-2], -1)[..., : place.shape[-1]]
                np.copyto(place, x)
            if memory is not None:
                np.copyto(self._memory, remembered(motions.stepping, arrays["v"], memory))
            elif self._start is not None:
                try:
                    np.copyto(self._memory, self._start(arrays["q"], arrays["v"]))
                except DalembertError:
                    return None
            if check:
                if self._live:
                    check_values(motions.stepping.model, {name: arrays[name] for name in self._live})
                units = (np.add.reduce(x * x, axis=-1) - 1.0 for x in self._units)
                if not all(_below(x, 1.5 * UNIT_TOLERANCE) for x in units):
                    return None
            self._run()
            if check and not (_below(self._e, FASTEST) and _below(self._q, np.inf)):
                return None
            q, e = (x.reshape(*self.batch, *x.shape[1:]) for x in (self._q.copy(), self._e.copy()))
            inputs = [x.copy() for x in self._views.values()]  # before another thread takes its turn
        end = e[..., -1, :]
        contacts = None if self._report is None else self._report(end, check)
        if crowded(contacts):
            return None
        t: Any = _times(motions) if self.recorded else motions.steps * motions.step
        if not self.recorded:
            q, e = q[..., 0, :], end
        result = named_result(motions, t, q, e, end, contacts)
        result._later = StepAccelerations(motions, inputs, q, e, recorded=self.recorded)
        return result


def _start_of(stepping: Stepping) -> Callable[..., Array]:
    """Initial states of elements and controllers, as a function of q and v."""
    sizes = {"q": stepping.model.nq, "v": stepping.model.nv}
    nodes = [x for output in trace(stepping.starting, sizes).outputs for x in output.nodes]
    if all(x.op == "const" for x in nodes):
        numbers = np.array([float(x.value) for x in nodes])
        return lambda q, v: numbers
    return stepping.start.builtin("start", "(q, v)\n--\n\n", stepping.start)


def _report_places(stepping: Stepping, size: int) -> Callable[[Array, bool], RolloutContacts] | None:
    """The report of rigid contact as a function of e at the end; None without any."""
    if stepping.system.contact is None:
        return None
    numbers = stepping.system.contact_memory(np.arange(float(size)))  # where each of them lies
    names = stepping.system.contact.names
    places = (numbers.unsettled, numbers.worst, numbers.crowded, numbers.passed)
    unsettled, worst, full, passed = (int(x) for x in places)

    def report(e: Array, checked: bool) -> RolloutContacts:
        diverged = np.zeros(e.shape[:-1], bool) if checked else ~np.isfinite(e).all(-1)
        return RolloutContacts(names, e[..., unsettled], e[..., worst], e[..., full], diverged, e[..., passed])

    return report


def _below(x: Array, bound: float) -> bool:
    """Whether all numbers are at most a bound in size; not so of NaN."""
    return bool(np.maximum.reduce(np.absolute(x), axis=None, initial=0.0) <= bound)


class PreparedRollout:
    """Plays motions with options that do not change: `result = play(q, v, torque)`; see `Robot.prepare_rollout`.

    A law counts as it was when `play` was made ready for arrays of these shapes: what it reads from elsewhere and that
    changes later must be an argument, given by name. Threads take turns.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        settings.method("prepare_rollout", model)
        settings.check_rollout()
        self.model, self.settings = model, settings
        law = settings.torque if settings.controls is None else settings.controls
        self.law = callable(law) or isinstance(law, Sampled)
        if law is not None and law is not True and not self.law:
            raise DalembertError(
                "prepare_rollout: torque and controls are laws (t, q, v) → tau here, or controls=True: arrays go to "
                "the call, play(q, v, torque)"
            )
        self._ready: dict[Any, Ready | None] = {}

    def __call__(
        self,
        q: Any,
        v: Any,
        torque: Any = None,
        *,
        memory: Any = None,
        threads: int | None = None,
        check: bool = True,
        **parameters: Any,
    ) -> Rollout:
        """The motions from q (…, nq), v (…, nv), as `Robot.rollout` gives them.

        torque (…, nv), or a row per step (…, steps, nv); with controls=True of the actuators (…, nu). memory: of a
        rollout before. Others by name: live groups, or arguments of the law, as `parameters` of `rollout`.
        """
        arrays, word = {"q": q, "v": v, **parameters}, "controls" if self.settings.controls else "torque"
        if torque is not None:
            if self.law:
                raise DalembertError("play: got torques, and a law drives the robot: prepare the rollout without it")
            arrays[word] = torque
        key: Any = (check, *((name, x.shape, x.dtype) for name, x in arrays.items() if type(x) is np.ndarray))
        ready = self._ready.get(key) if len(key) == len(arrays) + 1 else None
        if ready is not None and (result := ready(arrays, memory, check)) is not None:
            return result
        driving: dict[str, Any] = {} if self.law else {"torque": None, "controls": None}
        if torque is not None:
            driving[word] = torque
        elif self.settings.controls is True:
            raise DalembertError("play: prepared with controls=True, expected play(q, v, controls)")
        settings = replace(self.settings, memory=memory, parameters=parameters, **driving)
        result, plan = _rolled(None, self.model, arrays, settings, threads, check)
        if plan is not None and len(key) == len(arrays) + 1 and key not in self._ready:
            self._ready[key] = made_ready(plan, settings, arrays)
        return result

    def __repr__(self) -> str:
        return (
            f"<PreparedRollout of robot {self.model.name!r}: {self.settings.steps} steps of {self.settings.length:g} s>"
        )
