"""Sizing actuators: what gravity and a motion ask of each joint, beside what it may give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.audit.closed import ClosedManifold, motors
from dalembert.audit.gravity import MARGIN
from dalembert.audit.subject import Subject
from dalembert.logs import Trajectory
from dalembert.robot import Robot

from .motion import efforts


class Sizing(NamedTuple):
    """One joint: N·m, rad/s, W (N, m/s, W for slides).

    gravity: worst case anywhere; dynamic: peak of what the motion adds to gravity; needed: 1.3 (gravity + dynamic);
    limit: stated effort; rms, speed, power: of the motion; inertia: least and largest M_ii; rotor: its share.
    """

    joint: str
    gravity: float
    dynamic: float
    needed: float
    limit: float
    rms: float
    speed: float
    power: float
    inertia: tuple[float, float]
    rotor: float

    @property
    def enough(self) -> bool:
        return self.needed <= self.limit


def size_actuators(robot: Robot, motion: Trajectory, payload: float = 0.0, frame: str | None = None) -> list[Sizing]:
    """A row for every motor. With a free base gravity is that of the motion alone."""
    subject = Subject(robot, payload, frame)
    loaded = subject.loaded
    moved, tau, held, _, _ = efforts(loaded, motion)
    inertia = _felt_inertia(subject)
    worst = {row.joint: row.gravity for row in subject.motors.rows}
    rows = []
    for body in motors(robot.model):
        k = body.v.start
        gravity = worst.get(body.joint.name, float(np.max(np.abs(held[:, k]))))
        dynamic = float(np.max(np.abs(tau[:, k] - held[:, k])))
        rows.append(
            Sizing(
                body.joint.name,
                gravity,
                dynamic,
                MARGIN * (gravity + dynamic),
                float(body.joint.effort_limit[0]),
                float(np.sqrt(np.mean(tau[:, k] ** 2))),
                float(np.max(np.abs(moved.v[:, k]))),
                float(np.max(np.abs(tau[:, k] * moved.v[:, k]))),
                inertia[body.joint.name],
                float(body.joint.armature[0]),
            )
        )
    return rows


def _felt_inertia(subject: Subject) -> dict[str, tuple[float, float]]:
    """Least and largest inertia that each motor feels over configurations, rotors included."""
    robot, driven = subject.loaded, motors(subject.model)
    if robot.model.closures:
        manifold = ClosedManifold(robot, driven)
        felt = manifold.felt_inertia(manifold.sample(np.random.default_rng(11)))
    else:
        diagonal = np.diagonal(robot.mass_matrix(subject.q), axis1=1, axis2=2)
        felt = diagonal[:, [body.v.start for body in driven]]
    return {body.joint.name: (float(felt[:, k].min()), float(felt[:, k].max())) for k, body in enumerate(driven)}
