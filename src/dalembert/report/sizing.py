"""Sizing actuators: what gravity and a motion ask of each joint, beside what it may give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.audit.motors import MARGIN, headroom
from dalembert.audit.subject import Subject
from dalembert.logs import Trajectory
from dalembert.robot import Robot


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
    """A row for every joint of one coordinate. With a free base or loops gravity is that of the motion alone."""
    subject = Subject(robot, payload, frame)
    loaded = subject.loaded
    tau = loaded.inverse_dynamics(motion.q, motion.v, motion.a)
    held = loaded.gravity(motion.q)
    diagonal = np.diagonal(loaded.mass_matrix(subject.q), axis1=1, axis2=2)
    worst = {row.joint: row.gravity for row in headroom(subject)} if subject.carried else {}
    rows = []
    for body in robot.model.independent:
        if body.joint.nv != 1:
            continue
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
                float(np.max(np.abs(motion.v[:, k]))),
                float(np.max(np.abs(tau[:, k] * motion.v[:, k]))),
                (float(diagonal[:, k].min()), float(diagonal[:, k].max())),
                float(body.joint.armature[0]),
            )
        )
    return rows
