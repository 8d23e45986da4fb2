"""Abrupt changes while a mechanism runs: joints that break or lock, parameters that jump, with the energy booked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Interrupted
from dalembert.errors import DalembertError, is_number, unknown
from dalembert.sim.elements import Element
from dalembert.sim.elements.base import Situation
from dalembert.sim.failure import SimulationError
from dalembert.sim.run.run import Event, Run
from dalembert.sim.settings import Settings, each_of
from dalembert.typing import Array

from .elements import AxisForce
from .graph import coordinate_joints
from .parts import COUNTED
from .robot import MechanismRobot
from .sensors import moment_of, reaction, system_of
from .takeover import changed, energies, later, standing, taken_over

if TYPE_CHECKING:
    from .definition import Mechanism

ACTIONS = ("break", "set", "lock")  # in this order at one instant: a joint that is gone stops nothing
TAKEN = ("elements", "events", "torque", "controls")  # options of `Robot.simulate` that changes leave no room for
AT_ONCE = 1e-13  # [s, relative to 1 + the time]: what counts as one time
REACHED = 1e-9  # share of a force, and of an angle [rad, m] or of 1: what is as near to its value has reached it
TURN = 1.0  # [rad]: an angle of a closure that jumps from π to −π is farther than this from its value


@dataclass(frozen=True)
class Change:
    """Something that happens once while a mechanism runs.

    action: "break" takes the joint `of` away, "lock" fixes it where it is, "set" gives the element `of` other `values`,
    such as {"stiffness": 100.0}. When: at the time `at` [s], or when the coordinate of a joint reaches angle=(joint,
    value), or when the force in a joint reaches force=(joint, N). A joint that is loaded beyond that force from the
    start, or by what happens at an instant, breaks there; impulses of impacts do not count as forces.
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
        if self.at is not None and not (_is_number(self.at) and self.at >= 0.0):
            raise DalembertError(f"{self.label}: at is {self.at!r}, expected a time ≥ 0 from the beginning [s]")
        for name, trigger in (("angle", self.angle), ("force", self.force)):
            pair = trigger is None or (isinstance(trigger, tuple) and len(trigger) == 2 and _is_number(trigger[1]))
            if not pair or (name == "force" and trigger is not None and not trigger[1] > 0.0):
                unit = "a force above 0 [N]" if name == "force" else "a value [rad or m]"
                raise DalembertError(f"{self.label}: {name} is {trigger!r}, expected (joint, {unit})")

    @property
    def label(self) -> str:
        """In messages and results."""
        return f"{self.action} {self.of}"


