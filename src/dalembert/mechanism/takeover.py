"""Across an abrupt change: where bodies are, how fast they move on, what they stored, and time that goes on."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.math.tolerances import RANK
from dalembert.model import Model
from dalembert.sim.elements import Element
from dalembert.sim.elements.base import Action, Situation
from dalembert.sim.run.run import EnergyLedger, Run
from dalembert.sim.system.constraints import Constraint
from dalembert.spatial import Pose
from dalembert.typing import Array

from .parts import GROUND, ORIGIN
from .robot import MechanismRobot
from .sensors import SENSORS, system_of

if TYPE_CHECKING:
    from .changes import Change
    from .definition import Mechanism


def changed(mechanism: Mechanism, robot: MechanismRobot, q: Array, change: Change) -> Mechanism:
    """The mechanism after a change, its bodies where they are at q (nq,), its joints counting on."""
    following = copy.copy(mechanism)
    counted = {body.joint.name: float(q[body.q][0]) for body in robot.model.bodies if body.joint.nq == 1}
    following._joints = {
        name: replace(joint, start=counted.get(name), rate=None) for name, joint in mechanism._joints.items()
    }
    following._bodies = {
        name: replace(
            body,
            points=dict(body.points),
            pose=None if name == GROUND else Pose.from_matrix(robot.pose(q, f"{name}.{ORIGIN}")),
            velocity=None,
            spin=None,
        )
        for name, body in mechanism._bodies.items()
    }
    following._elements = dict(mechanism._elements)
    if change.action != "set":
        following._sensors = {
            name: s for name, s in mechanism._sensors.items() if s.of != change.of or SENSORS[s.kind].target != "joint"
        }
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
            joint, kind="fixed", shape={}, start=None, values={}, a=joint.a._replace(point=point)
        )
    return following


def taken_over(
    mechanism: Mechanism, robot: MechanismRobot, q: Array, v: Array, coordinates: str, step: float | None
) -> tuple[MechanismRobot, Array, Array]:
    """The robot after a change, its position, and the velocity nearest to that before in the metric of the masses."""
    following = mechanism.build(coordinates, step=step)
    q1 = following.start[0]
    rows, twists, masses = [], [], []
    for name, body in mechanism.parts.bodies.items():
        if name == GROUND:
            continue
        frame = f"{name}.{ORIGIN}"
        turn = np.kron(np.eye(2), following.pose(q1, frame)[:3, :3].T)
        rows.append(turn @ following.jacobian(q1, frame))
        twists.append(turn @ robot.velocity(q, v, frame))
        masses.append(body.inertia.matrix())
    momentum = sum(J.T @ M @ V for J, M, V in zip(rows, masses, twists, strict=True))
    inertia = following.mass_matrix(q1)
    rotors = inertia - sum(J.T @ M @ J for J, M in zip(rows, masses, strict=True))
    # the velocities (nv,) before a change, of joints that are still there; 0 for others
    before = {body.joint.name: v[body.v] for body in robot.model.bodies}
    rates = np.zeros(following.nv)
    for moved in following.model.bodies:
        if (known := before.get(moved.joint.name)) is not None and len(known) == moved.joint.nv:
            rates[moved.v] = known
    momentum = momentum + rotors @ rates
    kept, N = _allowed(following, q1)
    if N.shape[1]:
        kept = kept + N @ np.linalg.solve(N.T @ inertia @ N, N.T @ (momentum - inertia @ kept))
    following.start = (q1, kept)
    return following, q1, kept


def _allowed(robot: MechanismRobot, q: Array) -> tuple[Array, Array]:
    """A velocity (nv,) that keeps loops closed and wheels rolling, and the directions (nv, k) in which it is free."""
    system = system_of(robot.model, robot.elements)
    still = np.zeros(robot.nv)
    if not robot.nv or not system.permanent_count:
        return still, np.eye(robot.nv)
    rows = system.constraint_rows(0.0, q, still, np.zeros(0)).first(system.permanent_count)
    J = np.asarray(rows.J, float)
    _, s, Vt = np.linalg.svd(J)
    return np.linalg.pinv(J) @ np.asarray(rows.surface, float), Vt[int(np.sum(s > RANK * s[0])) :].T


def energies(robot: MechanismRobot, q: Array, v: Array) -> tuple[float, float]:
    """Kinetic energy, and energy stored in elements [J]."""
    stored = sum(float(_stored(element, robot, q, v)) for element in robot.elements)
    return float(robot.kinetic_energy(q, v)), stored


@dataclass(frozen=True)
class ShiftedElement(Element):
    """An element whose time began earlier: functions of time go on after a change."""

    element: Any
    since: float

    @property
    def gives(self) -> bool:  # type: ignore[override]
        return bool(self.element.gives)

    @property
    def loses(self) -> bool:  # type: ignore[override]
        return bool(self.element.loses)

    def label(self) -> str:
        return str(self.element.label())

    def prepared(self, model: Model) -> Model:
        return self.element.prepared(model)

    def act(self, s: Situation) -> Action:
        return self.element.act(self._shifted(s))

    def energy(self, s: Situation) -> Any:
        return self.element.energy(self._shifted(s))

    def constraints(self, model: Model) -> tuple[Constraint, ...]:

        def shifted(kept: Constraint) -> Constraint:
            return replace(kept, rows=lambda s: kept.rows(self._shifted(s)))

        return tuple(shifted(constraint) for constraint in self.element.constraints(model))

    def gaps(self, s: Situation) -> list[Any]:
        return self.element.gaps(self._shifted(s))

    def _shifted(self, s: Situation) -> Situation:
        return s._replace(t=s.t + self.since)


def later(element: Element, t: float) -> Element:
    """The element with its time shifted, if it may depend on time: it has a function, or its class is a user's."""
    timed = any(callable(value) for value in vars(element).values())
    return ShiftedElement(element, t) if timed or not type(element).__module__.startswith("dalembert.") else element


def _stored(element: Element, robot: MechanismRobot, q: Array, v: Array) -> Any:
    z = element.start(robot.model, q, v)
    return element.energy(Situation(robot.model, 0.0, q, v, z, np.zeros(robot.nv)))


def standing(robot: MechanismRobot, q: Array, duration: float, integrator: str) -> Run:
    """The run of a robot without freedoms, which stands where it is for `duration` [s]."""
    states, none = np.zeros((2, 0)), np.zeros(2)
    stored = energies(robot, q, np.zeros(0))[1]
    potential = np.full(2, float(robot.potential_energy(q)))
    return Run(
        robot.name, (), (), np.array([0.0, duration]), states, states, states, states,
        EnergyLedger(none, potential, np.full(2, stored), {}, {}), states, (),
        ("nothing can move: every joint is locked or fixed",), 0,
        {"integrator": integrator, "order": 0, "step": None, "rtol": 0.0, "atol": 0.0, "duration": duration},
    )  # fmt: skip
