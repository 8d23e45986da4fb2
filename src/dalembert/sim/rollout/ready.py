"""Rollouts that are ready: everything planned, and where they are short, their memory bound.

A plan takes 100 µs to 1 ms. A rollout of the same options and shapes as one before takes that one's plan; what a
short one reads and writes lies in fixed arrays, so that it takes one copy in, the compiled loop, and one copy out.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Recent
from dalembert.compiler.execute.host import Bound
from dalembert.compiler.execute.registry import usual_backend
from dalembert.compiler.execute.watch import Watch
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.guards import UNIT_TOLERANCE, quaternions

from ..failure import FASTEST
from ..settings import Settings
from ..system.sampled import Sampled
from .accelerations import Later
from .live import check_values
from .memory import remembered
from .motions import Motions
from .plan import RolloutPlan
from .stepping import NEVER, Stepping

SHORT = 1e-3  # [s] of one thread: a longer rollout divides its work, and its plan does not matter
KEPT = 64  # rollouts that are ready
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Ready:
    """One rollout on fixed arrays: q (rows, nq), v and what else it takes; of one thread at a time."""

    def __init__(self, plan: RolloutPlan, settings: Settings, arrays: dict[str, np.ndarray]) -> None:
        motions, stepping = plan.motions, plan.motions.stepping
        self.motions, self.settings, self.word = motions, settings, plan.word
        self.nv, self.kept = stepping.model.nv, stepping.kept
        self.batch = batch_of(plan, arrays)
        rows = int(np.prod(self.batch))
        dtype = plan.arguments[0].dtype
        self._inputs = {name: np.zeros((rows, size), dtype) for name, size in motions.lengths.items()}
        self._views = {name: x.reshape(*self.batch, x.shape[-1]) for name, x in self._inputs.items()}
        self._named = {"v": self._views["e"][..., : self.nv]} | {n: x for n, x in self._views.items() if n != "e"}
        if "u" in self._named:
            self._named[plan.word] = self._named.pop("u")
        self._memory = self._views["e"][..., self.nv : self.nv + self.kept]
        planned = dict(zip(stepping.arguments, plan.arguments, strict=True))
        for name in self._inputs.keys() - {"q", "e", "u", *arrays}:  # that the plan adds, such as a contact's friction
            self._inputs[name][...] = planned[name]
        rest, begin = self._views["e"], self.nv + self.kept
        count = stepping.tallies.size
        if count:
            rest[..., begin : begin + count] = stepping.tallies.start
        rest[..., begin + count :] = NEVER
        self._q, self._e = (np.zeros((rows, *shape), dtype) for shape in motions.shapes)
        loop = stepping.onwards(each=motions.each, alone=rows == 1)
        timing = {"timing": np.array([0.0, motions.step], dtype), "number": np.zeros(1, dtype)}
        outputs = {"q_next": self._q, "e_next": self._e, "number_next": np.zeros((rows, 1), dtype)}
        self._run: Bound = loop.bound(
            self._inputs | timing, outputs, motions.every * (motions.count if motions.each else 1)
        )
        self._t = np.arange(1, motions.count + 1) * (motions.every * motions.step)
        self._units = [x for _, x in quaternions(stepping.model, {"q": self._inputs["q"]})]
        self._live = tuple(name for name in stepping.constants if name in arrays)
        self._start = _start_of(stepping) if self.kept else None
        self._report = _report_places(stepping, self._e.shape[-1])
        self._lock = threading.Lock()

    def __call__(self, arrays: dict[str, np.ndarray], memory: Any, check: bool) -> Any:
        """The rollout of arrays by name, of the shapes that it was made for; None: something needs a second look."""
        from .rollout import crowded, named_result

        stepping = self.motions.stepping
        with self._lock:
            for name, x in arrays.items():
                place = self._named[name]
                np.copyto(place, x if x.ndim <= place.ndim and x.shape[-1] == place.shape[-1] else _flat(x, place))
            if memory is not None:
                np.copyto(self._memory, remembered(stepping, arrays["v"], memory))
            elif self._start is not None:
                try:
                    np.copyto(self._memory, self._start(arrays["q"], arrays["v"]))
                except DalembertError:
                    return None
            if check and not self._can_start(arrays):
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
        if self.settings.every is None:
            q, t = q[..., 0, :], self.motions.steps * self.motions.step
            result = named_result(self.motions, t, q, end, end, contacts)
            result._later = Later(self.motions, inputs, q, end, recorded=False)
            return result
        result = named_result(self.motions, self._t.copy(), q, e, end, contacts)
        result._later = Later(self.motions, inputs, q, e, recorded=True)
        return result

    def _can_start(self, arrays: dict[str, np.ndarray]) -> bool:
        """Whether the arguments need no error and no warning."""
        if self._live:
            check_values(self.motions.stepping.model, {name: arrays[name] for name in self._live})
        return all(_below(np.add.reduce(x * x, axis=-1) - 1.0, 1.5 * UNIT_TOLERANCE) for x in self._units)


def _start_of(stepping: Stepping) -> Any:
    """Initial states of elements and controllers, as a function of q and v."""
    sizes = {"q": stepping.model.nq, "v": stepping.model.nv}
    nodes = [x for output in trace(stepping.starting, sizes).outputs for x in output.nodes]
    if all(x.op == "const" for x in nodes):
        numbers = np.array([float(x.value) for x in nodes])
        return lambda q, v: numbers
    return stepping.start.builtin("start", "(q, v)\n--\n\n", stepping.start)


def _report_places(stepping: Stepping, size: int) -> Any:
    """The report of rigid contact as a function of e at the end; None without any."""
    from .rollout import RolloutContacts

    if stepping.system.contact is None:
        return None
    numbers = stepping.system.contact_memory(np.arange(float(size)))  # where each of them lies
    names = stepping.system.contact.names
    places = (numbers.unsettled, numbers.worst, numbers.crowded, numbers.passed)
    unsettled, worst, crowded, passed = (int(x) for x in places)

    def report(e: np.ndarray, checked: bool) -> RolloutContacts:
        diverged = np.zeros(e.shape[:-1], bool) if checked else ~np.isfinite(e).all(-1)
        return RolloutContacts(names, e[..., unsettled], e[..., worst], e[..., crowded], diverged, e[..., passed])

    return report


def _flat(x: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Rows of torques (…, steps, n) one after the other, as many as there is room for."""
    flat = x.reshape(*x.shape[:-2], -1)
    return flat[..., : place.shape[-1]]


