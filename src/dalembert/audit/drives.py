"""Rules on rotors and friction in the joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dalembert.model import Joint

from .classes import SPINNING, mentions
from .closed import motors
from .rule import Found, NotRun, demand, rule
from .subject import Subject

FEW = 0.2  # share of the joints without it, up to which each of them is reported
BRAKE = 0.5  # of the effort limit: friction that eats half of a motor


@rule(
    "rotors-missing",
    "friction",
    "info",
    reason="geared motors add N² times their rotor's inertia to a joint, often more than the link itself",
    cure="state armature per joint: <dalembert armature=…/> in URDF, armature= in MJCF",
)
def rotors(subject: Subject) -> Iterator[Found | NotRun]:
    yield from _without(subject, "a rotor inertia (armature)", lambda joint: bool(np.any(joint.armature)))


@rule(
    "friction-missing",
    "friction",
    "info",
    reason="joint friction is often a fifth of the torque of a geared arm",
    cure="identify it, and state damping and friction per joint",
)
def friction(subject: Subject) -> Iterator[Found | NotRun]:
    yield from _without(
        subject, "friction or damping", lambda joint: bool(np.any(joint.friction) or np.any(joint.damping))
    )


@rule(
    "friction-size",
    "friction",
    "info",
    reason="friction of more than half of what the motor may give leaves it little to move the robot with",
    cure="Coulomb friction is in N·m (harmonic drives of small arms: 0.5 to 5), damping in N·m·s/rad (0.1 to 1)",
)
def friction_size(subject: Subject) -> Iterator[Found]:
    limited = [joint for joint in _motors(subject) if np.isfinite(joint.effort_limit[0])]
    for joint in demand(limited, "no motor states an effort limit"):
        limit = float(joint.effort_limit[0])
        speed = float(joint.velocity_limit[0])
        lost = float(joint.friction[0]) + (float(joint.damping[0]) * speed if np.isfinite(speed) else 0.0)
        if lost > BRAKE * limit:
            stuck = float(joint.friction[0] + joint.stribeck[0]) >= limit
            what = "cannot move: friction takes" if stuck else "loses to friction, at its top speed,"
            yield Found(
                f"joint '{joint.name}'", f"{what} {lost:.3g} of {limit:.3g} N·m (or N)", "warning" if stuck else None
            )


def _motors(subject: Subject) -> list[Joint]:
    """The motorised joints of one freedom, but for wheels and rotors."""
    return [b.joint for b in motors(subject.model) if not mentions((b.name, b.joint.name), SPINNING)]


def _without(subject: Subject, what: str, has: Callable[[Joint], bool]) -> Iterator[Found | NotRun]:
    """None of the motors has it: info. Most have: a warning for those without."""
    motors = demand(_motors(subject), "no joint of one freedom has a motor")
    without = [joint for joint in motors if not has(joint)]
    if len(without) == len(motors):
        yield Found(f"robot '{subject.model.name}'", f"no joint has {what}")
    elif len(without) <= FEW * len(motors):
        for joint in without:
            yield Found(f"joint '{joint.name}'", f"has no {what.removeprefix('a ')}, unlike most others", "warning")
