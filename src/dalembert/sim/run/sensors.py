"""Readings of a model's sensors along a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.compiler.execute import Recent, code
from dalembert.dynamics import algorithms
from dalembert.dynamics.collision.rays import crossing
from dalembert.model import Frame, Model
from dalembert.model.sensors import Sensor
from dalembert.quantities.guards import function_call
from dalembert.spatial import Pose, cross, so3
from dalembert.typing import Array

from ..elements.base import NOTHING
from ..integrators.catalogue import TIME_STEPPING
from .compiled import Programs

LATER = ("touch", "clock", "jointactuatorfrc", "actuatorfrc")  # not from q, v and a
WORLD = "world"


def readings(
    model: Model, t: Array, q: Array, v: Array, a: Array, tau: Array, contacts: Any = None
) -> dict[str, Array]:
    """Readings (n,) or (n, k) by name, at times t (n,), of states and accelerations (n, …).

    tau (n, nv): what drives the joints; contacts: those of a run, whose forces act as well.
    """
    values = _computed(model, [one for one in model.sensors if one.kind not in LATER], q, v, a, contacts)
    for sensor in model.sensors:
        if sensor.kind == "touch":
            values[sensor.name] = _touch(model, sensor, q, contacts)
        elif sensor.kind == "clock":
            values[sensor.name] = t.copy()
        elif sensor.kind in LATER:
            values[sensor.name] = tau[:, model.joint(sensor.joint).v.start] / sensor.ratio
    return {sensor.name: sensor.bounded(values[sensor.name]) for sensor in model.sensors}


def _computed(model: Model, sensors: Sequence[Sensor], q: Array, v: Array, a: Array, contacts: Any) -> dict[str, Array]:
    if not sensors:
        return {}
    pushed = contacts is not None and any(one.kind in ("force", "torque") for one in sensors)
    sizes = {"q": model.nq, "v": model.nv, "a": model.nv} | ({"pushes": 6 * len(model.bodies)} if pushed else {})
    arrays = [q, v, a, *([_pushes(model, contacts)] if pushed else [])]

    def prepare() -> Any:
        def compute(q: Array, v: Array, a: Any, pushes: Any = NOTHING) -> Array:
            return np.concatenate([np.atleast_1d(_reading(model, one, q, v, a, pushes)) for one in sensors])

        return function_call(model, "sensors", sizes, compute)

    key = code(model, [replace(one, name="", cutoff=0.0, volume=None) for one in sensors], pushed)
    values = _recent.get(key, prepare)(*map(np.ascontiguousarray, arrays), check=False)
    parts = np.split(values, np.cumsum([sensor.size for sensor in sensors])[:-1], axis=-1)
    return {s.name: x[..., 0] if s.size == 1 else x for s, x in zip(sensors, parts, strict=True)}


_recent = Recent(32)


def _reading(model: Model, sensor: Sensor, q: Any, v: Any, a: Any, pushes: Any) -> Any:
    kind = sensor.kind
    if kind == "e_kinetic":
        return algorithms.kinetic_energy(model, q, v)
    if kind == "e_potential":
        return algorithms.potential_energy(model, q)
    if sensor.joint:
        body = model.joint(sensor.joint)
        return sensor.ratio * (q[body.q] if kind in ("jointpos", "actuatorpos", "ballquat") else v[body.v])
    if kind.startswith("subtree"):
        return _subtree(model, sensor, q, v)
    at = _SensorPlace(model, sensor.frame, sensor.placement, q, v)
    gravity = np.asarray(model.gravity)
    match kind:
        case "accelerometer":
            return at.R.T @ (at.accelerations(a)[3:] - gravity)
        case "gyro":
            return at.R.T @ at.twist[:3]
        case "velocimeter":
            return at.R.T @ at.twist[3:]
        case "framelinacc":
            return at.accelerations(a)[3:] - gravity
        case "frameangacc":
            return at.accelerations(a)[:3]
        case "force" | "torque":
            return _transmitted(model, sensor, at, q, v, a, pushes)
    seen = _SensorPlace(model, sensor.reference, sensor.reference_placement, q, v) if sensor.reference else _World()
    match kind:
        case "framepos":
            return seen.R.T @ (at.p - seen.p)
        case "framequat":
            return so3.to_quaternion(seen.R.T @ at.R)
        case "framelinvel":
            return seen.R.T @ (at.twist[3:] - seen.twist[3:] - cross(seen.twist[:3], at.p - seen.p))
        case "frameangvel":
            return seen.R.T @ (at.twist[:3] - seen.twist[:3])
    return seen.R.T @ at.R[:, "xyz".index(kind[5])]


class _World:
    """The world."""

    R, p, twist = np.eye(3), np.zeros(3), np.zeros(6)


class _SensorPlace:
    """A frame of the robot: axes R (3, 3) and origin p (3,) in the world, its twist there."""

    def __init__(self, model: Model, name: str, placement: Pose, q: Any, v: Any) -> None:
        self.model, self.q, self.v = model, q, v
        known = name != WORLD or any(frame.name == WORLD for frame in model.frames)
        base = model.frame(name) if known else None
        self.frame = None if base is None else Frame(name, base.body, base.placement @ placement)
        X = placement if self.frame is None else algorithms.frame_pose(model, q, self.frame)
        self.R, self.p = X.R, X.p

    @property
    def twist(self) -> Array:
        if self.frame is None:
            return np.zeros(6)
        return algorithms.velocity(self.model, self.q, self.v, self.frame)

    def accelerations(self, a: Any) -> Array:
        if self.frame is None:
            return np.zeros(6)
        return algorithms.acceleration(self.model, self.q, self.v, a, self.frame)


def _transmitted(model: Model, sensor: Sensor, at: _SensorPlace, q: Any, v: Any, a: Any, pushes: Any) -> Array:
    """The force or torque that the parent exerts on a body through its joint, at the sensor, in its axes."""
    X, external = algorithms.poses(model, q), dict[int, np.ndarray]()
    for k, w in enumerate(pushes.reshape(-1, 6)):
        external[k] = np.concatenate([X[k].R.T @ (w[:3] - cross(X[k].p, w[3:])), X[k].R.T @ w[3:]])
    index = model.frame(sensor.frame).body
    wrench = algorithms.reaction_wrenches(model, q, v, a, external, "world")[index]
    if sensor.kind == "force":
        return at.R.T @ wrench[3:]
    return at.R.T @ (wrench[:3] + cross(X[index].p - at.p, wrench[3:]))


def _subtree(model: Model, sensor: Sensor, q: Any, v: Any) -> Array:
    """Centre of mass, its velocity, or the angular momentum about it, of a body and all that it carries."""
    first = model.frame(sensor.frame).body
    members = [first]
    for body in model.bodies[first + 1 :]:
        if body.parent in members:
            members.append(body.index)
    X, total, com, momentum, spin = algorithms.poses(model, q), 0.0, np.zeros(3), np.zeros(3), np.zeros(3)
    for k in members:
        inertia = model.bodies[k].inertia
        if not inertia.mass:
            continue
        center = Frame("", k, Pose(np.eye(3), inertia.com))
        twist = algorithms.velocity(model, q, v, center)
        place, speed = X[k].R @ inertia.com + X[k].p, inertia.mass * twist[3:]
        total, com, momentum = total + inertia.mass, com + inertia.mass * place, momentum + speed
        spin = spin + cross(place, speed) + X[k].R @ (inertia.about_com() @ (X[k].R.T @ twist[:3]))
    com = com * (1.0 / max(total, 1e-300))
    if sensor.kind == "subtreecom":
        return com
    return momentum * (1.0 / max(total, 1e-300)) if sensor.kind == "subtreelinvel" else spin - cross(com, momentum)


def _pushes(model: Model, contacts: Any) -> Array:
    """The wrenches (n, 6 nb) of contacts on each body, about the world's origin in its axes."""
    sums = np.zeros((len(contacts.t), len(model.bodies), 6))
    number = {body.name: body.index for body in model.bodies}
    moment = np.cross(contacts.position, contacts.force) + contacts.moment
    wrench = np.concatenate([moment, contacts.force], axis=-1)
    for k, pair in enumerate(contacts.bodies):
        for name, sign in zip(pair, (1.0, -1.0), strict=True):
            if name in number:
                sums[:, number[name]] += sign * np.where(np.isfinite(wrench[:, k]), wrench[:, k], 0.0)
    return sums.reshape(len(sums), -1)


