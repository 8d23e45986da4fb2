"""Rollouts: a batch of motions with fixed steps, as one compiled loop on SIMD lanes and threads, or on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import Interrupted, is_single, one_line, real_array
from dalembert.functions.live import GROUPS, check_live, checked
from dalembert.graph import TracedValueError
from dalembert.interop import is_foreign
from dalembert.interop.kinds import is_float32, library
from dalembert.model import Model
from dalembert.robot import Robot

from ..elements.base import Element
from ..elements.contact import with_contact
from ..elements.friction import with_friction
from ..elements.surroundings import surroundings
from ..integrators.catalogue import INTEGRATORS, integrator_for
from ..integrators.record import Integrator
from ..run.events import Event
from ..system.laws import Inputs, chosen_inputs, drive
from ..system.sampled import Sampled, Sampling, settings_of
from ..system.system import Law
from .motions import Motions
from .stepping import NEVER, Stepping, stepping

KEPT = 64  # motions of one stepping
ALMOST = 0.1  # share of the steps by which rows of torques are too many or too few by mistake


class Rollout(NamedTuple):
    """t (n,) [s], q (…, n, nq), v (…, n, nv) at the recorded steps; without records t, q (…, nq), v (…, nv) at the end.

    Arrays of the kind that was given, on its device.
    """

    t: Any
    q: Any
    v: Any

    @property
    def events(self) -> Any:
        """None: no events were watched for."""
        return None

    @property
    def contacts(self) -> RolloutContacts | None:
        """How rigid contact was solved for; None: there was none."""
        return None

    def beyond_limits(self, robot: Robot) -> list[str]:
        """A line for each kind of limit of the robot (range, speed) that a recorded state exceeds, with a joint.

        Limits do not act in rollouts, and a rollout does not look at them by itself. For NumPy arrays.
        """
        from ..run.limits import beyond_limits

        model = robot.model
        q, v = (np.asarray(x, float).reshape(-1, x.shape[-1]) for x in (self.q, self.v))
        t = np.resize(np.atleast_1d(np.asarray(self.t, float)), len(q))
        return beyond_limits(model, (), t, q, v, np.zeros((len(q), model.nv)))

    def __repr__(self) -> str:
        return one_line(self)


class RolloutContacts(NamedTuple):
    """Of rigid contact in each motion (…,): how many steps did not reach the tolerance, and the largest error [m/s].

    names: of the points that may touch.
    """

    names: tuple[str, ...]
    unsettled: Any
    worst: Any


class WatchedRollout(Rollout):
    """A `Rollout` with the times of events, and how its contacts were solved for."""

    def __new__(
        cls, t: Any, q: Any, v: Any, events: Any = None, contacts: RolloutContacts | None = None
    ) -> WatchedRollout:
        self = super().__new__(cls, t, q, v)
        self._times, self._contacts = events, contacts
        return self

    _times: Any
    _contacts: RolloutContacts | None

    @property
    def contacts(self) -> RolloutContacts | None:
        """How rigid contact was solved for; None: there was none."""
        return self._contacts

    @property
    def events(self) -> Any:
        """(…, k) [s]: the end of the step in which each event first fell, NaN where it did not."""
        return self._times

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self._times, self._contacts)


def rollout(
    model: Model,
    q: Any,
    v: Any,
    torque: Any = None,
    step: float = 1e-3,
    steps: int = 1000,
    integrator: str | Integrator | None = None,
    record: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    elements: Sequence[Element] = (),
    threads: int | None = None,
    check: bool = True,
    friction: str | None = None,
    events: Sequence[Event] = (),
    controls: Any = None,
    contact: Any = None,
) -> Rollout:
    """See `Robot.rollout`."""
    plan = planned(
        model,
        q,
        v,
        torque,
        step,
        steps,
        integrator,
        record,
        parameters,
        elements,
        check,
        friction,
        events,
        controls,
        contact,
    )
    return _result(plan.motions, plan.arguments, record is None, threads, check)


class Plan(NamedTuple):
    """A rollout before it runs: the motions, and what goes into them; word: "torque" or "controls"."""

    motions: Motions
    arguments: list[Any]
    word: str


def planned(
    model: Model,
    q: Any,
    v: Any,
    torque: Any,
    step: float,
    steps: int,
    integrator: str | Integrator | None,
    record: int | None,
    parameters: Mapping[str, Any] | None,
    elements: Sequence[Element],
    check: bool,
    friction: str | None,
    events: Sequence[Event],
    controls: Any,
    contact: Any = None,
) -> Plan:
    """What was asked for, checked, as arrays; arguments as of `rollout`."""
    if not model.nv:
        raise DalembertError(f"rollout: robot {model.name!r} has no joint that moves")
    method = integrator_for("rollout", integrator, "semi-implicit", contact)
    _check(step, steps, record)
    elements, groups = tuple(elements), dict(parameters or {})
    settings = _settings(torque if controls is None else controls, groups)
    live = checked([name for name in groups if name not in settings])
    model, elements = prepared("rollout", model, elements, method, friction, live)
    inputs, driving, actuators, _ = chosen_inputs("rollout", model, torque, controls)
    elements = with_contact("rollout", model, (*elements, *actuators), contact, float(step), method.stable)
    sampling = _sampling(inputs, driving, step, settings) if isinstance(driving, Sampled) else None
    law = _law(inputs, driving, settings) if callable(driving) else None
    sizes = {"q": model.nq, "v": model.nv} | {name: len(GROUPS[name].values(model)) for name in live} | settings
    given = {"q": q, "v": v, **groups}
    if law is None and sampling is None and driving is not None:
        sizes[inputs.word], given[inputs.word] = inputs.count, driving
    arrays = _arrays(model, given, sizes)
    if check:
        check_live(model, "rollout", {name: arrays[name] for name in live if isinstance(arrays[name], np.ndarray)})
    every = int(record or steps)
    count = int(steps) // every
    varying = inputs.word in arrays and _has_rows(arrays, inputs.word, int(steps))
    if varying:  # flat; steps after the last record leave no trace
        rows = arrays[inputs.word][..., : every * count, :]
        arrays[inputs.word] = rows.reshape((*rows.shape[:-2], every * count * inputs.count))
    for event in events:
        if not isinstance(event, Event):
            raise DalembertError(f"rollout: events: expected Events, got {type(event).__name__}")
    driven = inputs.word in arrays
    made = stepping(model, elements, law, method, live, driven, varying, tuple(events), sampling, settings)
    _check_precision(arrays, method, made)
    e = _with_carried(made, arrays["q"], arrays["v"], _with_states(made, arrays["q"], arrays["v"]))
    state = {"q": arrays["q"], "e": _with_marks(made, e)}
    arguments = [(state | {"u": arrays.get(inputs.word)} | arrays)[name] for name in made.given]
    return Plan(_motions(made, float(step), every, count), arguments, inputs.word)


def _with_carried(made: Stepping, q: Any, v: Any, e: Any) -> Any:
    """e with the numbers that the integrator carries from step to step."""
    if made.carried is None:
        return e
    if any(is_foreign(x) for x in (q, v)):
        raise DalembertError(f"{made.name}: the integrator carries numbers of its own: give NumPy arrays")
    memory = made.carried.start(made.system, q, v)
    return np.concatenate([np.broadcast_to(e, (*memory.shape[:-1], e.shape[-1])), memory], -1)


def _with_marks(made: Stepping, e: Any) -> Any:
    """e with the marks of events that have not happened."""
    if not made.events:
        return e
    namespace = library("rollout", [e]).namespace if is_foreign(e) else np
    marks = namespace.zeros_like(e[..., :1]) + NEVER
    return namespace.concatenate([e, *[marks] * len(made.events)], -1)


def _motions(made: Stepping, step: float, every: int, count: int) -> Motions:
    """Kept with the stepping, and gone with it."""
    key = step, every, count
    if key not in made.motions:
        if len(made.motions) >= KEPT:
            made.motions.clear()
        made.motions[key] = Motions(made, step, every, count)
    return made.motions[key]


def _result(motions: Motions, inputs: list[Any], last: bool, threads: int | None, check: bool) -> Rollout:
    """The motions, computed where the inputs lie."""
    foreign = any(map(is_foreign, inputs))
    apart = motions.every * motions.step
    try:
        if foreign:
            from dalembert.execute.foreign import evaluate

            q, e = evaluate(motions, inputs, None, threads, check)
        else:
            q, e = motions(*inputs, threads=threads, check=check)
    except Interrupted as error:
        q, e, q_end, e_end = error.result
        if last:
            error.result = _named(motions, error.passes * motions.step, q_end, e_end, e_end)
        else:
            error.result = _named(motions, np.arange(1, q.shape[-2] + 1) * apart, q, e, e_end)
        raise
    if last:
        return _named(motions, motions.steps * motions.step, q[..., 0, :], e[..., 0, :], e[..., 0, :])
    count = motions.count
    t = library("rollout", [q]).counted(count, apart, q) if foreign else np.arange(1, count + 1) * apart
    return _named(motions, t, q, e, e[..., -1, :])


def _named(motions: Motions, t: Any, q: Any, e: Any, e_end: Any) -> Rollout:
    """The result of its arrays; e_end: that at the end."""
    v, count = e[..., : motions.stepping.model.nv], len(motions.stepping.events)
    contacts = _contacts(motions.stepping, e_end)
    if not count:
        return Rollout(t, q, v) if contacts is None else WatchedRollout(t, q, v, None, contacts)
    marks = e_end[..., -count:]
    namespace = library("rollout", [marks]).namespace if is_foreign(marks) else np
    return WatchedRollout(t, q, v, namespace.where(marks < 0.0, np.nan, marks), contacts)


def _contacts(made: Stepping, e_end: Any) -> RolloutContacts | None:
    """What the memory of rigid contact says at the end."""
    system = made.system
    if system.contact is None:
        return None
    begin = system.layout.nv + sum(system.layout.element_sizes[: system.contact_number])
    memory = system.contact.memory(e_end[..., begin : begin + system.contact.size(system.model)])
    return RolloutContacts(system.contact.names, memory.unsettled, memory.worst)


def _settings(torque: Any, groups: Mapping[str, Any]) -> dict[str, int]:
    """Sizes of those parameters that are arguments of the law, and no live groups of the model."""
    laws = [each.law for each in torque.chain()] if isinstance(torque, Sampled) else [torque]
    named = {name: x for name, x in groups.items() if name not in GROUPS}
    taken = {name for law in laws if callable(law) for name in settings_of(law, named)}
    return {name: x.shape[-1] if np.ndim(x) else 1 for name, x in named.items() if name in taken}


def _sampling(inputs: Inputs, torque: Sampled, step: float, settings: Mapping[str, int]) -> Sampling:
    """Controllers that run at rates, if they can be traced."""
    try:
        return Sampling("rollout", inputs.model, torque, float(step), settings, inputs.count)
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        if isinstance(error, DalembertError) and not isinstance(error, TracedValueError):
            raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise DalembertError(
            f"rollout: {torque.name} cannot be traced ({why}): write it with arithmetic, dalembert.math and the "
            "robot's methods, and what it keeps as state=…; only `simulate` calls controllers from Python"
        ) from None


def _law(inputs: Inputs, function: Any, settings: Mapping[str, int]) -> Law:
    """A function of the user's, if it can be traced."""
    made = drive(inputs, function, 1.0, settings)
    if made.called:
        raise DalembertError(
            f"rollout: {made.log[0]}: write it with arithmetic, dalembert.math and the robot's methods, or roll "
            "out one step at a time with the torques of each; only `simulate` calls functions back"
        )
    assert made.function is not None
    return made.function


