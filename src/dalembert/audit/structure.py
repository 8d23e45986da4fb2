"""Rules on structure: names, base, axes, limits, and findings of the import."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from dalembert.model import Joint

from .classes import ARMS, LEGS, ROTORS, SPINNING, legs, mentions
from .rule import Found, demand, rule
from .subject import Subject

TURN = 2 * np.pi
FASTEST, ROUGHLY_NONE = 60.0, 1e3  # rad/s; from the second on a limit means none
PLACEHOLDER = 100.0  # rad/s, which people write for "any"
LIMBS = re.compile(r"(base|trunk|torso|pelvis|body|waist|chassis)", re.IGNORECASE)


@rule(
    "import",
    "authoring",
    "warning",
    reason="what the importer dropped, repaired or assumed is physics that the file does not have as it stands",
    cure="correct the file where it errs; accept what is meant so (accept=…, --accept FILE)",
)
def imported(subject: Subject) -> Iterator[Found]:
    for finding in subject.log:
        if finding.severity == "warning" and "is not physical" not in finding.what:
            yield Found(finding.where, f"{finding.what}; {finding.action}")


@rule(
    "names",
    "intent",
    "info",
    reason="names with blanks or odd characters break in other tools, in file names and on the command line",
    cure="use letters, digits, '_', '-', '/' and '.'",
)
def names(subject: Subject) -> Iterator[Found]:
    for body in subject.model.bodies:
        for kind, name in (("link", body.name), ("joint", body.joint.name)):
            if not re.fullmatch(r"[\w./:-]+", name, re.ASCII):
                yield Found(f"{kind} '{name}'", "has blanks or unusual characters in its name")


@rule(
    "base",
    "intent",
    "warning",
    reason="a legged robot that is loaded with a fixed base has its trunk nailed to the world; an arm with a free base "
    "falls",
    cure="load(…, base='free') or load(…, base='fixed')",
)
def base(subject: Subject) -> Iterator[Found]:
    model = subject.model
    root, limbs = model.base, len(model.children(model.base.index))
    names = [name for body in model.bodies for name in (body.name, body.joint.name)]
    if not model.floating and not model.closures and root.inertia.mass > 0.0 and limbs >= 2 and LIMBS.search(root.name):
        what = f"is held by the world although it has a mass and carries {limbs} limbs"
        legged = legs(model) >= 2 and legs(model) == limbs
        yield Found(f"link '{root.name}'", what + (", which are legs" if legged else ""), None if legged else "info")
    elif model.floating and limbs == 1 and mentions(names, ARMS) >= 2 and not mentions(names, LEGS | ROTORS):
        yield Found(f"link '{root.name}'", "is free to fall although it carries one arm and nothing else")


@rule(
    "limits-missing",
    "authoring",
    "info",
    reason="without ranges, speeds and torques neither sampling, planning nor sizing knows what the robot can do",
    cure="state lower, upper, velocity and effort in the joint's limits",
)
def limits_missing(subject: Subject) -> Iterator[Found]:
    single = [body.joint for body in subject.moving if body.joint.nq == 1 and body.joint.mimic is None]
    for joint in demand(single, "no joint of one freedom moves"):
        missing = [] if not joint.limited or np.all(np.isfinite([joint.lower, joint.upper])) else ["range"]
        missing += [] if np.all(np.isfinite(joint.velocity_limit)) else ["speed"]
        missing += [] if np.all(np.isfinite(joint.effort_limit)) else ["effort"]
        if missing:
            yield Found(f"joint '{joint.name}'", f"has no limit of {', '.join(missing)}")


@rule(
    "limits-empty",
    "authoring",
    "warning",
    reason="a joint whose upper limit is not above its lower one cannot move",
    cure="state the range, or make the joint fixed",
)
def limits_empty(subject: Subject) -> Iterator[Found]:
    for joint in _ranged(subject):
        low, high = np.asarray(joint.lower), np.asarray(joint.upper)
        if np.any(low >= high):
            yield Found(f"joint '{joint.name}'", f"has an empty range, from {_text(low)} to {_text(high)}")


@rule(
    "limits-degrees",
    "authoring",
    "warning",
    reason="angles are in radians; a range of several turns is mostly a range in degrees",
    cure="divide the limits by 57.2958",
)
def limits_degrees(subject: Subject) -> Iterator[Found]:
    ranges = [
        (body.joint.name, body.joint.lower[index], body.joint.upper[index])
        for body in subject.moving
        for index in body.joint.turns
        if body.joint.nq == 1 and np.isfinite([body.joint.lower[index], body.joint.upper[index]]).all()
    ]
    for name, low, high in demand(ranges, "no turning joint states a range"):
        if max(-low, high) > 2.5 * TURN:
            yield Found(f"joint '{name}'", f"ranges from {low:g} to {high:g} rad, over two turns each way")


@rule(
    "limits-speed",
    "authoring",
    "warning",
    reason="joints of robots turn at 1 to 40 rad/s; a limit above that is mostly one in degrees per second",
    cure="divide the limit by 57.2958",
)
def limits_speed(subject: Subject) -> Iterator[Found]:
    stated = [
        (joint, limit)
        for body in subject.moving
        if (joint := body.joint.uncoupled).units == ("rad",) and np.isfinite(limit := float(joint.velocity_limit[0]))
        if joint.limited and not mentions((joint.name, body.name), SPINNING)
    ]
    for joint, limit in demand(stated, "no joint that turns within a range states a speed limit"):
        if FASTEST < limit < ROUGHLY_NONE and limit != PLACEHOLDER:
            yield Found(f"joint '{joint.name}'", f"may turn at {limit:g} rad/s, {limit / TURN:.3g} turns a second")


@rule(
    "limits-zero-effort",
    "authoring",
    "info",
    reason="a joint that may give no effort is passive: controllers and sizing must know",
    cure="state the effort limit if the joint has a motor",
)
def passive(subject: Subject) -> Iterator[Found]:
    stated = [body.joint for body in subject.moving if np.any(np.isfinite(body.joint.effort_limit))]
    for joint in demand(stated, "no joint states an effort limit"):
        if np.any(np.asarray(joint.effort_limit) == 0.0):
            yield Found(f"joint '{joint.name}'", "has an effort limit of 0")


@rule(
    "neutral-outside",
    "authoring",
    "info",
    reason="zero is where many programs start a robot",
    cure="start from robot.home(), which is within the limits, or robot.random()",
)
def neutral_outside(subject: Subject) -> Iterator[Found]:
    q, ranged = subject.robot.neutral(), _ranged(subject)
    for body in subject.model.independent:
        joint = body.joint
        if joint in ranged and (np.any(q[body.q] < joint.lower) or np.any(q[body.q] > joint.upper)):
            yield Found(f"joint '{joint.name}'", f"cannot be at 0: {_text(joint.lower)} to {_text(joint.upper)}")


def _ranged(subject: Subject) -> Sequence[Joint]:
    """The joints that state an end of their range."""
    joints = [body.joint for body in subject.moving]
    return demand([j for j in joints if np.any(np.isfinite([j.lower, j.upper]))], "no joint states a range")


def _text(x: np.ndarray) -> str:
    return " ".join(f"{value:g}" for value in np.atleast_1d(x))
