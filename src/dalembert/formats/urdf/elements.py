"""Shared by all URDF elements: single children, <origin>, unknown tags or attributes, and our own <dalembert>."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from lxml import etree

from dalembert.errors import unknown
from dalembert.model import KINDS
from dalembert.model.joints.joint import LIMITS
from dalembert.spatial import Pose, so3

from ..diagnosis import report_angles
from ..ledger import Ledger
from ..robot import BASES
from ..xml import LARGEST, Document, children, meant_by, tag_of

Element: TypeAlias = etree._Element


class _Anything:
    """Contains every name: nothing is harmless."""

    def __contains__(self, name: object) -> bool:
        return True


ANYTHING = _Anything()
FIRST, NEWEST = (1, 0), (1, 2)  # versions of URDF that are read
QUATERNIONS, CAPSULES, FURTHER_LIMITS = (1, 1), (1, 1), (1, 2)  # versions that brought them
VERSION = re.compile(r"\s*1\.(\d{1,3})\s*")
HARMLESS = {"name", "visual", "collision", "material", "calibration", "safety_controller", "scale", "filename"}


def single(document: Document, parent: Element, tag: str, ledger: Ledger) -> Element | None:
    """The first child with this tag, or None; further ones are logged, since only one can apply."""
    matches = [child for child in children(parent) if tag_of(child) == tag]
    for extra in matches[1:]:
        ledger.warning(document.where(extra), f"a second <{tag}> in <{tag_of(parent)}>", "the first one is used")
    return matches[0] if matches else None


def version_of(document: Document) -> tuple[int, int]:
    """The version of URDF that <robot version="x.y"> states; 1.0 where it states none, or one that ROS refuses."""
    match = VERSION.fullmatch(document.root.get("version", ""))
    return FIRST if match is None else (1, int(match[1]))


def check_version(document: Document, ledger: Ledger) -> None:
    """Log a version that is not one of URDF; raise at a later major version."""
    stated = document.root.get("version")
    if stated is None:
        return
    where, what = document.where(document.root), f'version="{stated[:20]}"'
    if VERSION.fullmatch(stated) is None:
        major = re.match(r"\s*(\d+)(\.|\s*\Z)", stated)
        if major is not None and major[1].lstrip("0") not in ("", "1"):
            raise document.error(document.root, f'{what} is not read yet, expected "1.0" to "1.2"; export it as 1.2')
        ledger.warning(where, f"{what} is not a version of URDF such as 1.2; ROS refuses the file", "taken as 1.0")
    elif version_of(document) > NEWEST:
        ledger.warning(where, f"{what} is newer than 1.2, the last that is read", "words that came later are not used")


def origin(document: Document, parent: Element, ledger: Ledger) -> Pose:
    """The <origin xyz rpy> of an element, or <origin xyz quat_xyzw>: its pose in its parent's frame, or identity."""
    element = single(document, parent, "origin", ledger)
    if element is None:
        return Pose.identity()
    cure = "not used: state the pose by xyz and rpy"
    known = {"xyz", "rpy"} | ({"quat_xyzw"} & set(map(str, element.attrib)))
    report_unknown(document, element, ledger, tags=set(), attributes=known, physical=ANYTHING, cure=cure)
    xyz, rpy = document.triple(element, "xyz"), document.triple(element, "rpy")
    if (R := _rotation(document, element, ledger)) is not None:
        return Pose(R, np.array(xyz))
    report_angles(ledger, document.where(element), rpy)
    return Pose.from_xyz_rpy(xyz, rpy) if any(rpy) else Pose(np.eye(3), np.array(xyz))


def _rotation(document: Document, origin: Element, ledger: Ledger) -> np.ndarray | None:
    """The rotation (3, 3) that `quat_xyzw` states, a word of URDF 1.1; None without it."""
    if origin.get("quat_xyzw") is None:
        return None
    where = document.where(origin)
    if version_of(document) < QUATERNIONS:
        what = "quat_xyzw, a word of URDF 1.1, in a file of version 1.0"
        ledger.warning(where, what, 'not used, as in ROS: write <robot version="1.1">, or state rpy')
        return None
    if origin.get("rpy") is not None:
        raise document.error(origin, "rpy and quat_xyzw both state the rotation; remove one of them")
    x, y, z, w = document.numbers(origin, "quat_xyzw", 4)
    length = math.hypot(x, y, z, w)
    if length < 1e-9:
        raise document.error(origin, "quat_xyzw has length 0; write a unit quaternion, 0 0 0 1 for no rotation")
    if abs(length - 1.0) > 1e-3:
        ledger.warning(where, f"quat_xyzw has length {length:g}, expected 1", "normalised")
    return so3.from_quaternion(np.array([w, x, y, z]) / length)


def report_unknown(
    document: Document,
    element: Element,
    ledger: Ledger,
    *,
    tags: Set[str],
    attributes: Set[str],
    physical: Container[str],
    cure: str = "not used",
) -> None:
    """Log children and attributes outside URDF; a warning where that may change the dynamics.

    Those are the ones named in `physical`, with the `cure`, and misspellings of names that the element lacks.
    """
    here = tag_of(element)

    def report(where: str, what: str, name: str, missing: Set[str], quoted: str) -> None:
        if meant := meant_by(name, missing - HARMLESS):
            ledger.warning(where, what, f"not used: did you mean {quoted.format(meant)}?")
        elif name in physical:
            ledger.warning(where, f"{what} and may carry physics", cure)
        else:
            ledger.count(where, what, "passed over")

    present = {tag_of(child) for child in children(element)}
    for child in children(element):
        tag = tag_of(child)
        if tag not in tags:
            report(document.where(child), f"<{tag}> in <{here}> is not URDF", tag, tags - present, "<{}>")
    names = {str(key).rpartition("}")[2]: None for key in element.attrib}
    for name in names:
        if name not in attributes:
            what = f"attribute '{name}' of <{here}> is not URDF"
            report(document.where(element), what, name, attributes - names.keys(), "'{}'")


def extension(
    document: Document, parent: Element, attributes: Set[str], tags: Set[str] = frozenset()
) -> Element | None:
    """The <dalembert> element of a joint or robot. It is ours, so anything unexpected in it is an error."""
    matches = [child for child in children(parent) if tag_of(child) == "dalembert"]
    if len(matches) > 1:
        raise document.error(matches[1], f"a second <dalembert> in <{tag_of(parent)}>; put all attributes in one")
    for element in matches:
        for child in children(element):
            if not tags:
                raise document.error(child, "<dalembert> has attributes only; remove its children")
            if tag_of(child) not in tags:
                raise unknown("element", tag_of(child), sorted(tags), document.where(child))
        refuse_unknown(document, element, attributes)
    return matches[0] if matches else None


def refuse_unknown(document: Document, element: Element, attributes: Set[str]) -> None:
    """Raise at the first attribute of <dalembert> that has no meaning."""
    for key in element.attrib:
        if key not in attributes:
            raise unknown("attribute", str(key), sorted(attributes), document.where(element))


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