def _below(x: np.ndarray, bound: float) -> bool:
    """Whether all numbers are at most a bound in size; not so of NaN."""
    return bool(np.maximum.reduce(np.absolute(x), axis=None, initial=0.0) <= bound)


def bindable(plan: RolloutPlan, settings: Settings, rows: int, dtype: Any) -> bool:
    """Whether a rollout is one short loop, on the processor, without states that Python finds between its pieces."""
    motions = plan.motions
    stepping: Stepping = motions.stepping
    if type(motions) is not Motions or stepping.carried is not None or stepping.system.permanent_count:
        return False
    if settings.forces is not None or not rows or (not motions.each and motions.count > 1):
        return False
    loop = stepping.onwards(each=motions.each, alone=rows == 1)
    each, _ = loop.on("llvm").seconds(dtype, rows, 1)
    return bool(each * motions.steps <= SHORT)


class _Known(NamedTuple):
    """A rollout that is ready, for the very objects and shapes of its key."""

    ready: Ready
    watch: Watch
    kept: tuple[Any, ...]


_known, _seen = Recent(KEPT), Recent(KEPT)  # what is ready, and what was asked for once


def ready_for(model: Model, arrays: dict[str, Any], settings: Settings, check: bool) -> tuple[Any, Ready | None]:
    """(key, what is ready for it); key None: options that are not looked up."""
    law = settings.torque if settings.controls is None else settings.controls
    shapes = []
    for name, x in arrays.items():
        if type(x) is not np.ndarray or x.dtype not in FLOATS or not x.ndim:
            return None, None
        shapes.append((name, x.shape, x.dtype))
    integrator = settings.integrator
    if not (integrator is None or isinstance(integrator, str)) or usual_backend() != "llvm":
        return None, None
    key = (
        id(model), *shapes, None if isinstance(law, np.ndarray) else id(law), settings.controls is None,
        settings.length, settings.steps, settings.every, integrator, settings.friction, settings.forces,
        id(settings.contact), check, *map(id, settings.elements), None, *map(id, settings.events), id(settings.tallies),
    )  # fmt: skip
    known = _known.known(key)
    return key, known.ready if known is not None and known.watch.still() else None


def keep(key: Any, model: Model, plan: RolloutPlan, settings: Settings, arrays: dict[str, Any]) -> None:
    """Make a rollout that is asked for a second time ready for the next call like it, if that is sound."""
    if _seen.known(key) is None:
        _seen.get(key, lambda: True)
        return
    law = settings.torque if settings.controls is None else settings.controls
    law = None if isinstance(law, np.ndarray) else law
    objects = law, settings.contact, tuple(settings.elements), tuple(settings.events), settings.tallies
    watch = Watch(*objects)
    made = make_ready(plan, settings, arrays) if watch.complete else None
    if made is not None:
        _known.drop(key)
        _known.get(key, lambda: _Known(made, watch, (model, *objects)))


def make_ready(plan: RolloutPlan, settings: Settings, arrays: dict[str, np.ndarray]) -> Ready | None:
    """The rollout on fixed arrays; None where it is not one short loop."""
    if len({x.dtype for x in arrays.values()}) > 1:
        return None
    rows = int(np.prod(batch_of(plan, arrays)))
    return Ready(plan, settings, arrays) if bindable(plan, settings, rows, arrays["q"].dtype) else None


def batch_of(plan: RolloutPlan, arrays: dict[str, np.ndarray]) -> tuple[int, ...]:
    """The batch shape of arrays, of which the torque may have a row for each step."""
    varying = plan.motions.stepping.varying
    return np.broadcast_shapes(
        *(x.shape[:-2] if varying and name == plan.word else x.shape[:-1] for name, x in arrays.items())
    )


def given(settings: Settings, q: Any, v: Any) -> dict[str, Any]:
    """Arrays that differ from call to call, by name."""
    arrays = {"q": q, "v": v, **settings.parameters}
    word, driving = ("torque", settings.torque) if settings.controls is None else ("controls", settings.controls)
    if driving is not None and not (callable(driving) or isinstance(driving, Sampled)):
        arrays[word] = driving
    return arrays
