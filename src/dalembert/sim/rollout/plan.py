"""A rollout before it runs: settings checked, everything as arrays, and the program that will take them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Recent, RecentSame, is_single, real_array
from dalembert.compiler.execute.identity import is_own
from dalembert.compiler.graph import TracedValueError
from dalembert.compiler.interop import is_foreign
from dalembert.compiler.interop.kinds import is_float32, library
from dalembert.contact.scene import known_growth
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.live import GROUPS

from ..elements.base import Element
from ..elements.contact import RigidContact, with_contact
from ..elements.soft import softened
from ..integrators.record import Integrator, uncarried
from ..settings import Settings
from ..system.laws import Inputs, chosen_inputs, drive
from ..system.planner import Planner, sampled
from ..system.sampled import Sampled, settings_of
from ..system.sampling import Sampling, shared_sampling
from ..system.system import Law
from .live import CONTACT_FRICTION, PAYLOAD, check_values, checked_names, friction_as_input, size_of
from .memory import remembered
from .motions import Motions
from .planned_motions import PlannedMotions
from .prepared import prepared
from .stepping import NEVER, Stepping, stepping
from .tallies import Tallies

KEPT = 64  # motions of one stepping
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


def planned(
    model: Model, q: Any, v: Any, settings: Settings, check: bool, carries: bool = True, growth: int = 1
) -> RolloutPlan:
    """The settings and states, checked and as arrays; check: refuse bad values of live groups too.

    carries: whether an integrator may keep numbers of its own from step to step, whose start has no slopes. growth: of
    the room for contacts.
    """
    if not model.nv:
        raise DalembertError(f"rollout: robot {model.name!r} has no joint that moves")
    method = settings.method("rollout", model)
    settings.check_rollout()
    h = float(settings.length)
    if carries and settings.forces is None and CONTACT_FRICTION not in settings.parameters and not is_foreign(q):
        contact, mu = friction_as_input(model, settings.contact)
        named = {} if mu is None else {CONTACT_FRICTION: [mu]}
        settings = replace(settings, contact=contact, parameters={**settings.parameters, **named})
    parameters = dict(settings.parameters)
    driving = sampled(settings.torque if settings.controls is None else settings.controls)
    law_sizes = _law_sizes(driving, parameters)
    live = checked_names([name for name in parameters if name not in law_sizes], settings.contact)
    equipped = _equipped(model, settings, method, live, growth)
    model, inputs = equipped.model, equipped.inputs
    sampling = _sampling(inputs, driving, h, law_sizes) if isinstance(driving, Sampled) else None
    law = _law(inputs, driving, law_sizes) if callable(driving) else None
    sizes = {"q": model.nq, "v": model.nv} | {name: size_of(model, name) for name in live} | law_sizes
    values = {"q": q, "v": v, **parameters}
    if law is None and sampling is None and driving is not None:
        sizes[inputs.word], values[inputs.word] = inputs.count, driving
    arrays = _arrays(model, values, sizes)
    if check:
        check_values(model, {name: arrays[name] for name in live if isinstance(arrays[name], np.ndarray)})
    driven = inputs.word in arrays
    varying = driven and _has_rows(arrays, inputs.word, int(settings.steps))
    if varying:
        arrays[inputs.word] = _flat_rows(arrays[inputs.word], settings.interval * settings.count)
    if not carries or sampling is not None or any(map(is_foreign, (q, v))):
        method = uncarried(method)
    planned_sizes = {} if sampling is None else sampling.planned_sizes
    if planned_sizes:
        _check_planned(driving, arrays, carries)
    dtype = np.float32 if all(map(is_single, arrays.values())) else np.float64
    arrays |= {name: np.zeros(size, dtype) for name, size in planned_sizes.items()}
    law_sizes |= planned_sizes
    tallies = _tallies(settings, model, inputs.count, law_sizes, bool(planned_sizes))

    def step() -> Stepping:
        law_and_more = law, method, live, driven, varying, tuple(settings.events), sampling, law_sizes, tallies
        return stepping(model, equipped.elements, *law_and_more)

    alike = driven, varying, method.carried is None
    steps = equipped.steppings.get(alike, step) if _is_plain(settings) and tallies is None else step()
    _check_precision(arrays, method, steps)
    if check:
        steps.open_loops.warn("rollout", arrays, depth=5)
    e = _with_states(steps, arrays["q"], arrays["v"], settings.memory)
    e = _with_carried(steps, arrays["q"], arrays["v"], e)
    by_name = arrays | {"q": arrays["q"], "e": _with_marks(steps, e), "u": arrays.get(inputs.word)}
    arguments = [by_name[name] for name in steps.arguments]
    if planned_sizes:
        planned_motions = PlannedMotions(steps, h, settings.interval, settings.count, driving)
        return RolloutPlan(planned_motions, arguments, inputs.word)
    return RolloutPlan(_motions(steps, h, settings.interval, settings.count), arguments, inputs.word)


class _Equipped(NamedTuple):
    """A model with all elements of its steps and what drives it, and steps that were made of these."""

    model: Model
    elements: tuple[Element, ...]
    inputs: Inputs
    steppings: Recent


def _equipped(model: Model, settings: Settings, method: Integrator, live: tuple[str, ...], growth: int) -> _Equipped:
    """The model and its elements; those of an earlier rollout where nothing in the settings can have changed."""
    reported, step = settings.forces is not None, float(settings.length)

    def equip() -> _Equipped:
        of_steps, elements = softened(model, tuple(settings.elements), settings.contact, step)
        of_steps, elements = prepared("rollout", of_steps, elements, method, settings.friction, live)
        inputs, _, actuators, _ = chosen_inputs("rollout", of_steps, settings.torque, settings.controls)
        with_actuators, stable = (*elements, *actuators), method.stable
        every = with_contact("rollout", of_steps, with_actuators, settings.contact, step, stable, reported, growth)
        return _Equipped(of_steps, every, inputs, Recent(4))

    if not _is_plain(settings):
        return equip()
    kept = _recent.get((model, settings.contact, method, *settings.elements), lambda: Recent(8))
    both = settings.torque is not None and settings.controls is not None
    alike = step, settings.friction, live, settings.controls is None, both, reported, growth
    equipped: _Equipped = kept.get(alike, equip)
    contact = next((x for x in equipped.elements if isinstance(x, RigidContact)), None)
    if contact is not None and contact.scene_room and known_growth(equipped.model, contact.patches) > contact.growth:
        return equip()  # another motion needed more room
    return equipped


def _is_plain(settings: Settings) -> bool:
    """Whether settings hold nothing that may change behind the same object, as a function of the user's may."""
    drivers = settings.torque, settings.controls
    if getattr(settings.contact, "terrain", None) is not None or settings.events:
        return False
    if any(callable(x) or isinstance(x, Sampled) for x in drivers):
        return False
    own = [isinstance(x, Element) and is_own(type(x)) for x in settings.elements]
    return all(own) and not any(callable(number) for x in settings.elements for number in vars(x).values())


