"""URDF joints: kind, placement, axis, limits, dynamics, mimic, and the <dalembert> extension."""

from __future__ import annotations

import math
from typing import Any

from dalembert.errors import unknown

from ..ledger import Ledger
from ..robot import FileJoint, FileMimic
from ..xml import LARGEST, Document, children, tag_of
from .elements import ANYTHING, FURTHER_LIMITS, Element, origin, read_effects, report_unknown, single, version_of

# URDF type -> joint kind of the model, and whether it has one coordinate (so that limits and dynamics have a meaning).
KINDS = {
    "revolute": ("revolute", True),
    "continuous": ("continuous", True),
    "prismatic": ("prismatic", True),
    "fixed": ("fixed", False),
    "floating": ("free", False),
    "planar": ("planar", False),
}
RATES = {"velocity": "velocity_limit", "effort": "effort_limit"}
FURTHER = {"acceleration": "acceleration_limit", "deceleration": "deceleration_limit", "jerk": "jerk_limit"}
CHILDREN = {
    "origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller", "dalembert"
}  # fmt: skip
NOT_USED = {"calibration", "safety_controller"}
PHYSICAL = {"damping", "friction", "stiffness", "spring", "armature", "inertia", "physics", "actuator"}
PHYSICAL_DYNAMICS = {
    "D", "K", "mu_coulomb", "mu_viscous", "spring_stiffness", "spring_reference", "stiffness", "armature"
}  # fmt: skip


def read_joint(document: Document, element: Element, ledger: Ledger) -> FileJoint:
    """Read one <joint>."""
    name = document.text(element, "name")
    stated = document.text(element, "type")
    if stated not in KINDS:
        raise unknown("joint type", stated, KINDS, document.where(element))
    kind, scalar = KINDS[stated]
    report_unknown(document, element, ledger, tags=CHILDREN, attributes={"name", "type"}, physical=PHYSICAL)
    for child in children(element):
        if tag_of(child) in NOT_USED:
            ledger.count(document.where(child), f"<{tag_of(child)}> of joints", "not used: it concerns the controller")
    fields: dict[str, Any] = {}
    if kind in ("revolute", "continuous", "prismatic", "planar"):
        fields["axis"] = _axis(document, element, ledger)
    if scalar:
        fields |= _limits(document, element, kind, ledger) | _dynamics(document, element, ledger)
    else:
        _report_idle(document, element, kind, ledger)
    fields |= read_effects(document, element, kind)
    mimic = _mimic(document, element, ledger)
    if mimic is not None and not scalar:
        ledger.info(mimic.where, f"<mimic> on the {stated} joint '{name}'", "without effect")
        mimic = None
    parent, child = (_end(document, element, tag, ledger) for tag in ("parent", "child"))
    placement = origin(document, element, ledger)
    return FileJoint(name, kind, parent, child, fields, document.where(element), mimic=mimic, X_parent=placement)


def _end(document: Document, joint: Element, tag: str, ledger: Ledger) -> str:
    """The link named by <parent> or <child>."""
    element = single(document, joint, tag, ledger)
    if element is None:
        raise document.error(joint, f'has no <{tag}>; add <{tag} link="…"/>')
    report_unknown(document, element, ledger, tags=set(), attributes={"link"}, physical=set())
    return document.text(element, "link")


def _axis(document: Document, joint: Element, ledger: Ledger) -> tuple[float, float, float]:
    """The axis as a unit vector in the joint frame; (1, 0, 0) when absent, URDF's default."""
    element = single(document, joint, "axis", ledger)
    if element is None:
        ledger.info(document.where(joint), "no <axis>", "taken as (1, 0, 0), the default of URDF")
        return 1.0, 0.0, 0.0
    report_unknown(document, element, ledger, tags=set(), attributes={"xyz"}, physical={"rpy", "wxyz", "quat"})
    document.text(element, "xyz")
    x, y, z = document.triple(element, "xyz")
    length = math.hypot(x, y, z)
    where = f"{document.where(element)} of joint '{joint.get('name')}'"
    if length < 1e-9:
        raise document.error(
            element, f"axis ({x:g}, {y:g}, {z:g}) of joint '{joint.get('name')}' is zero; write a direction, e.g. 0 0 1"
        )
    if abs(length - 1.0) > 1e-3:
        ledger.warning(
            where, f"axis has length {length:g}", "normalised: positions and speeds of the joint stay in rad or m"
        )
    elif abs(length - 1.0) > 1e-9:
        ledger.info(where, f"axis has length {length:.9g}, rounded digits", "normalised")
    return x / length, y / length, z / length


