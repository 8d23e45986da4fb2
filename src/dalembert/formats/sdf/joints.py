"""SDF joints: kind, ends, axes as directions in the world, limits, dynamics, screws, mimics and gearboxes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import unknown
from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose

from ..ledger import Ledger
from ..robot import FileJoint, FileMimic
from ..tree import TreeStep
from ..xml import children, tag_of
from .scope import MODEL_FRAME, SdfScope, end
from .source import Element, SdfFile

# SDF type -> joint kind of the model, and how many axes it has.
KINDS = {
    "revolute": ("revolute", 1),
    "continuous": ("continuous", 1),
    "prismatic": ("prismatic", 1),
    "screw": ("screw", 1),
    "universal": ("universal", 2),
    "revolute2": ("universal", 2),
    "ball": ("ball", 0),
    "fixed": ("fixed", 0),
    "gearbox": ("gearbox", 2),
}
AXES = ("axis", "axis2")
KNOWN = {
    "parent", "child", "pose", "axis", "axis2", "physics", "thread_pitch", "screw_thread_pitch", "gearbox_ratio",
    "gearbox_reference_body",
}  # fmt: skip
OWNED = {
    "thread_pitch": "screw", "screw_thread_pitch": "screw", "gearbox_ratio": "gearbox",
    "gearbox_reference_body": "gearbox",
}  # fmt: skip
ENGINE = "not used: it concerns the simulator"
ZERO_AXIS = 1e-9


def read_joint(scope: SdfScope, short_name: str, X_WS: Pose) -> FileJoint:
    """Read one <joint> of a scope that lies at X_WS in the world."""
    source, element = scope.source, scope.joints[short_name].element
    name, stated = scope.prefix + short_name, source.document.text(element, "type").strip()
    if stated not in KINDS:
        raise unknown("joint type", stated, KINDS, source.where(element))
    kind, count = KINDS[stated]
    source.report(element, tags=KNOWN, attributes={"name", "type"}, idle={"sensor"}, why="not used: it is a sensor")
    where = source.where(element)
    parent, child = (scope.link(end(source, element, tag), where) for tag in ("parent", "child"))
    if parent == child:
        raise source.error(element, f"joins '{child}' to itself; parent and child must be two links")
    if child == WORLD:
        raise source.error(element, "the child of a joint cannot be the world; swap <parent> and <child>")
    X = X_WS @ scope.joint_pose(short_name, where)
    stated_axes = [source.child(element, tag) for tag in AXES]
    axes = [_axis(scope, element, X_WS, X, axis, tag) for axis, tag in zip(stated_axes[:count], AXES, strict=False)]
    _report_idle(source, stated_axes, stated, count)
    for tag, owner in OWNED.items():
        if kind != owner and (idle := source.child(element, tag)) is not None:
            source.ledger.count(source.where(idle), f"<{tag}> of {stated} joints", "without effect")
    fields = _fields(source, kind, stated_axes[:count])
    mimic = _mimic(scope, stated_axes[0]) if kind in ("revolute", "continuous", "prismatic", "screw") else None
    if kind == "screw":
        fields["pitch"] = _pitch(source, element)
    gear = _gear(scope, element) if kind == "gearbox" else None
    directions = np.array(axes).reshape(-1, 3)
    return FileJoint(name, kind, parent, child, fields, where, X, directions, mimic, _loop(source, element), gear)


def _axis(scope: SdfScope, joint: Element, X_WS: Pose, X_WJ: Pose, axis: Element | None, tag: str) -> np.ndarray:
    """An axis as a unit vector in the world, in the layout of the file."""
    source = scope.source
    xyz = None if axis is None else source.child(axis, "xyz")
    if axis is None:
        raise source.error(joint, f"has no <{tag}>; add <{tag}><xyz>0 0 1</xyz></{tag}>")
    if xyz is None:
        source.ledger.info(source.where(axis), f"<{tag}> has no <xyz>", "taken as (0, 0, 1), the default of SDF")
        direction = np.array([0.0, 0.0, 1.0])
    else:
        source.report(xyz, tags=set(), attributes={"expressed_in"})
        direction = source.vector(xyz, 3)
    known = {"xyz", "limit", "dynamics", "mimic", "use_parent_model_frame"}
    why = "not used: a model has no initial position; state it in q"
    source.report(axis, tags=known, attributes=set(), idle={"initial_position"}, why=why)
    length = float(np.linalg.norm(direction))
    if length < ZERO_AXIS:
        raise source.error(axis if xyz is None else xyz, f"axis of joint '{joint.get('name')}' is zero; write 0 0 1")
    if abs(length - 1.0) > 1e-3:
        action = "normalised: positions and speeds of the joint stay in rad or m"
        source.ledger.warning(source.where(axis), f"axis has length {length:g}", action)
    return _expressed_in(scope, X_WS, X_WJ, axis, xyz).R @ (direction / length)


def _expressed_in(scope: SdfScope, X_WS: Pose, X_WJ: Pose, axis: Element, xyz: Element | None) -> Pose:
    """The frame in whose axes <xyz> is written: the joint's; in SDF 1.4 the model's; or the one that is stated."""
    source = scope.source
    stated = (xyz.get("expressed_in") or "").strip() if xyz is not None else ""
    if stated:
        return X_WS if stated == MODEL_FRAME else X_WS @ scope.pose(stated, source.where(axis))
    if source.version >= (1, 7):
        if source.child(axis, "use_parent_model_frame") is not None and source.flag(axis, "use_parent_model_frame"):
            what = "<use_parent_model_frame>, which SDF 1.7 and later do not have"
            source.ledger.warning(source.where(axis), what, f'not used: write <xyz expressed_in="{MODEL_FRAME}">')
        return X_WJ
    return X_WS if source.version == (1, 4) or source.flag(axis, "use_parent_model_frame") else X_WJ


def _fields(source: SdfFile, kind: str, axes: list[Element | None]) -> dict[str, Any]:
    """Limits and dynamics, one number for each axis."""
    rows = [_effects(source, kind, axis) for axis in axes if axis is not None]
    if kind == "gearbox" or not rows:
        return {}
    keys = [key for key in rows[0] if any(row[key] != DEFAULTS[key] for row in rows)]
    return {key: rows[0][key] if len(rows) == 1 else [row[key] for row in rows] for key in keys}


DEFAULTS = {
    "damping": 0.0, "friction": 0.0, "stiffness": 0.0, "rest": 0.0, "lower": -math.inf, "upper": math.inf,
    "effort_limit": math.inf, "velocity_limit": math.inf,
}  # fmt: skip


def _effects(source: SdfFile, kind: str, axis: Element) -> dict[str, float]:
    row = dict(DEFAULTS)
    dynamics = source.child(axis, "dynamics")
    if dynamics is not None:
        words = {
            "damping": "damping",
            "friction": "friction",
            "stiffness": "spring_stiffness",
            "rest": "spring_reference",
        }
        source.report(dynamics, tags=set(words.values()), attributes=set())
        for key, word in words.items():
            row[key] = source.number(dynamics, word, 0.0)
            if row[key] < 0.0 and key != "rest":
                raise source.error(dynamics, f"<{word}> is {row[key]:g}; it must not be negative")
    limit = source.child(axis, "limit")
    if limit is not None:
        known, stops = {"lower", "upper", "effort", "velocity"}, {"stiffness", "dissipation"}
        source.report(limit, tags=known, attributes=set(), idle=stops, why="not used: stops of joints are not modelled")
        row |= _range(source, limit, kind)
        for word in ("effort", "velocity"):
            value = source.limit(limit, word)
            row[f"{word}_limit"] = math.inf if value is None or value < 0.0 else value  # negative means none in SDF
    return row


def _range(source: SdfFile, limit: Element, kind: str) -> dict[str, float]:
    lower, upper = source.limit(limit, "lower"), source.limit(limit, "upper")
    if kind == "continuous" and (lower is not None or upper is not None):
        source.ledger.info(source.where(limit), "a continuous joint with limits", "position limits not used")
        return {}
    if lower is not None and upper is not None and lower > upper:
        raise source.error(limit, f"lower limit {lower:g} is above upper limit {upper:g}; swap them")
    return {"lower": -math.inf if lower is None else lower, "upper": math.inf if upper is None else upper}


def _report_idle(source: SdfFile, axes: list[Element | None], stated: str, count: int) -> None:
    """Axes that the type of the joint does not use."""
    for axis in axes[count:]:
        if axis is None:
            continue
        dynamics = source.child(axis, "dynamics")
        forces = ("damping", "friction", "spring_stiffness")
        if stated != "fixed" and dynamics is not None and any(source.number(dynamics, tag, 0.0) for tag in forces):
            what = f"SDF does not define <dynamics> in <{tag_of(axis)}> of a {stated} joint"
            source.ledger.warning(source.where(dynamics), what, "not used")
        else:
            source.ledger.count(source.where(axis), f"<{tag_of(axis)}> of {stated} joints", "without effect")
    for axis in axes:
        mimic = None if axis is None else source.child(axis, "mimic")
        if mimic is not None and (count != 1 or axis is not axes[0]):
            source.ledger.warning(source.where(mimic), f"<mimic> on a {stated} joint", "independent")


def _pitch(source: SdfFile, joint: Element) -> float:
    """Advance along the axis [m/rad].

    <screw_thread_pitch> is m per turn of a right-handed thread, the older <thread_pitch> rad/m of a left-handed one.
    """
    lead = source.child(joint, "screw_thread_pitch")
    if lead is not None:
        if source.child(joint, "thread_pitch") is not None:
            source.ledger.info(source.where(lead), "<thread_pitch> beside <screw_thread_pitch>", "the latter is used")
        return source.number(joint, "screw_thread_pitch", 1.0) / (2.0 * math.pi)
    element = source.child(joint, "thread_pitch")
    if element is None:
        what = "neither <screw_thread_pitch> nor <thread_pitch>"
        source.ledger.warning(source.where(joint), what, "thread_pitch = 1, the default of SDF: -1 m per rad; state it")
    turns = source.number(joint, "thread_pitch", 1.0)
    if turns == 0.0 and element is not None:
        raise source.error(element, "is 0 rad/m, which no screw has; use a prismatic joint, or state m per turn")
    source.ledger.info(
        source.where(joint if element is None else element),
        f"<thread_pitch> {turns:g}, which means rad/m with a left-handed thread",
        f"advances {-2.0 * math.pi / turns:.6g} m per turn; <screw_thread_pitch> is unambiguous",
    )
    return -1.0 / turns


def _gear(scope: SdfScope, joint: Element) -> tuple[str, float]:
    source = scope.source
    name = source.word(joint, "gearbox_reference_body")
    if name is None:
        raise source.error(joint, "has no <gearbox_reference_body>; name the link both shafts turn in")
    if source.child(joint, "gearbox_ratio") is None:
        source.ledger.info(source.where(joint), "no <gearbox_ratio>", "taken as 1, the default of SDF")
    return scope.link(name, source.where(joint)), source.number(joint, "gearbox_ratio", 1.0)


def _mimic(scope: SdfScope, axis: Element | None) -> FileMimic | None:
    """<mimic joint axis> with multiplier, offset, reference: q = multiplier · (q(leader) - reference) + offset."""
    source = scope.source
    element = None if axis is None else source.child(axis, "mimic")
    if element is None:
        return None
    source.report(element, tags={"multiplier", "offset", "reference"}, attributes={"joint", "axis"})
    leader = source.document.text(element, "joint").strip()
    if (element.get("axis") or "axis").strip() != "axis":
        source.ledger.warning(source.where(element), f"<mimic> of the second axis of '{leader}'", "independent")
        return None
    multiplier, offset, reference = (
        source.number(element, tag, default)
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    return FileMimic(scope.prefix + leader, multiplier, offset - multiplier * reference, source.where(element))


def _loop(source: SdfFile, joint: Element) -> bool:
    """Whether <physics> says that this joint closes a loop; all else in it is for physics engines."""
    physics = source.child(joint, "physics")
    if physics is None:
        return False
    source.ledger.count(source.where(physics), "<physics> of joints", ENGINE)
    return any(source.flag(engine, "must_be_loop_joint") for engine in children(physics) if tag_of(engine) == "simbody")


HINGES = ("revolute", "continuous")
PARALLEL = 1e-3  # sine of the angle by which the axis of a gearbox may miss that of the hinge: files round to 4 digits


def geared(
    gears: Iterable[FileJoint], steps: list[TreeStep], groups: Mapping[str, str], ledger: Ledger
) -> list[TreeStep]:
    """The steps with a mimic for each gearbox: θ2 = -ratio · θ1, angles of child and parent in the reference body."""
    joints = {step.joint.name: step.joint for step in steps}
    for gear in gears:
        reference, ratio = gear.gear or ("", 0.0)
        shafts = [
            _shaft(joints.values(), groups, reference, link, axis)
            for link, axis in zip((gear.parent, gear.child), gear.axes, strict=True)
        ]
        what = f"gearbox '{gear.name}' with ratio {ratio:g} in '{reference}'"
        if shafts[0] is None or shafts[1] is None or ratio == 0.0:
            cure = "not used: it needs a ratio other than 0 and a hinge along each axis from the reference body"
            ledger.warning(gear.where, what, cure)
            continue
        (driver, sign1), (driven, sign2) = shafts[0], shafts[1]
        law = -ratio * sign1 * sign2
        if driven.mimic is not None:
            driver, driven, law = driven, driver, 1.0 / law
        if driven.mimic is not None:
            ledger.warning(gear.where, what, "not used: both of its hinges already follow other joints")
            continue
        joints[driven.name] = replace(driven, mimic=FileMimic(driver.name, law, 0.0, gear.where))
        action = f"kept as a mimic: q('{driven.name}') = {law:g}·q('{driver.name}')"
        ledger.info(gear.where, what, action)
    return [replace(step, joint=joints[step.joint.name]) for step in steps]


def _shaft(
    joints: Iterable[FileJoint], groups: Mapping[str, str], reference: str, link: str, axis: np.ndarray
) -> tuple[FileJoint, float] | None:
    """The hinge between the reference body and a link along that axis, and the sign of its angle about the axis."""
    ends = groups[reference], groups[link]
    for joint in joints:
        if joint.kind not in HINGES or np.linalg.norm(np.cross(axis, joint.axes[0])) > PARALLEL:
            continue
        sign = float(np.sign(axis @ joint.axes[0]))
        if (groups[joint.parent], groups[joint.child]) == ends:
            return joint, sign
        if (groups[joint.child], groups[joint.parent]) == ends:
            return joint, -sign
    return None
