"""A rollout before it runs: settings checked, everything as arrays, and the program that will take them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from dalembert.compiler.execute import Recent, is_single, real_array
from dalembert.compiler.execute.watch import Watch
from dalembert.compiler.graph import TracedValueError
from dalembert.compiler.interop import is_foreign
from dalembert.compiler.interop.kinds import is_float32, library
from dalembert.contact.scene import known_growth
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.live import GROUPS

from ..elements.contact import RigidContact, with_contact
from ..elements.soft import softened
from ..integrators.catalogue import Integrator, uncarried
from ..settings import Settings
from ..system.laws import Inputs, chosen_inputs, drive
from ..system.planner import Planner, sampled
from ..system.sampled import Sampled, settings_of
from ..system.sampling import Sampling, shared_sampling
from ..system.system import Law
from .live import CONTACT_FRICTION, PAYLOAD, check_values, checked_names, friction_as_input, prepared, size_of
from .memory import remembered
from .motions import Motions, PlannedMotions
from .stepping import NEVER, StepParts, Stepping, stepping
from .tallies import Tallies

KEPT = 64  # motions of one stepping, and kits
WORDS = ("torque", "controls")
MANY = 20  # steps of a rollout from which an argument of the law with one row more or less is a mistake
ALMOST = 0.1  # share of the steps by which rows of torques are too many or too few by mistake


class RolloutPlan(NamedTuple):
    """The motions of a rollout and their arguments. word: "torque" or "controls"."""

    motions: Motions
    arguments: list[Any]
    word: str

    @property
    def more_room(self) -> int:
        """The growth of a room for contacts twice as large."""
        system = self.motions.stepping.system
        assert system.contact is not None
        return system.contact.grown(system.model)


class Equipment:
    """All that a rollout computes with but its arrays: the model, its elements, what drives it, and its steps.

    carries: whether an integrator may keep numbers of its own from step to step, whose start has no slopes. growth: of
    the room for contacts.
    """

    def __init__(self, model: Model, settings: Settings, carries: bool, growth: int) -> None:
        where, h, self.method = "rollout", float(settings.length), settings.method("rollout", model)
        self.driving = sampled(settings.torque if settings.controls is None else settings.controls)
        self.law_sizes = _law_sizes(self.driving, settings.parameters)
        of_model = [name for name in settings.parameters if name not in self.law_sizes]
        self.live = checked_names(of_model, settings.contact)
        model, elements = softened(model, tuple(settings.elements), settings.contact, h)
        model, elements = prepared(where, model, elements, self.method, settings.friction, self.live)
        self.inputs, _, actuators, _ = chosen_inputs(where, model, settings.torque, settings.controls)
        reported, stable = settings.forces is not None, self.method.stable
        elements = with_contact(where, model, (*elements, *actuators), settings.contact, h, stable, reported, growth)
        self.model, self.elements, self.events = model, elements, tuple(settings.events)
        self.sampling = self._sampling(h) if isinstance(self.driving, Sampled) else None
        self.law = _law(self.inputs, self.driving, self.law_sizes) if callable(self.driving) else None
        self.sizes = {"q": model.nq, "v": model.nv} | {name: size_of(model, name) for name in self.live}
        self.sizes |= self.law_sizes
        if self.law is None and self.sampling is None and self.driving is not None:
            self.sizes[self.inputs.word] = self.inputs.count
        self.planned_sizes = {} if self.sampling is None else self.sampling.planned_sizes
        self.law_sizes |= self.planned_sizes
        if not carries or self.sampling is not None:
            self.method = uncarried(self.method)
        self.tallies = self._tallies(settings)
        self._steps: dict[tuple[Any, ...], Stepping] = {}

    @property
    def has_room(self) -> bool:
        """Whether no motion has needed more room for contacts since."""
        contact = next((x for x in self.elements if isinstance(x, RigidContact)), None)
        return contact is None or not contact.scene_room or known_growth(self.model, contact.patches) <= contact.growth

    def steps(self, driven: bool, varying: bool, foreign: bool, series: tuple[str, ...]) -> Stepping:
        """The step; varying: driven by a row of numbers for every step; series: as arguments of the law."""
        method = uncarried(self.method) if foreign else self.method
        kind = driven, varying, method.carried is None, series
        if kind not in self._steps:
            first, kinds = (self.model, self.elements, self.law, method, self.live), (driven, varying)
            parts = StepParts(*first, *kinds, self.events, self.sampling, self.law_sizes, self.tallies, series)
            self._steps[kind] = stepping(parts)
        return self._steps[kind]

    def _sampling(self, step: float) -> Sampling:
        """Controllers that run at rates, if they can be traced."""
        try:
            return shared_sampling("rollout", self.inputs.model, self.driving, step, self.law_sizes, self.inputs.count)
        except Exception as error:  # whatever the user's code raises when it meets a traced number
            if isinstance(error, DalembertError) and not isinstance(error, TracedValueError):
                raise
            why = " ".join(str(error).split()) or type(error).__name__
            raise DalembertError(
                f"rollout: {self.driving.name} cannot be traced ({why}): write it with arithmetic, dalembert.math and "
                "the robot's methods, and what it keeps as state=…; only `simulate` calls controllers from Python"
            ) from None

    def _tallies(self, settings: Settings) -> Tallies | None:
        """Measures along the motions, or None."""
        if not settings.tallies:
            return None
        if self.planned_sizes:
            raise DalembertError("rollout: measures take compiled loops, and a controller plans between their pieces")
        sizes = {"t": 1, "q": self.model.nq, "v": self.model.nv, "tau": self.inputs.count, **self.law_sizes}
        return Tallies(self.model, settings.tallies, sizes)


class Kit:
    """Parts that calls with the same objects and shapes share, from the second one on, until something changes in them.

    ready: the rollout bound to fixed arrays, see `rollout.Ready`; None: not yet, or it is not one short loop.
    """

    def __init__(self) -> None:
        self.calls, self.ready = 0, cast(Any, None)
        self._watch: Watch | None = None
        self._objects: tuple[Any, ...] = ()  # whose ids are in the key
        self._equipment: Equipment | None = None

    @property
    def equipment(self) -> Equipment | None:
        """The equipment of an earlier call, if it counts still."""
        if self._watch is None or self._equipment is None:
            return None
        if self._watch.still() and self._equipment.has_room:
            return self._equipment
        self.__init__()  # type: ignore[misc]
        return None

    def keep(self, model: Model, settings: Settings, equipment: Equipment) -> None:
        """Note what a call was computed with; a first call alone is not worth it."""
        self.calls += 1
        if self.calls < 2 or equipment is self._equipment:
            return
        law = settings.torque if settings.controls is None else settings.controls
        law = law if callable(law) or isinstance(law, Sampled) else None
        objects = law, settings.contact, tuple(settings.elements), tuple(settings.events), settings.tallies
        watch = Watch(*objects)
        if watch.complete:
            self._watch, self._objects, self._equipment = watch, (model, *objects), equipment


_kits = Recent(KEPT)


def kit_for(model: Model, arrays: Mapping[str, Any], settings: Settings, *more: Any) -> Kit | None:
    """The kit of calls like this one; None: with options that are not looked up."""
    if not (settings.integrator is None or isinstance(settings.integrator, str)):
        return None
    law = settings.torque if settings.controls is None else settings.controls
    law = id(law) if callable(law) or isinstance(law, Sampled) else None
    try:
        shapes = [
            (name, type(x), getattr(x, "dtype", None), x.shape if hasattr(x, "shape") else np.shape(x))
            for name, x in arrays.items()
        ]
        key = (
            id(model), *shapes, law, settings.controls is None, settings.length, settings.steps, settings.every,
            settings.integrator, settings.friction, settings.forces, id(settings.contact), *more,
            *map(id, settings.elements), None, *map(id, settings.events), id(settings.tallies),
        )  # fmt: skip
        kit: Kit = _kits.get(key, Kit)
    except (TypeError, ValueError):  # ragged lists, numbers that cannot be keys
        return None
    return kit


def arrays_of(settings: Settings, q: Any, v: Any) -> dict[str, Any]:
    """Arrays that differ from call to call, by name."""
    arrays = {"q": q, "v": v, **settings.parameters}
    word, driving = ("torque", settings.torque) if settings.controls is None else ("controls", settings.controls)
    if driving is not None and not (callable(driving) or isinstance(driving, Sampled)):
        arrays[word] = driving
    return arrays


def planned(
    model: Model,
    q: Any,
    v: Any,
    settings: Settings,
    check: bool,
    carries: bool = True,
    growth: int = 1,
    kit: Kit | None = None,
) -> RolloutPlan:
    """The settings and states, checked and as arrays; check: refuse bad values of live groups too.

    carries, growth: of `Equipment`. kit: of calls like this one, where it was looked up.
    """
    if not model.nv:
        raise DalembertError(f"rollout: robot {model.name!r} has no joint that moves")
    settings.check_rollout()
    kit = kit_for(model, arrays_of(settings, q, v), settings, carries) if kit is None else kit
    given = settings
    if carries and settings.forces is None and CONTACT_FRICTION not in settings.parameters and not is_foreign(q):
        contact, mu = friction_as_input(model, settings.contact)
        named = {} if mu is None else {CONTACT_FRICTION: [mu]}
        settings = replace(settings, contact=contact, parameters={**settings.parameters, **named})
    known = None if kit is None or growth > 1 else kit.equipment
    equipment = Equipment(model, settings, carries, growth) if known is None else known
    if kit is not None:
        kit.keep(model, given, equipment)
    h, word, model = float(settings.length), equipment.inputs.word, equipment.model
    arrays = _arrays(model, arrays_of(settings, q, v), equipment.sizes)
    if check:
        check_values(model, {name: arrays[name] for name in equipment.live if isinstance(arrays[name], np.ndarray)})
    driven = word in arrays
    varying = driven and _has_rows(arrays, word, int(settings.steps))
    if varying:
        arrays[word] = _flat([arrays[word]], settings.interval * settings.count)
    names = equipment.law_sizes.keys() - equipment.planned_sizes.keys()
    series = tuple(name for name in arrays if name in names and _has_rows(arrays, name, int(settings.steps)))
    if equipment.planned_sizes:
        _check_planned(equipment.driving, arrays, carries)
    dtype = np.float32 if all(map(is_single, arrays.values())) else np.float64
    arrays |= {name: np.zeros(size, dtype) for name, size in equipment.planned_sizes.items()}
    steps = equipment.steps(driven, varying or bool(series), any(map(is_foreign, (q, v))), series)
    if series:
        if equipment.planned_sizes:
            raise DalembertError(f"rollout: {series[0]} has a row for each step: controllers that plan take none")
        arrays[word] = _flat([arrays.pop(name) for name in series], settings.interval * settings.count)
    _check_precision(arrays, equipment.method, steps)
    if check:
        steps.open_loops.warn("rollout", arrays, depth=5)
    e = _with_states(steps, arrays["q"], arrays["v"], settings.memory)
    by_name = arrays | {"q": arrays["q"], "e": _with_marks(steps, e), "u": arrays.get(word)}
    arguments = [by_name[name] for name in steps.arguments]
    if equipment.planned_sizes:
        motions = PlannedMotions(steps, h, settings.interval, settings.count, equipment.driving)
        return RolloutPlan(motions, arguments, word)
    # kept with the stepping, and gone with it
    key = h, settings.interval, settings.count
    if key not in steps.motions:
        if len(steps.motions) >= KEPT:
            steps.motions.clear()
        steps.motions[key] = Motions(steps, h, settings.interval, settings.count)
    return RolloutPlan(steps.motions[key], arguments, word)


def _check_planned(torque: Sampled, arrays: Mapping[str, Any], carries: bool) -> None:
    """Refuse what planners, which run between compiled pieces, cannot do."""
    if not carries:
        raise DalembertError(f"rollout_gradient: {torque.name} plans between compiled pieces, which has no slopes")
    if any(map(is_foreign, arrays.values())):
        raise DalembertError(
            f"rollout: {torque.name} plans between compiled pieces, on this machine's processor: give NumPy arrays"
        )


def _law_sizes(torque: Any, parameters: Mapping[str, Any]) -> dict[str, int]:
    """Sizes of those parameters that are arguments of the law, and no live groups of the model."""
    laws = [each.law for each in torque.chain()] if isinstance(torque, Sampled) else [torque]
    named = {name: x for name, x in parameters.items() if name not in (*GROUPS, CONTACT_FRICTION)}
    taken: set[str] = set()
    for law in filter(callable, laws):
        taken |= named.keys() & set(law.settings) if isinstance(law, Planner) else set(settings_of(law, named))
    if PAYLOAD in taken and not any(_names(law, PAYLOAD) for law in laws):
        taken.remove(PAYLOAD)  # a law with **settings takes everything; the load is still the robot's
    return {name: np.shape(x)[-1] if np.ndim(x) else 1 for name, x in named.items() if name in taken}


def _names(law: Any, name: str) -> bool:
    """Whether a law, or one within it, has an argument of this very name."""
    while law is not None:
        if callable(law) and name in inspect.signature(law).parameters:
            return True
        law = getattr(law, "law", None)
    return False


def _law(inputs: Inputs, function: Any, law_sizes: Mapping[str, int]) -> Law:
    """A function of the user's, if it can be traced."""
    driving = drive(inputs, function, 1.0, law_sizes)
    if driving.called:
        raise DalembertError(
            f"rollout: {driving.log[0]}: write it with arithmetic, dalembert.math and the robot's methods, or roll "
            "out one step at a time with the torques of each; only `simulate` calls functions back"
        )
    assert driving.function is not None
    return driving.function