def _check(step: Any, steps: Any, record: Any) -> None:
    if not (isinstance(step, (int, float, np.number)) and 0.0 < float(step) < np.inf):
        raise DalembertError(f"rollout: step is {step!r}, expected a time above 0 [s]")
    for name, value in (("steps", steps), ("record", record)):
        if name == "record" and value is None:
            continue
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise DalembertError(f"rollout: {name} is {value!r}, expected a whole number ≥ 1")
    if record is not None and record > steps:
        raise DalembertError(f"rollout: record is {record}, expected at most the number of steps, {steps}")


def prepared(
    where: str,
    model: Model,
    elements: tuple[Element, ...],
    integrator: Integrator,
    friction: str | None,
    live: Sequence[str] = (),
) -> tuple[Model, tuple[Element, ...]]:
    """The model and the elements of steps; refuses what they cannot take.

    friction: "dry", "smooth", or None for the first of them that the integrator and live groups allow.
    """
    for element in elements:
        if not isinstance(element, Element):
            raise DalembertError(f"{where}: elements: expected force elements, got {type(element).__name__}")
        if type(element).gaps is not Element.gaps:
            raise DalembertError(f"{where}: {element.label()} needs events, which only `simulate` has")
    able = integrator.impulsive
    instead = " or ".join(repr(name) for name, known in INTEGRATORS.items() if known.impulsive)
    switching = [e.label() for e in elements if any(c.admissible.switches for c in e.constraints(model))]
    if switching and not able:
        raise DalembertError(
            f"{where}: {switching[0]} begins and ceases to act, which steps of {integrator.name!r} do not take: "
            f"use integrator={instead}, or `simulate`"
        )
    if friction == "dry" and not able:
        raise DalembertError(f"{where}: friction='dry' needs integrator={instead}, got {integrator.name!r}")
    if friction == "dry" and "friction" in live:
        raise DalembertError(f"{where}: friction='dry' takes the model's friction: live friction is smooth")
    for element in elements:
        model = element.prepared(model)
    fits = able and "friction" not in live
    elements = (*elements, *surroundings(model))
    model, elements, _ = with_friction(where, model, elements, friction or ("dry" if fits else "smooth"))
    return model, elements


