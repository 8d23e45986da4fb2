"""The motion to look at where none is given: a move of every joint."""

from __future__ import annotations

import numpy as np

from dalembert.logs import Trajectory
from dalembert.robot import Robot

MOVE = 0.5  # rad, or m/5 for slides
DURATION = 1.0  # s


def standard_motion(robot: Robot, samples: int = 201) -> Trajectory:
    """A quintic move of 0.5 rad (0.1 m) on every joint, from and to rest, about the middle of the ranges."""
    t = np.linspace(0.0, DURATION, samples)
    s = t / DURATION
    way, rate, bend = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / DURATION,
        (60 * s - 180 * s**2 + 120 * s**3) / DURATION**2,
    )
    step = np.zeros(robot.nv)
    start = robot.neutral()
    for body in robot.model.independent:
        joint = body.joint
        if joint.nv != 1:
            continue
        low, high = float(joint.lower[0]), float(joint.upper[0])
        room = high - low
        move = min(MOVE if joint.units[0] == "rad" else MOVE / 5, 0.8 * room if np.isfinite(room) else np.inf)
        middle = 0.5 * (low + high) if np.isfinite(room) else 0.0
        step[body.v], start[body.q] = move, middle - move / 2
    q = robot.integrate(start, way[:, None] * step)
    title = f"quintic move of {MOVE:g} rad ({MOVE / 5:g} m) on every joint in {DURATION:g} s, amid the ranges"
    return Trajectory(t, q, rate[:, None] * step, bend[:, None] * step, title=title)


def caveats(robot: Robot) -> tuple[str, ...]:
    """What the efforts of a motion by inverse dynamics leave out, for robots that are more than a held tree."""
    found = []
    if robot.model.closures:
        found.append(
            "the loops are taken as open: efforts of the tree alone, of a motion that may part them "
            "(robot.loop_inverse_dynamics keeps them closed)"
        )
    if robot.model.floating:
        found.append("efforts of the free base are what would have to hold it: ground or thrust are not in the motion")
    return tuple(found)