def _arrays(model: Model, values: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Everything as arrays with the right last axes; Python's own numbers take the precision of the arrays."""
    arrays = [x for x in values.values() if is_foreign(x) or isinstance(x, np.ndarray)]
    single = bool(arrays) and all(is_single(x) or is_float32(x) for x in arrays)
    checked_arrays = {}
    for name, x in values.items():
        expected = f"expected (…, {sizes[name]}) for robot {model.name!r}"
        if not is_foreign(x):
            a = real_array(f"rollout: {name}", x, expected)
            x = a.astype(np.float32 if is_single(a) or (single and a is not x) else np.float64, copy=False)
        if not x.ndim or x.shape[-1] != sizes[name]:
            raise DalembertError(f"rollout: {name} has shape {tuple(x.shape)}, {expected}")
        checked_arrays[name] = x
    return checked_arrays


def _has_rows(arrays: Mapping[str, Any], word: str, steps: int) -> bool:
    """Whether the torque, the controls, or an argument of the law have a row for every step."""
    torque, state = arrays[word], max(arrays["q"], arrays["v"], key=lambda x: x.ndim)
    if torque.ndim < 2 or torque.shape[-2] != steps:
        batched = any(x.ndim > 1 and x.shape[-2] > 1 for x in (arrays["q"], arrays["v"]))
        near = ALMOST * steps if word in WORDS else 1.5 if steps > MANY else 0.0  # one row more or less
        if torque.ndim > 1 and not batched and abs(torque.shape[-2] - steps) < near:
            raise DalembertError(
                f"rollout: {word} has shape {tuple(torque.shape)}: {torque.shape[-2]} rows, almost one for each of the "
                f"{steps} steps: give as many rows as steps, or for {torque.shape[-2]} motions as many states"
            )
        return False
    if torque.ndim <= state.ndim and state.shape[-2] == steps > 1:
        raise DalembertError(
            f"rollout: {word} has shape {tuple(torque.shape)}: {steps} rows for {steps} motions of {steps} steps could "
            f"be one per motion or one per step; write {word}[None] for one per step, or "
            f"broadcast_to({word}[:, None], (…, steps, n)) for one per motion"
        )
    return True


def _check_precision(arrays: Mapping[str, Any], integrator: Integrator, steps: Stepping) -> None:
    """Refuse in float32 what needs more digits."""
    what = "a closed loop" if steps.system.permanent_count else None
    if not integrator.single_precision:
        what = f"integrator {integrator.name!r}"
    if what and all(is_single(x) or is_float32(x) for x in arrays.values()):
        raise DalembertError(f"rollout: {what} needs more digits than float32 has: give float64 arrays")


def _with_states(steps: Stepping, q: Any, v: Any, memory: Any) -> Any:
    """e = [v, z, memory, carried] at the beginning: velocities, states of elements, what controllers, integrators keep.

    memory: z and memory of the rollout before; None: as they start.
    """
    if memory is not None:
        v = _joined(v, remembered(steps, v, memory))
    elif steps.kept:
        # states of elements and controllers as they start
        try:
            start = steps.start
        except Exception as error:  # whatever the user's code raises when it meets a traced number
            names = ", ".join(x.label() for x in steps.elements if x.size(steps.model)) or "a controller"
            raise DalembertError(
                f"rollout: how {names} starts cannot be traced ({error}): write start() with arithmetic and "
                "dalembert.math"
            ) from None
        v = _joined(v, start(q, v, check=False))
    if steps.carried is None:
        return v
    carried = steps.carried.start(steps.system, q, v[..., : steps.model.nv])
    return np.concatenate([np.broadcast_to(v, (*carried.shape[:-1], v.shape[-1])), carried], -1)


def _joined(*arrays: Any) -> Any:
    """[v, z, …] of each motion, in the kind of array that one of them is."""
    namespace, parts = np, list(arrays)
    if foreign := [x for x in arrays if is_foreign(x)]:
        kind = library("rollout", foreign)
        namespace, parts = kind.namespace, [kind.asarray(x, kind.dtype(foreign[0])) for x in arrays]
    batch = np.broadcast_shapes(*(tuple(x.shape[:-1]) for x in parts))
    return namespace.concatenate([namespace.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], -1)


def _flat(series: list[Any], steps: int) -> Any:
    """(…, steps · n): the rows of all series, (…, steps, n_i), side by side and one after the other."""
    rows = (series[0] if len(series) == 1 else _joined(*series))[..., :steps, :]
    return rows.reshape((*rows.shape[:-2], rows.shape[-2] * rows.shape[-1]))


def _with_marks(steps: Stepping, e: Any) -> Any:
    """e with tallies before the first step, and the marks of events that have not happened."""
    marks: Any = np.concatenate([steps.tallies.start, np.full(len(steps.events), NEVER)])
    if not len(marks):
        return e
    if is_foreign(e):
        kind = library("rollout", [e])
        return _joined(e, kind.asarray(marks, kind.dtype(e)))
    return _joined(e, marks.astype(e.dtype))