_recent = RecentSame(8)


def _tallies(settings: Settings, model: Model, count: int, law_sizes: Mapping[str, int], plans: bool) -> Tallies | None:
    """Measures along the motions, or None. count: of the inputs that drive the robot."""
    if not settings.tallies:
        return None
    if plans:
        raise DalembertError("rollout: measures take compiled loops, and a controller plans between their pieces")
    return Tallies(model, settings.tallies, {"t": 1, "q": model.nq, "v": model.nv, "tau": count, **law_sizes})


def _check_planned(torque: Sampled, arrays: Mapping[str, Any], carries: bool) -> None:
    """Refuse what planners, which run between compiled pieces, cannot do."""
    if not carries:
        raise DalembertError(f"rollout_gradient: {torque.name} plans between compiled pieces, which has no slopes")
    if any(map(is_foreign, arrays.values())):
        raise DalembertError(
            f"rollout: {torque.name} plans between compiled pieces, on this machine's processor: give NumPy arrays"
        )


def _flat_rows(rows: Any, count: int) -> Any:
    """The first `count` rows (…, count · n) of (…, steps, n)."""
    rows = rows[..., :count, :]
    return rows.reshape((*rows.shape[:-2], count * rows.shape[-1]))


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


def _sampling(inputs: Inputs, torque: Sampled, step: float, law_sizes: Mapping[str, int]) -> Sampling:
    """Controllers that run at rates, if they can be traced."""
    try:
        return shared_sampling("rollout", inputs.model, torque, float(step), law_sizes, inputs.count)
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        if isinstance(error, DalembertError) and not isinstance(error, TracedValueError):
            raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise DalembertError(
            f"rollout: {torque.name} cannot be traced ({why}): write it with arithmetic, dalembert.math and the "
            "robot's methods, and what it keeps as state=…; only `simulate` calls controllers from Python"
        ) from None


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
    """Whether the torque, or the controls, have a row for every step."""
    torque, state = arrays[word], max(arrays["q"], arrays["v"], key=lambda x: x.ndim)
    if torque.ndim < 2 or torque.shape[-2] != steps:
        batched = any(x.ndim > 1 and x.shape[-2] > 1 for x in (arrays["q"], arrays["v"]))
        if torque.ndim > 1 and not batched and abs(torque.shape[-2] - steps) < ALMOST * steps:
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
    """e = [v, z, memory] at the beginning: velocities, states of elements, and what controllers keep.

    memory: the last two, of the rollout before; None: as they start.
    """
    if memory is not None:
        return _joined(v, remembered(steps, v, memory))
    if not steps.kept:
        return v
    try:
        start = steps.start
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        names = ", ".join(element.label() for element in steps.elements if element.size(steps.model)) or "a controller"
        raise DalembertError(
            f"rollout: how {names} starts cannot be traced ({error}): write start() with arithmetic and dalembert.math"
        ) from None
    return _joined(v, start(q, v, check=False))


