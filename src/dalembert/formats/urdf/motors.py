"""Which joints have motors, by <transmission> and by <command_interface> in <ros2_control>."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from dalembert.errors import LISTED

from ..ledger import Ledger
from ..robot import FileJoint
from ..xml import Document, children, tag_of
from .elements import Element


def with_motors(document: Document, joints: list[FileJoint], ledger: Ledger) -> list[FileJoint]:
    """The joints, each with or without a motor where the file states any.

    A joint that is not named there has none, unless its range and its effort limit are stated, as only motors need it:
    files state the motors of an arm, but not those of its gripper, or of the robot that carries it. The motor of a
    joint that follows another drives that other one.
    """
    leaders = {joint.name: joint.mimic.leader for joint in joints if joint.mimic is not None}
    named = {_followed(name, leaders): element for name, element in _named(document)}
    moving = {joint.name: joint for joint in joints if joint.kind != "fixed" and joint.mimic is None}
    driven, known = [name for name in named if name in moving], {joint.name for joint in joints}
    for name, element in named.items():
        if name not in known:
            ledger.warning(document.where(element), f"a motor for '{name}', which is no joint of the robot", "not used")
    if not driven:
        return joints
    for name in driven:
        if moving[name].fields.get("effort_limit") == 0.0:
            where, what = document.where(named[name]), f"a motor for joint '{name}', whose effort limit is 0"
            ledger.warning(where, what, "taken as passive: state the limit of the motor")
    assumed = [name for name, joint in moving.items() if name not in named and _is_limited(joint)]
    passive = [name for name in moving if name not in named and name not in assumed]
    where, count = document.where(named[driven[0]]), f"motors for {len(driven)} of {len(moving)} joints that move"
    ledger.info(where, count, f"passive: {_listed(passive)}" if passive else "used")
    if assumed:
        what = f"no motor is stated for {_listed(assumed)}, but a range and an effort limit"
        ledger.warning(where, what, "taken as motorised: see robot.motors; edit().set_joint(…, motor=False) changes it")
    fields = {name: {"motor": name not in passive} for name in moving}
    return [replace(joint, fields=joint.fields | fields.get(joint.name, {})) for joint in joints]


def _followed(name: str, leaders: Mapping[str, str]) -> str:
    """The joint that a joint follows in the end, or itself."""
    seen = {name}
    while name in leaders and leaders[name] not in seen:
        name = leaders[name]
        seen.add(name)
    return name


def _is_limited(joint: FileJoint) -> bool:
    """Whether the range and the effort limit of a joint are stated."""
    effort = joint.fields.get("effort_limit")
    return joint.fields.get("upper") is not None and effort is not None and 0.0 < effort < math.inf


def _listed(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (" …" if len(names) > LISTED else "")


def _named(document: Document) -> Iterator[tuple[str, Element]]:
    """The names of joints with a motor, and where each is stated."""
    for section in children(document.root):
        if tag_of(section) == "transmission":
            for element in section.iter("{*}*"):
                tag = tag_of(element).lower()
                if tag.endswith("joint") and not tag.startswith("passive") and (name := element.get("name")):
                    yield name.strip(), element
        elif tag_of(section) == "ros2_control":
            for element in children(section):
                commanded = any(tag_of(child) == "command_interface" for child in children(element))
                if tag_of(element) == "joint" and commanded and (name := element.get("name")):
                    yield name.strip(), element
