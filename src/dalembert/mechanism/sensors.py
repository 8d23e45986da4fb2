"""Sensors: what is recorded of a mechanism with every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.guards import function_call
from dalembert.sim.elements import Element
from dalembert.sim.elements.base import Action, Situation
from dalembert.sim.elements.couplings import Bushing
from dalembert.sim.elements.friction import with_friction
from dalembert.sim.system.system import System
from dalembert.spatial import cross
from dalembert.typing import Array

from .elements import AxisForce
from .parts import GROUND, ORIGIN, JointPart

if TYPE_CHECKING:
    from dalembert.sim.run.contacts import Contacts
    from dalembert.sim.run.run import Run

    from .definition import Mechanism

NOTHING = np.zeros(3)


class SensorKind(NamedTuple):
    """target: "point", "joint", "element", or "touching": a body that may touch; size: how many numbers; their unit."""

    target: str
    size: int
    unit: str


SENSORS = {
    "position": SensorKind("point", 3, "m"),
    "velocity": SensorKind("point", 3, "m/s"),
    "acceleration": SensorKind("point", 3, "m/s²"),
    "angle": SensorKind("joint", 1, "rad or m"),
    "rate": SensorKind("joint", 1, "rad/s or m/s"),
    "force": SensorKind("joint", 3, "N"),
    "moment": SensorKind("joint", 3, "N·m"),
    "power": SensorKind("element", 1, "W"),
    "contact-force": SensorKind("touching", 3, "N"),
    "gap": SensorKind("touching", 1, "m"),
}


class Sensor(NamedTuple):
    """name: in `run.readings`; kind: of `SENSORS`; of: a point, a joint, an element, a body that may touch others."""

    name: str
    kind: str
    of: str


class SensedState(NamedTuple):
    """One state of a run with all that acts: accelerations a (nv,), wrenches by body, multipliers of closures (nc,)."""

    s: Situation
    a: Array
    elements: tuple[Element, ...]
    actions: list[Action]
    wrenches: dict[int, Array]
    multipliers: Array


def check_beside_contact(mechanism: Mechanism) -> None:
    """Refuse sensors that follow from the forces of elements alone, where contacts push too."""
    for sensor in mechanism.sensors.values():
        if sensor.kind in ("acceleration", "force", "moment"):
            raise DalembertError(
                f"mechanism {mechanism.name!r}: sensor {sensor.name!r} reads the {sensor.kind} of {sensor.of!r}, which "
                "does not follow from the states of a run with contact: leave it out, or simulate with contact=None"
            )


def readings(
    mechanism: Mechanism, model: Model, elements: Sequence[Element], run: Run, friction: str
) -> dict[str, Array]:
    """Sensor → readings (n,) or (n, 3) at the times of the run."""
    touching = [sensor for sensor in mechanism.sensors.values() if SENSORS[sensor.kind].target == "touching"]
    others = [sensor for sensor in mechanism.sensors.values() if sensor not in touching]
    values = _computed(others, mechanism, model, elements, run, friction) if others else {}
    values |= {sensor.name: _touch(sensor, mechanism, model, run.contacts) for sensor in touching}
    return {name: values[name] for name in mechanism.sensors}


def _touch(sensor: Sensor, mechanism: Mechanism, model: Model, contacts: Contacts | None) -> Array:
    """The sum of all contact forces on a body (n, 3) in the world, or the least gap of its contacts (n,)."""
    if contacts is None:
        raise DalembertError(
            f"mechanism {mechanism.name!r}: sensor {sensor.name!r} reads contact, and this run has none: leave out "
            "contact=None"
        )
    body = GROUND if sensor.of == GROUND else model.bodies[model.frame(f"{sensor.of}.{ORIGIN}").body].name
    first, second = (np.array([pair[side] == body for pair in contacts.bodies]) for side in (0, 1))
    if sensor.kind == "gap":
        return np.min(contacts.gap[:, first | second], axis=1)
    return np.einsum("tki,k->ti", contacts.force, first.astype(float) - second.astype(float))


def _computed(
    sensors: list[Sensor], mechanism: Mechanism, model: Model, elements: Sequence[Element], run: Run, friction: str
) -> dict[str, Array]:
    """Readings that follow from the states of a run."""
    system = system_of(model, elements, friction)
    model = system.model
    sizes = {
        "t": 1, "q": model.nq, "v": model.nv, "z": run.states.shape[-1], "tau": model.nv,
        "forces": run.multipliers.shape[-1],
    }  # fmt: skip
    recorded = {"t": run.t[:, None], "q": run.q, "v": run.v, "z": run.states, "tau": run.tau, "forces": run.multipliers}
    used = {name: size for name, size in sizes.items() if size}

    def compute(*inputs: Array) -> Array:
        named = {name: np.zeros(0) for name in sizes} | dict(zip(used, inputs, strict=True))
        moment = moment_of(system, **named)
        return np.concatenate([np.atleast_1d(_reading(sensor, mechanism, moment)) for sensor in sensors])

    call = function_call(model, "sensors", used, compute)
    values = call(*(np.ascontiguousarray(recorded[name]) for name in used), check=False)
    parts = np.split(values, np.cumsum([SENSORS[sensor.kind].size for sensor in sensors])[:-1], axis=-1)
    return {s.name: x[..., 0] if SENSORS[s.kind].size == 1 else x for s, x in zip(sensors, parts, strict=True)}


def system_of(model: Model, elements: Sequence[Element], friction: str = "dry") -> System:
    """The equations of motion of a mechanism with its elements, without a ledger."""
    model, prepared, _ = with_friction("simulate", model, tuple(elements), friction)
    for element in prepared:
        model = element.prepared(model)
    return System(model, prepared, ledger=False)


def moment_of(system: System, t: Any, q: Any, v: Any, z: Any, tau: Any, forces: Any) -> SensedState:
    model = system.model
    seen = system.situations(t[0], q, v, z, tau)
    actions = [element.act(s) for element, s in zip(system.elements, seen, strict=True)]
    total = np.array(tau, object)
    wrenches: dict[int, Array] = {}
    for action in actions:
        for index, force in action.tau.items():
            total[model.bodies[index].v] = total[model.bodies[index].v] + force
        for index, wrench in action.wrenches.items():
            wrenches[index] = wrenches[index] + wrench if index in wrenches else wrench
    if len(forces):
        total = total + system.constraint_rows(t[0], q, v, z).J.T @ forces
    count = algorithms.constraint_count(model)
    a = algorithms.forward_dynamics(model, q, v, total, wrenches)
    loads = algorithms.closure_loads(model, q, forces[:count], wrenches) if count else wrenches
    alone = Situation(model, t[0], q, v, np.zeros(0), tau)
    return SensedState(alone, a, system.elements, actions, loads, forces[:count])


def _reading(sensor: Sensor, mechanism: Mechanism, moment: SensedState) -> Any:
    s, model = moment.s, moment.s.model
    if sensor.kind in ("position", "velocity", "acceleration"):
        frame = model.frame(sensor.of)
        if sensor.kind == "position":
            return algorithms.frame_pose(model, s.q, frame).p
        if sensor.kind == "velocity":
            return algorithms.velocity(model, s.q, s.v, frame, NOTHING)[3:]
        return algorithms.acceleration(model, s.q, s.v, moment.a, frame, NOTHING)[3:]
    if sensor.kind == "power":
        labels = [element.label() for element in moment.elements]
        return moment.actions[labels.index(sensor.of)].given
    joint = mechanism.joints[sensor.of]
    if sensor.kind in ("angle", "rate"):
        return _coordinate(joint, moment)[0 if sensor.kind == "angle" else 1]
    return reaction(joint, mechanism, moment)[3:] if sensor.kind == "force" else reaction(joint, mechanism, moment)[:3]


def _coordinate(joint: JointPart, moment: SensedState) -> tuple[Any, Any]:
    """The coordinate of a joint and its rate: counted where it carries a body, else from −π to π."""
    s = moment.s
    carried = [body for body in s.model.bodies if body.joint.name == joint.name and body.joint.nv == 1]
    if carried:
        return s.q[carried[0].q][0], s.v[carried[0].v][0]
    axis = tuple(joint.shape["axis"].tolist())
    x, _, rate, _ = AxisForce("", joint.a.name, joint.b.name, axis, joint.kind != "prismatic").measured(s)
    return x, rate


def reaction(joint: JointPart, mechanism: Mechanism, moment: SensedState) -> Array:
    """[τ; f] (6,) of a joint on its body b, in the world, at its point b."""
    s, model = moment.s, moment.s.model
    X_a, X_b = (algorithms.frame_pose(model, s.q, model.frame(end.name)) for end in (joint.a, joint.b))
    if joint.springs is not None:
        held = next(x for x in moment.elements if isinstance(x, Bushing) and x.name == joint.name)
        wrench = held.wrench(s)[0]
        return np.concatenate([X_a.R @ wrench[:3], X_a.R @ wrench[3:]])
    names = [closure.name for closure in model.closures]
    if joint.name in names:
        wrench = algorithms.closure_wrenches(model, s.q, moment.multipliers)[names.index(joint.name)]
        return np.concatenate([X_a.R @ wrench[:3], X_a.R @ wrench[3:]])
    if joint.kind == "fixed":
        raise DalembertError(
            f"mechanism {mechanism.name!r}: sensor of joint {joint.name!r}: it is fixed, and in joint "
            "coordinates its two "
            "bodies are one: measure it with build('free')"
        )
    through = algorithms.reaction_wrenches(model, s.q, s.v, moment.a, moment.wrenches, "world")
    body = model.joint(joint.name)
    wrench = through[body.index]
    if model.bodies[body.index].name == joint.b.body:
        return wrench
    moved = wrench[:3] + cross(X_a.p - X_b.p, wrench[3:])  # the body that it carries is a: b takes the opposite
    return -np.concatenate([moved, wrench[3:]])