def _touch(model: Model, sensor: Sensor, q: Array, contacts: Any) -> Array:
    """The sum of the normal forces on a body where a ray from the contact out of the body meets the sensor's volume."""
    total = np.zeros(len(q))
    if contacts is None:
        return total
    frame = model.frame(sensor.frame)
    owner = model.bodies[frame.body].name
    X = np.array([_as_matrix(model, frame.body, frame.placement @ sensor.placement, row) for row in q])
    for k, pair in enumerate(contacts.bodies):
        if owner not in pair:
            continue
        out = -1.0 if pair[0] == owner else 1.0  # away from the body
        for n in np.flatnonzero(contacts.normal_force[:, k] > 0.0):
            R, p = X[n, :3, :3], X[n, :3, 3]
            met = crossing(sensor.volume, R.T @ (contacts.position[n, k] - p), R.T @ (out * contacts.normal[n, k]))
            if float(met.enter) <= float(met.leave) and float(met.leave) >= 0.0:
                total[n] += contacts.normal_force[n, k]
    return total


def _as_matrix(model: Model, body: int, placement: Pose, q: Array) -> Array:
    X = algorithms.poses(model, q)[body] @ placement
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = X.R, X.p
    return matrix


class Accelerations:
    """a (n, nv) of the states of a run, under all that acts: called once, and when the run is pickled."""

    def __init__(self, programs: Programs, t: Array, q: Array, e: Array, u: Array, step: float | None) -> None:
        self.programs, self.step = programs, step
        self.states = {"t": t[:, None], "q": q, "e": e, "u": u}

    def __call__(self) -> Array:
        programs, states, count = self.programs, self.states, len(self.states["t"])
        if not count:
            return np.zeros((0, programs.system.model.nv))
        if programs.system.called:  # by Python, one state after the other
            rows = zip(*states.values(), strict=True)
            return np.array([programs.system.rates(t[0], q, e, u) for t, q, e, u in rows])[
                :, : programs.system.model.nv
            ]
        if programs.integrator is not TIME_STEPPING:
            return programs.rates(states, (count,))["rates"][:, : programs.system.model.nv].copy()
        assert self.step is not None
        timing = np.column_stack([self.states["t"][:, 0], np.full(count, self.step)])
        inputs = {name: states[name] for name in ("q", "e", "u")} | {"number": np.zeros((count, 1)), "timing": timing}
        layout = programs.system.layout
        after = programs.steps(False, False)(inputs, (count,), 1)["e_next"]
        return (layout.velocity(after.reshape(count, -1)) - layout.velocity(states["e"])) / self.step

    def __reduce__(self) -> tuple[Any, ...]:
        return Known, (self(),)


class Known:
    """Numbers that were computed before."""

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers

    def __call__(self) -> Array:
        return self.numbers


def derived(programs: Programs, t: Array, q: Array, e: Array, u: Array, step: float | None) -> dict[str, Any]:
    """Arguments from which a run computes accelerations and readings."""
    numbers = Accelerations(programs, t, q, e, u, step)
    return {"accelerations": numbers, "sensed": partial(sensed, programs.system.model)}


def sensed(model: Model, run: Any) -> dict[str, Array]:
    """Readings of the sensors of a model along a run."""
    from .sensors import readings

    return readings(model, run.t, run.q, run.v, run.a, run.tau, run.contacts) if model.sensors else {}