def _is_number(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(value))


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

    Times of every run count from its own beginning; `starts` has when each began [s]; log: changes that did not happen,
    and why, and what still acts at joints that broke.
    """

    runs: tuple[Run, ...]
    robots: tuple[MechanismRobot, ...]
    starts: tuple[float, ...]
    happened: tuple[Happened, ...]
    log: tuple[str, ...] = ()

    @property
    def t(self) -> Array:
        """All times (n,), counted from the beginning of the first run [s]; that of a change stands twice."""
        return np.concatenate([start + run.t for start, run in zip(self.starts, self.runs, strict=True)])

    def path(self, point: str) -> Array:
        """Positions (n, 3) of a point at all times, in the world [m]."""
        pairs = zip(self.robots, self.runs, strict=True)
        return np.concatenate([robot.pose(run.q, point)[:, :3, 3] for robot, run in pairs])


def simulate_changes(
    mechanism: Mechanism, duration: float, changes: Sequence[Change], coordinates: str = "tree", **options: Any
) -> ChangedRun:
    """Let a mechanism move, changing it as it goes; options: of `Robot.simulate`, but for elements and events.

    At each change the bodies keep their places. Joints that appear stop what they do not allow, at once and with no
    more loss than that asks for: a perfectly plastic impact. All that is due at one instant happens there: joints
    break first, then elements change, then joints lock; what comes beyond its limit by that is due at once.
    """
    for key in TAKEN:
        if key in options:
            raise DalembertError(f"simulate: {key} cannot be given together with changes: add it to the mechanism")
    changes = each_of("changes", changes, Change, "Changes")
    Settings(duration=duration, record=options.get("record", 0.01)).check_run()
    for change in changes:
        _check(mechanism, change, changes, coordinates, options.get("contact", mechanism.touching))
    for element in mechanism.elements.values():
        if type(element).size is not Element.size:
            raise DalembertError(
                f"simulate: {element.label()!r} keeps a state of its own, which changes do not carry over"
            )
    return _Changing(mechanism, changes, coordinates, options).run(float(duration))


class Trigger(NamedTuple):
    """number(t, q, v) of a change, which reaches zero when it is due; near: how far from zero that is already.

    beyond: whether it is due above zero as well; turns: whether the number jumps from π to −π elsewhere.
    """

    number: Callable[[Any, Array, Array], Any]
    near: float
    beyond: bool
    turns: bool = False

    def due(self, q: Array, v: Array, located: bool) -> bool:
        """Whether the change is due in a state; located: an event that was found there."""
        number = float(self.number(0.0, q, v))
        return (
            abs(number) <= self.near
            or (self.beyond and number > 0.0)
            or (located and (not self.turns or abs(number) < TURN))
        )


class _Changing:
    """A mechanism that runs from change to change."""

    def __init__(
        self, mechanism: Mechanism, changes: tuple[Change, ...], coordinates: str, options: dict[str, Any]
    ) -> None:
        self.mechanism, self.changes = mechanism, changes
        self.coordinates, self.options = coordinates, options
        self.pending = list(range(len(changes)))
        self.robot = mechanism.build(coordinates, step=options.get("step"))
        self.elements = self.robot.elements  # of which time began with the first run
        self.t, (self.q, self.v) = 0.0, self.robot.start
        self.runs: list[Run] = []
        self.robots: list[MechanismRobot] = []
        self.starts: list[float] = []
        self.happened: list[Happened] = []
        self.log: list[str] = []
        for change in changes:
            if change.action == "set":
                replace(mechanism.elements[change.of], **change.values or {}).prepared(self.robot.model)  # type: ignore[type-var]

    @property
    def result(self) -> ChangedRun:
        """All up to now."""
        return ChangedRun(
            tuple(self.runs), tuple(self.robots), tuple(self.starts), tuple(self.happened), tuple(self.log)
        )

    def run(self, duration: float) -> ChangedRun:
        """From the start to the end, or an error whose `result` has all until then."""
        try:
            located: frozenset[str] = frozenset()
            while True:
                self._instant(located)
                if self.t >= duration:
                    break
                times = (self.changes[k].at for k in self.pending)
                located = self._stretch(min([duration, *(at for at in times if at is not None)]))
        except SimulationError as error:
            error.result = self._with_part(error.run)
            raise
        except Interrupted as error:
            error.result = self._with_part(error.result)
            raise
        for k in self.pending:
            self.log.append(f"{self.changes[k].label}: did not happen, {_wanted(self.changes[k])} was not reached")
        return self.result

    def _with_part(self, run: Run | None) -> ChangedRun:
        """All up to now, with the part of a run that did not end."""
        if run is not None:
            self._keep(run)
        return self.result

    def _keep(self, run: Run) -> None:
        self.runs, self.robots, self.starts = [*self.runs, run], [*self.robots, self.robot], [*self.starts, self.t]

    def _stretch(self, until: float) -> frozenset[str]:
        """Move on to the next instant, at most until a time; names of the events that were located there."""
        length, start = until - self.t, self.t
        if not self.robot.nv:
            run = standing(self.robot, self.q, length, str(self.options.get("integrator") or "none"))
        else:
            events = []
            for k, trigger in self._triggers().items():
                events.append(Event(self._name(k), trigger.number, 1 if trigger.beyond else 0, terminal=True))
            run = self.robot.simulate(self.q, self.v, length, events=events, **self.options)
        self._keep(run)
        self.q, self.v = run.q[-1], run.v[-1]
        if run.t[-1] >= length - _at_once(until):
            self.t = until
            return frozenset(event.name for event in run.events if event.t >= length - _at_once(until))
        self.t = start + float(run.t[-1])
        return frozenset(event.name for event in run.events if event.t >= run.t[-1] - _at_once(self.t))

    def _triggers(self) -> dict[int, Trigger]:
        """The pending changes that the state tells, while anything moves; beside a standstill only angles."""
        friction = self.options.get("friction", "dry")
        found = {k: _trigger(self.robot, self.changes[k], friction) for k in self.pending}
        return {k: trigger for k, trigger in found.items() if trigger is not None}

    def _name(self, k: int) -> str:
        """The event of a change; of several alike, each its own."""
        alike = [i for i, change in enumerate(self.changes) if change.label == self.changes[k].label]
        return self.changes[k].label + (f" ({alike.index(k) + 1})" if len(alike) > 1 else "")

    def _instant(self, located: frozenset[str]) -> None:
        """Let happen all that is due now, and all that it brings about."""
        self._shift()
        while True:
            triggers = self._triggers()
            due = [k for k in self.pending if self._is_due(k, triggers.get(k), located)]
            if not due:
                return
            located = frozenset()
            self.pending = [k for k in self.pending if k not in due]
            for k in sorted(due, key=lambda k: ACTIONS.index(self.changes[k].action)):
                self._happen(self.changes[k])

    def _is_due(self, k: int, trigger: Trigger | None, located: frozenset[str]) -> bool:
        at = self.changes[k].at
        if at is not None:
            return at <= self.t + _at_once(self.t)
        return trigger is not None and trigger.due(self.q, self.v, self._name(k) in located)

    def _happen(self, change: Change) -> None:
        """Let one change happen, unless an earlier one took away what it concerns."""
        when = f"at t = {self.t:.9g} s"
        part = None if change.action == "set" else self.mechanism.joints.get(change.of)
        if change.action != "set" and (part is None or (change.action == "lock" and part.kind == "fixed")):
            state = "is gone" if part is None else "is locked already"
            self.log.append(f"{change.label}: did not happen {when}, since joint {change.of!r} {state}")
            return
        before = energies(self.robot, self.q, self.v)
        self.mechanism = changed(self.mechanism, self.robot, self.q, change)
        step = self.options.get("step")
        self.robot, self.q, self.v = taken_over(self.mechanism, self.robot, self.q, self.v, self.coordinates, step)
        self.elements = self.robot.elements
        self._shift()
        after = energies(self.robot, self.q, self.v)
        self.happened.append(Happened(change.label, self.t, before[0] - after[0], before[1] - after[1]))
        if part is not None:
            for k in list(self.pending):
                other = self.changes[k]
                waits = next((x[0] for x in (other.angle, other.force) if x is not None), "")
                if waits == change.of and (change.action == "break" or other.angle is not None):
                    moves = "is gone" if change.action == "break" else "is locked"
                    self.pending.remove(k)
                    self.log.append(
                        f"{other.label}: cannot happen after t = {self.t:.9g} s, since joint {waits!r} {moves}"
                    )
            if change.action == "break":
                for element in self.mechanism.elements.values():
                    if isinstance(element, AxisForce) and (element.frame, element.other) == (part.a.name, part.b.name):
                        self.log.append(f"{change.label} {when}: {element.label()!r} still acts between its two points")

    def _shift(self) -> None:
        """Let the time of the elements be that of the beginning, although a run begins now."""
        elements = tuple(later(element, self.t) for element in self.elements) if self.t else self.elements
        model, log = self.robot.model, self.robot.import_log
        self.robot = MechanismRobot(model, log, self.mechanism, self.coordinates, elements, (self.q, self.v))


def _at_once(t: float) -> float:
    return AT_ONCE * max(1.0, abs(t))


def _wanted(change: Change) -> str:
    """The condition of a change, in words."""
    if change.at is not None:
        return f"t = {change.at:g} s"
    joint, value = change.angle or change.force or ("", 0.0)
    return f"{value:g} {'N' if change.force else 'rad or m'} in joint {joint!r}"


def _check(mechanism: Mechanism, change: Change, changes: tuple[Change, ...], coordinates: str, contact: Any) -> None:
    """Refuse what the mechanism does not have, and what could not be watched or carried out later."""
    where = f"mechanism {mechanism.name!r}: {change.label}"
    known: Any = mechanism.elements if change.action == "set" else mechanism.joints
    if change.of not in known:
        raise unknown("element" if change.action == "set" else "joint", change.of, known, where)
    if change.action == "set":
        valid = [field.name for field in fields(known[change.of])]
        for key in change.values or {}:
            if key not in valid:
                raise unknown("value", key, valid, where)
    elif change.of in coordinate_joints(mechanism.parts.relations, list(mechanism.joints.values())):
        raise DalembertError(f"{where}: gears, racks, belts or cams tie this joint: it can neither break nor lock")
    for trigger in (change.angle, change.force):
        if trigger is not None and trigger[0] not in mechanism.joints:
            raise unknown("joint", trigger[0], mechanism.joints, where)
    if change.angle is not None and mechanism.joints[change.angle[0]].kind not in COUNTED:
        raise DalembertError(f"{where}: joint {change.angle[0]!r} has no single coordinate: trigger by time or force")
    if change.force is None:
        return
    if contact is not None:
        raise DalembertError(f"{where}: a force cannot be watched beside contact: trigger by time or angle")
    fixed = mechanism.joints[change.force[0]].kind == "fixed"
    if coordinates == "tree" and (fixed or ("lock", change.force[0]) in {(x.action, x.of) for x in changes}):
        raise DalembertError(
            f"{where}: joint {change.force[0]!r} {'is' if fixed else 'becomes'} fixed, and in joint coordinates its "
            "two bodies are one, without a force between them: simulate with coordinates='free'"
        )


def _trigger(robot: MechanismRobot, change: Change, friction: str) -> Trigger | None:
    """The quantity of the state that sets off a pending change; None: its time does, or nothing can move."""
    mechanism = robot.mechanism
    if change.angle is not None:
        joint, value = mechanism.joints[change.angle[0]], change.angle[1]
        near = REACHED * max(1.0, abs(value))
        carried = [body for body in robot.model.bodies if body.joint.name == joint.name and body.joint.nv == 1]
        if carried:
            return Trigger(lambda t, q, v: q[carried[0].q][0] - value, near, False)
        axis = tuple(joint.shape["axis"].tolist())
        measure = AxisForce("", joint.a.name, joint.b.name, axis, joint.kind != "prismatic", rest=value)

        def off(t: Any, q: Array, v: Array) -> Any:
            return measure.measured(Situation(robot.model, t, q, v, np.zeros(0), np.zeros(robot.nv)))[1]

        return Trigger(off, near, False, turns=measure.turning)
    if change.force is None or not robot.nv:
        return None
    joint, limit = mechanism.joints[change.force[0]], change.force[1]
    system = system_of(robot.model, robot.elements, friction)
    if system.layout.nz or system.layout.nm:
        raise DalembertError(
            f"{change.label}: a force cannot be watched beside dry friction, stops, or elements with own states"
        )

    def load(t: Any, q: Array, v: Array) -> Any:
        forces = system.multipliers(t, q, v, np.zeros(0))
        force = reaction(joint, mechanism, moment_of(system, [t], q, v, np.zeros(0), np.zeros(robot.nv), forces))[3:]
        return force @ force - limit * limit

    return Trigger(load, 2.0 * REACHED * limit * limit, True)
