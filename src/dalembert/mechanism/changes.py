"""Abrupt changes while a mechanism runs: joints that break or lock, parameters that jump, with the energy booked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.sim.elements import Element
from dalembert.sim.elements.base import Action, Situation
from dalembert.sim.run.events import Event
from dalembert.sim.run.run import Run
from dalembert.sim.system.system import System
from dalembert.spatial import Pose

from .elements import AxisForce
from .kinds import COUNTED
from .parts import GROUND, ORIGIN
from .robot import MechanismRobot
from .sensors import moment_of, reaction

if TYPE_CHECKING:
    from .mechanism import Mechanism

ACTIONS = ("break", "lock", "set")
DEPENDENT = 1e-9  # singular values below this share of the largest one are zero


@dataclass(frozen=True)
class Change:
    """Something that happens once while a mechanism runs.

    action: "break" takes the joint `of` away, "lock" fixes it where it is, "set" gives the element `of` other `values`,
    such as {"stiffness": 100.0}. When: at the time `at` [s], or when the coordinate of a joint reaches angle=(joint,
    value), or when the force in a joint reaches force=(joint, N).
    """

    action: str
    of: str
    at: float | None = None
    angle: tuple[str, float] | None = None
    force: tuple[str, float] | None = None
    values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise unknown("change", self.action, ACTIONS, f"change of {self.of!r}")
        stated = [when for when in (self.at, self.angle, self.force) if when is not None]
        if len(stated) != 1:
            raise DalembertError(f"{self.label}: say when, by one of at, angle and force; {len(stated)} were given")
        if (self.action == "set") != bool(self.values):
            raise DalembertError(f"{self.label}: values are for 'set', and 'set' needs them")

    @property
    def label(self) -> str:
        """In messages and results."""
        return f"{self.action} {self.of}"


class Happened(NamedTuple):
    """A change that took place: label, t [s], kinetic energy lost in it, stored energy that it took away [J].

    Stored energy that a change adds counts as negative.
    """

    label: str
    t: float
    kinetic: float
    stored: float


@dataclass(frozen=True, eq=False)
class ChangedRun:
    """The runs between changes, one after the other, the robot of each, and what happened between them.

    Times of every run count from its own beginning; `starts` has when each began [s].
    """

    runs: tuple[Run, ...]
    robots: tuple[MechanismRobot, ...]
    starts: tuple[float, ...]
    happened: tuple[Happened, ...]

    @property
    def t(self) -> np.ndarray:
        """All times (n,), counted from the beginning of the first run [s]; that of a change stands twice."""
        return np.concatenate([start + run.t for start, run in zip(self.starts, self.runs, strict=True)])

    def path(self, point: str) -> np.ndarray:
        """Positions (n, 3) of a point at all times, in the world [m]."""
        pairs = zip(self.robots, self.runs, strict=True)
        return np.concatenate([robot.pose(run.q, point)[:, :3, 3] for robot, run in pairs])


def simulate_changes(
    mechanism: Mechanism, duration: float, changes: Sequence[Change], coordinates: str = "tree", **options: Any
) -> ChangedRun:
    """Let a mechanism move, changing it as it goes; options: of `Robot.simulate`, but for elements and events.

    At each change the bodies keep their places. Joints that appear stop what they do not allow, at once and with no
    more loss than that asks for: a perfectly plastic impact.
    """
    for key in ("elements", "events", "torque"):
        if key in options:
            raise DalembertError(f"simulate: {key} cannot be given together with changes: add it to the mechanism")
    for change in changes:
        _check(mechanism, change)
    for element in mechanism.elements.values():
        if type(element).size is not Element.size:
            raise DalembertError(
                f"simulate: {element.label()!r} keeps a state of its own, which changes do not carry over"
            )
    pending, t = list(changes), 0.0
    robot = mechanism.build(coordinates, step=options.get("step"))
    q, v = robot.start
    runs: list[Run] = []
    robots: list[MechanismRobot] = []
    starts: list[float] = []
    happened: list[Happened] = []
    while True:
        times = [change.at for change in pending if change.at is not None and change.at >= t]
        until = min([duration, *times])
        if until > t:
            events = [event for change in pending if (event := _event(robot, change)) is not None]
            run = robot.simulate(q, v, until - t, events=events, **options)
            runs, robots, starts = [*runs, run], [*robots, robot], [*starts, t]
            q, v, t = run.q[-1], run.v[-1], t + float(run.t[-1])
            stopped = [event.name for event in run.events[-1:] if abs(event.t - run.t[-1]) < 1e-9 and events]
        else:
            stopped = []
        due = [change for change in pending if change.label in stopped or (change.at is not None and change.at <= t)]
        if not due:
            break
        pending = [change for change in pending if change not in due]
        for change in due:
            mechanism = changed(mechanism, robot, q, change)
            before = _energy(robot, t, q, v)
            robot, q, v = _taken_over(mechanism, robot, q, v, coordinates, options.get("step"))
            robot.elements = tuple(_later(element, t) for element in robot.elements)
            after = _energy(robot, t, q, v)
            happened.append(Happened(change.label, t, before[0] - after[0], before[1] - after[1]))
    return ChangedRun(tuple(runs), tuple(robots), tuple(starts), tuple(happened))


def changed(mechanism: Mechanism, robot: MechanismRobot, q: np.ndarray, change: Change) -> Mechanism:
    """The mechanism after a change, its bodies where they are at q (nq,)."""
    following = copy.copy(mechanism)
    following._joints = {name: replace(joint, start=None, rate=None) for name, joint in mechanism._joints.items()}
    following._bodies = {
        name: replace(body, points=dict(body.points), pose=_place(robot, q, name), velocity=None, spin=None)
        for name, body in mechanism._bodies.items()
    }
    following._elements = dict(mechanism._elements)
    if change.action != "set":
        following._sensors = {name: s for name, s in mechanism._sensors.items() if s.of != change.of}
    if change.action == "set":
        following._elements[change.of] = replace(mechanism._elements[change.of], **(change.values or {}))  # type: ignore[type-var]
        return following
    joint = following._joints.pop(change.of)
    if change.action == "lock":
        K, L = (Pose.from_matrix(robot.pose(q, end.name)) for end in (joint.a, joint.b))
        point = f"{joint.name} locked"
        following._bodies[joint.a.body].points[point] = (
            following._bodies[joint.a.body].points[joint.a.point] @ K.inverse() @ L
        )
        following._joints[joint.name] = replace(
            joint, kind="fixed", shape={}, values={}, a=joint.a._replace(point=point)
        )
    return following


def _check(mechanism: Mechanism, change: Change) -> None:
    where = f"mechanism {mechanism.name!r}: {change.label}"
    known: Any = mechanism.elements if change.action == "set" else mechanism.joints
    if change.of not in known:
        raise unknown("element" if change.action == "set" else "joint", change.of, known, where)
    if change.action == "set":
        valid = [field.name for field in fields(known[change.of])]
        for key in change.values or {}:
            if key not in valid:
                raise unknown("value", key, valid, where)
    for trigger in (change.angle, change.force):
        if trigger is not None and trigger[0] not in mechanism.joints:
            raise unknown("joint", trigger[0], mechanism.joints, where)
    if change.angle is not None and mechanism.joints[change.angle[0]].kind not in COUNTED:
        raise DalembertError(f"{where}: joint {change.angle[0]!r} has no single coordinate: trigger by time or force")


def _event(robot: MechanismRobot, change: Change) -> Event | None:
    """The terminal event at which a change is due, unless its time tells."""
    mechanism = robot.mechanism
    if change.angle is not None:
        joint, value = mechanism.joints[change.angle[0]], change.angle[1]
        axis = tuple(joint.shape["axis"].tolist())
        measure = AxisForce("", joint.a.name, joint.b.name, axis, joint.kind != "prismatic", rest=value)

        def reached(t: Any, q: np.ndarray, v: np.ndarray) -> Any:
            return measure.measured(Situation(robot.model, t, q, v, np.zeros(0), np.zeros(robot.nv)))[1]

        return Event(change.label, reached, terminal=True)
    if change.force is None:
        return None
    joint, limit = mechanism.joints[change.force[0]], change.force[1]
    system = System(robot.model, robot.elements, ledger=False)
    if system.layout.nz or system.layout.nm:
        raise DalembertError(f"{change.label}: a force cannot be watched beside elements with states of their own")

    def loaded(t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        forces = system.multipliers(t, q, v, np.zeros(0))
        force = reaction(joint, mechanism, moment_of(system, [t], q, v, np.zeros(0), np.zeros(robot.nv), forces))[3:]
        return force @ force - limit * limit

    return Event(change.label, loaded, direction=1, terminal=True)


def _place(robot: MechanismRobot, q: np.ndarray, name: str) -> Pose | None:
    return None if name == GROUND else Pose.from_matrix(robot.pose(q, f"{name}.{ORIGIN}"))


def _taken_over(
    mechanism: Mechanism, robot: MechanismRobot, q: np.ndarray, v: np.ndarray, coordinates: str, step: float | None
) -> tuple[MechanismRobot, np.ndarray, np.ndarray]:
    """The robot after a change, its position, and the velocity nearest to that before in the metric of the masses."""
    following = mechanism.build(coordinates, step=step)
    q1 = following.start[0]
    J = []
    twists = []
    weights = []
    for name, body in mechanism.parts.bodies.items():
        if name == GROUND:
            continue
        frame = f"{name}.{ORIGIN}"
        R = following.pose(q1, frame)[:3, :3]
        turn = np.kron(np.eye(2), R.T)
        J.append(turn @ following.jacobian(q1, frame))
        twists.append(turn @ robot.velocity(q, v, frame))
        weights.append(body.inertia.matrix())
    rows = np.concatenate(J)
    M = np.zeros((len(rows), len(rows)))
    for k, weight in enumerate(weights):
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = weight
    N = _null_space(following, q1)
    reduced = N.T @ rows.T @ M @ rows @ N
    v1 = N @ np.linalg.solve(reduced, N.T @ rows.T @ (M @ np.concatenate(twists))) if N.shape[1] else N @ np.zeros(0)
    following.start = (q1, v1)
    return following, q1, v1


def _null_space(robot: MechanismRobot, q: np.ndarray) -> np.ndarray:
    """Velocities (nv, k) that keep all loops closed."""
    if not robot.model.closures:
        return np.eye(robot.nv)
    J = algorithms.constraints(robot.model, q, np.zeros(robot.nv)).J
    _, s, Vt = np.linalg.svd(J)
    return Vt[int(np.sum(s > DEPENDENT * s[0])) :].T


def _energy(robot: MechanismRobot, t: float, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Kinetic energy, and energy stored in elements [J]."""
    stored = sum(float(_stored(element, robot, t, q, v)) for element in robot.elements)
    return float(robot.kinetic_energy(q, v)), stored