def _limits(document: Document, joint: Element, kind: str, ledger: Ledger) -> dict[str, Any]:
    """<limit>: position range, effort and rates; absent ones are unlimited, and logged.

    A missing deceleration is that of acceleration.
    """
    element = single(document, joint, "limit", ledger)
    if element is None:
        if kind != "continuous":
            ledger.info(document.where(joint), f"the {kind} joint has no <limit>, which URDF demands", "unlimited")
        return {}
    where = f"{document.where(element)} of joint '{joint.get('name')}'"
    known = {"lower", "upper", *RATES, *FURTHER}
    report_unknown(document, element, ledger, tags=set(), attributes=known, physical=set())
    limits: dict[str, Any] = {}
    for attribute, field in (RATES | FURTHER).items():
        value = _limit(document, element, attribute)
        if attribute in FURTHER and element.get(attribute) is None:
            continue
        if attribute in FURTHER and version_of(document) < FURTHER_LIMITS:
            what = f"{attribute} limit, a word of URDF 1.2, in a file of an earlier version"
            ledger.warning(where, what, 'not used, as in ROS: write <robot version="1.2">')
            continue
        if value is not None and value < 0.0:
            ledger.warning(where, f"{attribute} limit is negative ({value:g})", "taken as unlimited")
        elif value is None and element.get(attribute) is None:
            ledger.info(where, f"no {attribute} limit", "unlimited")
        else:
            limits[field] = math.inf if value is None else value
    stated = [attribute for attribute in ("lower", "upper") if element.get(attribute) is not None]
    if kind == "continuous":
        if stated:
            ledger.info(where, f"a continuous joint with {' and '.join(stated)} limits", "position limits not used")
        return limits
    return limits | _range(document, joint, element, stated, ledger)


def _range(
    document: Document, joint: Element, element: Element, stated: list[str], ledger: Ledger
) -> dict[str, float | None]:
    """Lower and upper position limits; the default for a missing one is 0, from URDF 1.2 on none."""
    where = f"{document.where(element)} of joint '{joint.get('name')}'"
    if not stated:
        ledger.info(where, "no lower and upper limit; URDF's defaults 0 and 0 would lock the joint", "unlimited")
        return {}
    default = None if version_of(document) >= FURTHER_LIMITS else 0.0
    for missing in {"lower", "upper"} - set(stated):
        if default is None:
            ledger.warning(where, f"no {missing} limit, which URDF 1.2 demands", "unlimited on that side")
        else:
            ledger.info(where, f"no {missing} limit", "taken as 0, the default of URDF")
    lower, upper = (_limit(document, element, attribute, default) for attribute in ("lower", "upper"))
    if lower is not None and upper is not None and lower > upper:
        raise document.error(
            element, f"lower limit {lower:g} of joint '{joint.get('name')}' is above upper limit {upper:g}; swap them"
        )
    return {"lower": lower, "upper": upper}


def _limit(document: Document, element: Element, attribute: str, default: float | None = None) -> float | None:
    """A limit; numbers near the largest double are a way to write "none"."""
    if element.get(attribute) is None:
        return default
    value = document.number(element, attribute, largest=math.inf)
    return None if abs(value) > LARGEST else value


def _dynamics(document: Document, joint: Element, ledger: Ledger) -> dict[str, float]:
    """<dynamics>: viscous damping and Coulomb friction."""
    element = single(document, joint, "dynamics", ledger)
    if element is None:
        return {}
    known = {"damping", "friction"}
    report_unknown(document, element, ledger, tags=set(), attributes=known, physical=PHYSICAL_DYNAMICS)
    fields = {attribute: document.number(element, attribute, 0.0) for attribute in sorted(known)}
    for attribute, value in fields.items():
        if value < 0.0:
            raise document.error(
                element, f"{attribute} of joint '{joint.get('name')}' is {value:g}; it must not be negative"
            )
    return fields


def _report_idle(document: Document, joint: Element, kind: str, ledger: Ledger) -> None:
    """Limits and dynamics of joints for which URDF does not define them."""
    for child in children(joint):
        tag = tag_of(child)
        if tag == "dynamics" and kind != "fixed":
            values = [document.number(child, attribute, 0.0) for attribute in ("damping", "friction")]
            if any(values):
                ledger.warning(document.where(child), f"URDF does not define <dynamics> of a {kind} joint", "not used")
        elif tag in ("limit", "dynamics"):
            ledger.count(document.where(child), f"<{tag}> of {kind} joints", "without effect")


def _mimic(document: Document, joint: Element, ledger: Ledger) -> FileMimic | None:
    element = single(document, joint, "mimic", ledger)
    if element is None:
        return None
    known = {"joint", "multiplier", "offset"}
    report_unknown(document, element, ledger, tags=set(), attributes=known, physical=ANYTHING)
    multiplier, offset = document.number(element, "multiplier", 1.0), document.number(element, "offset", 0.0)
    return FileMimic(document.text(element, "joint"), multiplier, offset, document.where(element))