def _joined(v: Any, z: Any) -> Any:
    """[v, z] of each motion, in the kind of array of z."""
    namespace = np
    if is_foreign(z):
        kind = library("rollout", [z])
        namespace, v = kind.namespace, kind.asarray(v, kind.dtype(z))
    batch = np.broadcast_shapes(tuple(v.shape[:-1]), tuple(z.shape[:-1]))
    return namespace.concatenate([namespace.broadcast_to(x, (*batch, x.shape[-1])) for x in (v, z)], -1)


def _with_carried(steps: Stepping, q: Any, v: Any, e: Any) -> Any:
    """e with the numbers that the integrator carries from step to step."""
    if steps.carried is None:
        return e
    memory = steps.carried.start(steps.system, q, v)
    return np.concatenate([np.broadcast_to(e, (*memory.shape[:-1], e.shape[-1])), memory], -1)


def _with_marks(steps: Stepping, e: Any) -> Any:
    """e with tallies before the first step, and the marks of events that have not happened."""
    namespace = library("rollout", [e]).namespace if is_foreign(e) else np
    if steps.tallies.size:
        zeros = namespace.zeros_like(e[..., :1])
        e = namespace.concatenate([e, *[zeros + x for x in steps.tallies.start]], -1)
    if not steps.events:
        return e
    marks = namespace.zeros_like(e[..., :1]) + NEVER
    return namespace.concatenate([e, *[marks] * len(steps.events)], -1)


def _motions(steps: Stepping, step: float, every: int, count: int) -> Motions:
    """Kept with the stepping, and gone with it."""
    key = step, every, count
    if key not in steps.motions:
        if len(steps.motions) >= KEPT:
            steps.motions.clear()
        steps.motions[key] = Motions(steps, step, every, count)
    return steps.motions[key]
