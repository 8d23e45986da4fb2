"""The <dalembert> elements of a URDF file: properties of the robot and its joints that URDF cannot express."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import unknown
from dalembert.model import KINDS
from dalembert.model.joints.joint import LIMITS
from dalembert.spatial import Pose

from ..robot import BASES
from ..xml import LARGEST, Document
from .elements import Element, extension

SPEEDS = ("slip_speed", "stribeck_speed")  # one for all freedoms, above 0
SCALAR = (  # of a joint with one coordinate; URDF has the others
    "armature",
    *SPEEDS,
    "stribeck",
    "stiffness",
    "rest",
    "continuous_limit",
)
MANY = (*SCALAR, "damping", "friction", "lower", "upper", *LIMITS)  # of planar and floating
ROBOT = {"base", "gravity", "xyz", "rpy", "held_by", *MANY}


@dataclass(frozen=True)
class RobotExtension:
    """<dalembert base gravity xyz rpy held_by …/> of the robot: its base, where that is in the world, and gravity.

    held_by: the fixed joint that says where, on a link `world` which is there for other readers; instead of xyz, rpy.
    """

    base: str = "fixed"
    placement: Pose = field(default_factory=Pose.identity)
    gravity: tuple[float, float, float] | None = None
    fields: dict[str, Any] = field(default_factory=dict)  # of the free joint
    held_by: str | None = None


def read_stated(document: Document, element: Element | None) -> RobotExtension:
    """The attributes of <dalembert> in <robot>, which concern the whole robot."""
    if element is None:
        return RobotExtension()
    base = str(element.get("base", "fixed"))
    if base not in BASES:
        raise unknown("base", base, BASES, document.where(element))
    fields = _many(document, element, base)
    if fields and base != "free":
        raise document.error(element, f'{next(iter(fields))} has no meaning without base="free"; remove it')
    gravity = document.triple(element, "gravity") if element.get("gravity") is not None else None
    placement = Pose.from_xyz_rpy(document.triple(element, "xyz"), document.triple(element, "rpy"))
    held_by = element.get("held_by")
    if held_by is not None and (element.get("xyz") is not None or element.get("rpy") is not None):
        raise document.error(element, "xyz and rpy beside held_by, whose joint says the same; remove one of them")
    return RobotExtension(base, placement, gravity, fields, held_by)


def read_effects(document: Document, joint: Element, kind: str) -> dict[str, Any]:
    """<dalembert armature slip_speed stiffness rest …/>: joint physics that plain URDF cannot express."""
    element = extension(document, joint, set(SCALAR if KINDS[kind].nv == 1 else MANY))
    if element is None:
        return {}
    name = joint.get("name")
    if kind == "fixed":
        raise document.error(element, f"no meaning on the fixed joint '{name}'; for joints that move only")
    if KINDS[kind].nv > 1:
        return _many(document, element, kind)
    fields = {str(attribute): document.number(element, str(attribute)) for attribute in element.attrib}
    for attribute, value in fields.items():
        if (value < 0.0 and attribute != "rest") or (value == 0.0 and attribute in SPEEDS):
            raise document.error(element, f"{attribute} of joint '{name}' is {value:g}; it must be positive")
    return fields


def _many(document: Document, element: Element, kind: str) -> dict[str, Any]:
    """Effects of a joint with several coordinates: one number for each, or one for all."""
    fields: dict[str, Any] = {}
    for attribute in (str(key) for key in element.attrib if key in MANY):
        size = KINDS[kind].nq if attribute in ("rest", "lower", "upper") else KINDS[kind].nv
        count = 1 if attribute in SPEEDS or len(document.text(element, attribute).split()) == 1 else size
        values = np.array(document.numbers(element, attribute, count, largest=math.inf))
        values = np.where(np.abs(values) > LARGEST, np.copysign(np.inf, values), values)
        fields[attribute] = values[0] if count == 1 else values
    return fields
