"""Meaning in names of links and joints: left and right, legs and arms, roll, pitch and yaw."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
