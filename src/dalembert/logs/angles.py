"""Angles that a driver wrapped at half or full turns, made continuous; quaternions brought to unit length."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

SLACK = 1e-3  # rad or m by which a measured position may miss a limit
UNIT = 0.01  # by which the length of a logged quaternion may miss 1


def unwrapped(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Positions (n, nq) without jumps of full turns, and notes on the jumps.

    A jump by more than half a turn from one row to the next is a wrap if all angles lie within one turn, and stay
    within the joint's limits once they are continuous.
    """
    q, notes = q.copy(), []
    for body in robot.model.independent:
        joint = body.joint
        for k in joint.turns:
            column = body.q.start + k
            angles = q[:, column]
            jumps = np.abs(np.diff(angles)) > np.pi
            if not jumps.any():
                continue
            smooth = np.unwrap(angles)
            low, high = joint.lower[k] - SLACK, joint.upper[k] + SLACK
            limited = bool(np.isfinite(low) or np.isfinite(high))
            turns = np.array([0.0]) if not limited else 2.0 * np.pi * np.arange(-2, 3)
            wrapped = np.ptp(angles) <= 2.0 * np.pi + SLACK
            fitting = [x for x in smooth + turns[:, None] if not limited or (x.min() >= low and x.max() <= high)]
            name, count = robot.model.coordinate_names[column], int(np.count_nonzero(jumps))
            times = "time" if count == 1 else "times"
            if wrapped and fitting:
                q[:, column] = min(fitting, key=lambda x: abs(x[0] - angles[0]))
                notes.append(f"the angle of {name} wraps {count} {times} and is made continuous")
            else:
                notes.append(f"the angle of {name} jumps by more than half a turn {count} {times}, taken as motion")
    return q, notes


def normalized(robot: Robot, q: np.ndarray, where: str) -> tuple[np.ndarray, list[str]]:
    """Positions (n, nq) with quaternions of unit length; an error where they are far from it."""
    worst = 0.0
    for body in robot.model.independent:
        if body.joint.nq != body.joint.nv:
            length = np.linalg.norm(q[:, body.q.stop - 4 : body.q.stop], axis=1)
            worst = max(worst, float(np.max(np.abs(length - 1.0))))
            if worst > UNIT:
                row = int(np.argmax(np.abs(length - 1.0)))
                raise DalembertError(
                    f"{where}: row {row + 1} has a quaternion of length {length[row]:.4g} for {body.joint.name}, "
                    "expected 1 (w, x, y, z)"
                )
    if worst <= 1e-9:
        return q, []
    return np.asarray(robot.normalize(q)), [f"quaternions are off unit length by up to {worst:.1g}, and normalised"]


def outside(robot: Robot, q: np.ndarray) -> list[str]:
    """Which joints leave their limits: often degrees, or a log of another robot."""
    beyond = []
    for body in robot.model.independent:
        joint, x = body.joint, q[:, body.q]
        if joint.nq == 1 and (np.any(x < joint.lower - SLACK) or np.any(x > joint.upper + SLACK)):
            reached = f"{x.min():.4g} to {x.max():.4g}, limits {joint.lower[0]:.4g} to {joint.upper[0]:.4g}"
            beyond.append(f"{joint.name} ({reached})")
    if not beyond:
        return []
    others = f" and {len(beyond) - 1} more" if len(beyond) > 1 else ""
    return [f"positions leave the limits of {beyond[0]}{others}; expected rad and m"]