def _check_precision(arrays: Mapping[str, Any], integrator: Integrator, made: Stepping) -> None:
    """Refuse in float32 what needs more digits."""
    what = "a closed loop" if made.system.permanent_count else None
    if not integrator.single_precision:
        what = f"integrator {integrator.name!r}"
    if what and all(is_single(x) or is_float32(x) for x in arrays.values()):
        raise DalembertError(f"rollout: {what} needs more digits than float32 has: give float64 arrays")


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


def _arrays(model: Model, given: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Everything as arrays with the right last axes; Python's own numbers take the precision of the arrays."""
    arrays = [x for x in given.values() if is_foreign(x) or isinstance(x, np.ndarray)]
    single = bool(arrays) and all(is_single(x) or is_float32(x) for x in arrays)
    found = {}
    for name, x in given.items():
        expected = f"expected (…, {sizes[name]}) for robot {model.name!r}"
        if not is_foreign(x):
            a = real_array(f"rollout: {name}", x, expected)
            x = a.astype(np.float32 if is_single(a) or (single and a is not x) else np.float64, copy=False)
        if not x.ndim or x.shape[-1] != sizes[name]:
            raise DalembertError(f"rollout: {name} has shape {tuple(x.shape)}, {expected}")
        found[name] = x
    return found


def _with_states(made: Stepping, q: Any, v: Any) -> Any:
    """e = [v, z, memory] at the beginning: velocities, states of elements, and what controllers keep."""
    if not made.system.layout.nz and not made.memory_size:
        return v
    try:
        start = made.start
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        names = ", ".join(element.label() for element in made.elements if element.size(made.model)) or "a controller"
        raise DalembertError(
            f"rollout: how {names} starts cannot be traced ({error}): write start() with arithmetic and dalembert.math"
        ) from None
    z = start(q, v, check=False)
    namespace = np
    if is_foreign(z):
        kind = library("rollout", [z])
        namespace, v = kind.namespace, kind.asarray(v, kind.dtype(z))
    return namespace.concatenate([namespace.broadcast_to(v, (*z.shape[:-1], v.shape[-1])), z], -1)
