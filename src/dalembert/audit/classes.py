"""Meaning in names of links and joints, and usual numbers for classes of robots, which rules and sizing compare with.

The numbers: from a reference text on rigid-body dynamics of robots; starting points, not laws.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from dalembert.model import Model

LEGS = {"hip", "leg", "thigh", "calf", "shank", "knee", "ankle", "foot", "feet", "haa", "hfe", "kfe", "sole", "toe"}
ARMS = {"shoulder", "elbow", "wrist", "forearm", "arm", "gripper", "finger", "flange", "tool"}
ROTORS = {"rotor", "prop", "propeller", "thruster"}
SPINNING = ROTORS | {"wheel", "caster", "fan", "flywheel", "drum", "track", "pulley"}
SIDES = (("left", "right"), ("l", "r"), ("fl", "fr"), ("rl", "rr"), ("lf", "rf"), ("lh", "rh"), ("bl", "br"))


def words(name: str) -> list[str]:
    """The words of a name in lower case: "LeftHip_roll2" → left, hip, roll.

    >>> words("LF_HAA"), words("leftKnee")
    (['lf', 'haa'], ['left', 'knee'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def mirror_name(name: str) -> str | None:
    """The name of the right counterpart of something on the left; None for anything else.

    >>> mirror_name("left_knee"), mirror_name("FL_thigh"), mirror_name("LHip"), mirror_name("right_knee")
    ('right_knee', 'FR_thigh', 'RHip', None)
    """
    for left, right in SIDES:
        pattern = rf"(?<![a-zA-Z]){left}(?![a-z])" if len(left) < 3 else left
        for word, other in ((left, right), (left.upper(), right.upper()), (left.title(), right.title())):
            match = re.search(pattern.replace(left, word), name)
            if match:
                return name[: match.start()] + other + name[match.end() :]
    return None


def mirrored_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """The pairs of a left and its right counterpart among names."""
    every = list(names)
    pairs = ((name, mirror_name(name)) for name in every)
    return [(left, right) for left, right in pairs if right is not None and right in every]


def mentions(names: Iterable[str], vocabulary: set[str]) -> int:
    """How many of the names have a word of the vocabulary."""
    return sum(any(word in vocabulary for word in words(name)) for name in names)


def legs(model: Model) -> int:
    """The limbs of the base that have links or joints named after parts of legs."""
    count = 0
    for child in model.children(0):
        limb = _limb(model, child)
        count += mentions(limb, LEGS) > 0
    return count


def _limb(model: Model, index: int) -> list[str]:
    body = model.bodies[index]
    names = [body.name, body.joint.name, *(part.name for part in body.parts)]
    return names + [name for child in model.children(index) for name in _limb(model, child)]


RobotClass = Literal["drone", "legged", "cobot", "industrial"]
HEAVY = 60.0  # kg: from here on a fixed arm counts as industrial


class Range(NamedTuple):
    """From least to most."""

    low: float
    high: float

    def __contains__(self, x: object) -> bool:
        return isinstance(x, int | float) and self.low <= x <= self.high


class Gains(NamedTuple):
    """Joint-space gains of computed torque: kp [1/s²], kd [1/s]."""

    kp: float
    kd: float


GAINS = {
    "slow industrial arm": Gains(400.0, 40.0),
    "cobot": Gains(100.0, 20.0),
    "direct-drive research arm": Gains(2500.0, 100.0),
    "quadruped leg": Gains(1600.0, 50.0),
    "high-bandwidth wrist": Gains(10000.0, 200.0),
    "drone attitude": Gains(90000.0, 600.0),
}
USUAL_GAINS: dict[RobotClass, str] = {
    "drone": "drone attitude",
    "legged": "quadruped leg",
    "cobot": "cobot",
    "industrial": "slow industrial arm",
}

STEPS_BY_TARGET = {  # s, and the integrator that is usual
    "offline verification": (Range(1e-3, 4e-3), "rk4"),
    "mpc rollout": (Range(5e-3, 20e-3), "semi-implicit"),
    "contact-rich training": (Range(2e-3, 5e-3), "implicit-velocity"),
    "inner control loop": (Range(0.5e-3, 1e-3), "semi-implicit"),
    "aerial attitude": (Range(2e-3, 5e-3), "rk4"),
    "legged whole-body": (Range(0.5e-3, 1e-3), "constraint-based"),
}

CONTACTS = {  # stiffness [N/m], damping [N·s/m] of penalty contacts
    "hard": (Range(1e6, 1e8), Range(1e2, 1e3)),
    "soft": (Range(1e4, 1e5), Range(10.0, 100.0)),
}
LEAST_GROUND_FRICTION = 0.6  # of legged robots on flat ground

RESONANCE = {  # Hz, first structural mode of the joints; no number is usual for legged robots and drones
    "cobot": Range(10.0, 40.0),
    "industrial": Range(30.0, 80.0),
    "delta": Range(80.0, 120.0),
}
BANDWIDTH, CEILING = 5.0, 3.0  # resonance by bandwidth: to stay above; below the second it is excited

CORIOLIS = (  # up to this ratio of Coriolis to gravity torque: class, demand on the controller
    (0.05, "slow cobot", "gravity compensation with PD is adequate"),
    (0.25, "cobot at rated speed", "add the Coriolis term to the feedforward"),
    (1.00, "high-speed industrial arm", "full computed torque is needed"),
    (3.00, "direct-drive research arm", "Coriolis torques dominate: control in operational space"),
    (float("inf"), "swinging leg", "whole-body control is needed"),
)


def robot_class(model: Model) -> RobotClass:
    """The class of robot a model belongs to, from its base, its names and its mass."""
    names = [part.name for body in model.bodies for part in body.parts] + [body.joint.name for body in model.bodies]
    if model.floating:
        return "drone" if mentions(names, ROTORS) or (len(model.bodies) == 1 and not legs(model)) else "legged"
    mass = float(sum(body.inertia.mass for body in model.bodies))
    return "legged" if legs(model) >= 2 else "industrial" if mass > HEAVY else "cobot"


def coriolis_class(ratio: float) -> tuple[str, str]:
    """The class of a motion by its ratio of peak Coriolis to peak gravity torque, and what it asks for."""
    return next((name, advice) for most, name, advice in CORIOLIS if ratio <= most)