@dataclass(frozen=True)
class Later(Element):
    """An element whose time began earlier: functions of time go on after a change."""

    element: Any
    since: float

    @property
    def gives(self) -> bool:  # type: ignore[override]
        """As of the element."""
        return bool(self.element.gives)

    @property
    def loses(self) -> bool:  # type: ignore[override]
        """As of the element."""
        return bool(self.element.loses)

    def label(self) -> str:
        """As of the element."""
        return str(self.element.label())

    def prepared(self, model: Model) -> Model:
        """As of the element."""
        return self.element.prepared(model)

    def act(self, s: Situation) -> Action:
        """As of the element, at the time that counts for it."""
        return self.element.act(s._replace(t=s.t + self.since))

    def energy(self, s: Situation) -> Any:
        """As of the element, at the time that counts for it."""
        return self.element.energy(s._replace(t=s.t + self.since))


def _later(element: Element, t: float) -> Element:
    """The element with its time shifted, if it has a function."""
    return Later(element, t) if any(callable(value) for value in vars(element).values()) else element


def _stored(element: Element, robot: MechanismRobot, t: float, q: np.ndarray, v: np.ndarray) -> Any:
    z = element.start(robot.model, q, v)
    return element.energy(Situation(robot.model, t, q, v, z, np.zeros(robot.nv)))
