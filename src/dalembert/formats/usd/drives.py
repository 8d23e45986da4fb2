"""Freedoms of joints, and what acts along them, in SI: drives, actuators and attributes of Newton, MuJoCo and PhysX."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import KINDS, ModelBuilder

from ..ledger import Ledger
from .source import UsdSource

FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
AXES = {"X": 0, "Y": 1, "Z": 2}


@dataclass(frozen=True)
class UsdFreedom:
    """A freedom: its name, its word in drives and states, its axis (3,) in the joint's frame, its range [rad or m]."""

    name: str
    word: str
    axis: np.ndarray
    turns: bool
    lower: float = -math.inf
    upper: float = math.inf

    def unit(self, source: UsdSource) -> float:
        """[rad or m] of one unit of the stage."""
        return math.pi / 180.0 if self.turns else source.length


def read_freedoms(source: UsdSource, prim: Any, kind: str) -> list[UsdFreedom]:
    """The freedoms of a joint: slides before hinges, each in the order X, Y, Z."""
    if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        turns = kind == "PhysicsRevoluteJoint"
        letter = source.word(prim, "physics:axis", "X")
        if letter not in AXES:
            raise source.error(prim, f"physics:axis is {letter[:20]!r}, expected X, Y or Z")
        freedom = UsdFreedom(
            "rot" if turns else "trans", "angular" if turns else "linear", np.eye(3)[AXES[letter]], turns
        )
        bounds = [
            source.number(prim, f"physics:{word}Limit", default, infinite=True)
            for word, default in (("lower", -math.inf), ("upper", math.inf))
        ]
        lower, upper = (bound * freedom.unit(source) for bound in bounds)
        lower, upper = source.exact(prim, "lower", lower), source.exact(prim, "upper", upper)
        if lower > upper:
            raise source.error(prim, f"lower limit {bounds[0]:g} is above upper limit {bounds[1]:g}; swap them")
        return [UsdFreedom(freedom.name, freedom.word, freedom.axis, turns, lower, upper)]
    if kind == "PhysicsSphericalJoint":
        return [UsdFreedom(name, name, np.eye(3)[AXES[name[-1]]], True) for name in FREEDOMS[3:]]
    if kind == "PhysicsFixedJoint":
        return []
    if kind != "PhysicsJoint":
        raise source.error(prim, f"joints of type {kind} are not known, expected one of UsdPhysics")
    _report_distance(source, prim)
    generic = [_generic(source, prim, name) for name in FREEDOMS]
    return [each for each in generic if each is not None]


def _generic(source: UsdSource, prim: Any, name: str) -> UsdFreedom | None:
    """A freedom of a joint without a type: free unless its limits lock it."""
    turns = name.startswith("rot")
    freedom = UsdFreedom(name, name, np.eye(3)[AXES[name[-1]]], turns)
    stated = any(prim.GetAttribute(f"limit:{name}:physics:{end}").HasAuthoredValue() for end in ("low", "high"))
    if f"PhysicsLimitAPI:{name}" not in source.schemas(prim):
        if not stated:
            return freedom
        source.ledger.count(
            source.where(prim), "limits without PhysicsLimitAPI", "used, although the schema is missing"
        )
    low = source.number(prim, f"limit:{name}:physics:low", -math.inf, infinite=True)
    high = source.number(prim, f"limit:{name}:physics:high", math.inf, infinite=True)
    if low > high:
        return None
    if low == high:
        if low:
            what = f"{name} is held at {low:g}, which is not 0"
            source.ledger.warning(source.where(prim), what, "held at 0: turn or move the joint's frame instead")
        return None
    lower, upper = (bound * freedom.unit(source) for bound in (low, high))
    lower, upper = source.exact(prim, f"{name}:lower", lower), source.exact(prim, f"{name}:upper", upper)
    return UsdFreedom(name, name, freedom.axis, turns, lower, upper)


def _report_distance(source: UsdSource, prim: Any) -> None:
    if "PhysicsLimitAPI:distance" in source.schemas(prim):
        source.ledger.warning(source.where(prim), "a limit of the distance of the joint's frames", "not used")


@dataclass(frozen=True)
class UsdDrive:
    """A PhysicsDriveAPI: force = stiffness (target - q) + damping (speed - v), within ±limit, all in SI."""

    stiffness: float
    damping: float
    limit: float
    target: float
    speed: float
    acceleration: bool  # a drive whose gains are per unit of inertia
    name: str = ""  # of the actuator, where it is not that of the joint
    passive: bool = False  # it only states the limit of the joint's effort


def read_drives(source: UsdSource, prim: Any, freedoms: list[UsdFreedom]) -> dict[str, UsdDrive]:
    """The drives of a joint by the names of its freedoms; those of other freedoms are logged."""
    stated = [name.partition(":")[2] for name in source.schemas(prim) if name.startswith("PhysicsDriveAPI:")]
    drives = {}
    for word in stated:
        freedom = next((each for each in freedoms if each.word == word), None)
        if (
            freedom is None
            and len(freedoms) == 1
            and word == ("rot" if freedoms[0].turns else "trans") + "XYZ"[int(np.argmax(np.abs(freedoms[0].axis)))]
        ):
            freedom = freedoms[0]
        drive = _drive(source, prim, word, freedom)
        if freedom is None:
            source.ledger.count(source.where(prim), f"drive of {word}, which the joint does not have", "without effect")
        else:
            drives[freedom.name] = drive
    return drives


def _drive(source: UsdSource, prim: Any, word: str, freedom: UsdFreedom | None) -> UsdDrive:
    turns = freedom.turns if freedom is not None else word == "angular" or word.startswith("rot")
    coordinate = math.pi / 180.0 if turns else source.length
    force = source.mass * source.length * (source.length if turns else 1.0)
    prefix, own = f"drive:{word}:physics", f"drive:{word}"
    stiffness, damping = (
        source.number(prim, f"{prefix}:{name}", 0.0) * force / coordinate for name in ("stiffness", "damping")
    )
    limit = source.number(prim, f"{prefix}:maxForce", math.inf, infinite=True) * force
    target = source.number(prim, f"{prefix}:targetPosition", 0.0) * coordinate
    speed = source.number(prim, f"{prefix}:targetVelocity", 0.0) * coordinate
    acceleration = source.word(prim, f"{prefix}:type", "force") == "acceleration"
    if stiffness < 0.0 or damping < 0.0 or limit < 0.0:
        source.ledger.warning(source.where(prim), f"drive of {word} with a negative gain or limit", "its size is used")
    stiffness, damping, limit = (
        abs(source.exact(prim, f"{own}:{name}", value))
        for name, value in (("stiffness", stiffness), ("damping", damping), ("limit", limit))
    )
    name, passive = source.word(prim, "dalembert:actuator"), source.flag(prim, "dalembert:passive", False)
    return UsdDrive(
        stiffness, damping, limit, target, speed, acceleration, name, passive and not (stiffness or damping)
    )


def add_drive(builder: ModelBuilder, joint: str, drive: UsdDrive, where: str, ledger: Ledger) -> None:
    """A position servo where the drive has stiffness, a velocity servo where it has damping alone, else a motor."""
    limits = np.array([-drive.limit, drive.limit])
    name = drive.name or joint
    if drive.passive:
        return
    if drive.acceleration:
        what = f"drive of joint '{joint}' by acceleration"
        ledger.warning(where, what, "kept by name, without effect: its force depends on the inertia")
        builder.add_actuator(name, obstacle="it commands an acceleration")
        return
    gain, bias = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    command = ""
    if drive.stiffness:
        gain, bias = [drive.stiffness, 0.0, 0.0], [drive.damping * drive.speed, -drive.stiffness, -drive.damping]
        command = f"the position that the file states is {drive.target:.9g}"
    elif drive.damping:
        gain, bias = [drive.damping, 0.0, 0.0], [0.0, 0.0, -drive.damping]
        command = f"the speed that the file states is {drive.speed:.9g}"
    if command and (drive.target if drive.stiffness else drive.speed):
        ledger.info(where, f"target of the drive of joint '{joint}'", f"its command, which you give: {command}")
    elif command:
        ledger.count(where, "drive that pulls to 0", "an actuator: it acts where commands are given (controls=…)")
    builder.add_actuator(name, joint, gain=gain, bias=bias, force_limits=limits)


OWN = (
    "armature", "damping", "friction", "slip_speed", "stribeck", "stribeck_speed", "stiffness", "rest",
    "velocity_limit", "acceleration_limit", "deceleration_limit", "jerk_limit", "effort_limit", "continuous_limit",
)  # fmt: skip
EVEN = ("lower", "upper")
ALWAYS = ("slip_speed", "stribeck_speed")
# field → attributes that state it, and the power of the coordinate's unit by which they differ from SI
WORDS = {
    "armature": (("newton:armature", 0), ("mjc:armature", 0), ("physxJoint:armature", 0)),
    "damping": (("newton:damping", 1), ("mjc:damping", 0)),
    "friction": (("newton:friction", 0), ("mjc:frictionloss", 0)),
    "stiffness": (("mjc:stiffness", 0),),
    "velocity_limit": (("newton:velocityLimit", -1), ("physxJoint:maxJointVelocity", -1)),
}


def effects(
    source: UsdSource, prim: Any, kind: str, freedoms: list[UsdFreedom], drives: Mapping[str, UsdDrive]
) -> dict[str, Any]:
    """Keyword arguments of the model's joint: limits and effects, one number for each freedom."""
    nv = KINDS[kind].nv if kind in KINDS else 0
    if not nv or not freedoms:
        return {}
    fields: dict[str, Any] = {}
    if kind not in ("ball", "free", "continuous"):
        fields["lower"] = np.array([freedom.lower for freedom in freedoms])
        fields["upper"] = np.array([freedom.upper for freedom in freedoms])
    for field, words in WORDS.items():
        values = np.array([_stated(source, prim, field, words, freedom) for freedom in freedoms])
        if field == "velocity_limit":
            values = np.where(values <= 0.0, np.inf, values)
        if np.any(values != (np.inf if field == "velocity_limit" else 0.0)):
            fields[field] = values
    if len(freedoms) == 1:
        fields |= _spring(source, prim, freedoms[0], fields)
    limits = [drives[freedom.name].limit if freedom.name in drives else math.inf for freedom in freedoms]
    if np.isfinite(limits).any():
        fields["effort_limit"] = np.array(limits)
    _actuator_limit(source, prim, freedoms, fields)
    return _own(source, prim, kind, fields)


def _stated(source: UsdSource, prim: Any, field: str, words: Any, freedom: UsdFreedom) -> float:
    """The first of the attributes that states a field, in SI."""
    default = math.inf if field == "velocity_limit" else 0.0
    for word, power in words:
        x = source.number(prim, word, -math.inf, infinite=True)
        if not x > -math.inf:
            continue
        if x < 0.0:
            source.ledger.warning(source.where(prim), f"{word} is {x:g}", "not used: it is negative")
            continue
        length = source.length
        force = source.mass * length * (length if freedom.turns else 1.0)
        unit = {
            "armature": force if freedom.turns else source.mass,
            "friction": force,
            "velocity_limit": 1.0,
        }.get(field, force if freedom.turns else source.mass)
        return x * unit * (math.pi / 180.0) ** -power if freedom.turns else x * unit * (length if power < 0 else 1.0)
    return default


def _spring(source: UsdSource, prim: Any, freedom: UsdFreedom, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Where MuJoCo's spring is relaxed."""
    rest = source.number(prim, "mjc:springref", 0.0)
    return {"rest": rest * freedom.unit(source)} if rest and "stiffness" in fields else {}


def _actuator_limit(source: UsdSource, prim: Any, freedoms: list[UsdFreedom], fields: dict[str, Any]) -> None:
    """MuJoCo's limits of the force of all actuators together, where they are the same both ways."""
    low, high = (source.number(prim, f"mjc:actuatorfrcrange:{end}", 0.0) for end in ("min", "max"))
    limited = source.word(prim, "mjc:actuatorfrclimited", "auto")
    if limited == "false" or (low == 0.0 and high == 0.0) or len(freedoms) != 1:
        return
    if low == -high:
        force = source.mass * source.length * (source.length if freedoms[0].turns else 1.0)
        fields["effort_limit"] = np.minimum(fields.get("effort_limit", np.inf), [high * force])
    else:
        source.ledger.warning(
            source.where(prim), f"actuatorfrcrange {low:g} to {high:g}", "not used: not the same both ways"
        )


def _own(source: UsdSource, prim: Any, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Fields that this package has written in double precision: those of USD count where both differ."""
    nv = KINDS[kind].nv
    for field in OWN:
        own = source.numbers(prim, f"dalembert:{field}", None, infinite=True)
        if own is None:
            continue
        expected = 1 if field in ALWAYS else KINDS[kind].nq if field == "rest" else nv
        if own.size != expected:
            raise source.error(prim, f"dalembert:{field} has {own.size} numbers, expected {expected}")
        if field in ALWAYS:
            fields[field] = float(own[0])
        elif field in fields and own.size == np.size(fields[field]):
            fields[field] = np.atleast_1d(source.exact(prim, field, np.reshape(fields[field], own.shape)))
        else:
            fields[field] = own
    return fields


DYNAMICS = ("none", "integrator", "filter", "filterexact")


def add_actuators(source: UsdSource, builder: ModelBuilder, prims: list[Any], joints: Mapping[str, str]) -> None:
    """Add actuators of the robot's joints (path → name); others are kept by name, with the reason."""
    taken = {actuator.name for actuator in builder.actuators}
    for prim in prims:
        kind = str(prim.GetTypeName())
        if kind not in ("MjcActuator", "NewtonActuator"):
            continue
        word = "mjc:target" if kind == "MjcActuator" else "newton:targets"
        targets = [str(target.GetPath()) for target in source.targets(prim, word)]
        name = str(prim.GetName())
        while name in taken:
            name += "_"
        taken.add(name)
        joint = joints.get(targets[0], "") if targets else ""
        obstacle = (
            "" if joint and builder.has_joint(joint) else f"it acts on {targets or 'nothing'}, which is no joint here"
        )
        if not obstacle and builder.freedoms(joint) != 1:
            obstacle = f"joint {joint!r} has several freedoms"
        if not obstacle and (source.length != 1.0 or source.mass != 1.0):
            obstacle = "the stage is not in m and kg"
        law, trouble = _mujoco(source, prim) if kind == "MjcActuator" else _newton(source, prim)
        obstacle = obstacle or trouble
        try:
            if not obstacle:
                builder.add_actuator(name, joint, **law)
        except DalembertError as error:
            obstacle = str(error)
        if obstacle:
            source.ledger.count(source.where(prim), f"actuator that cannot be driven: {obstacle}", "kept by name")
            builder.add_actuator(name, obstacle=obstacle)


def _mujoco(source: UsdSource, prim: Any) -> tuple[dict[str, Any], str]:
    """Gain, bias, limits and dynamics, and what is in the way."""
    gain, bias = source.word(prim, "mjc:gainType", "fixed"), source.word(prim, "mjc:biasType", "none")
    dynamics = source.word(prim, "mjc:dynType", "none").lower()
    trouble = ""
    if gain not in ("fixed", "affine") or bias not in ("none", "affine") or dynamics not in DYNAMICS:
        trouble = f"its law is {gain}, {bias}, {dynamics}"
    gains, biases, times = (source.numbers(prim, f"mjc:{word}Prm", None) for word in ("gain", "bias", "dyn"))
    gears = source.numbers(prim, "mjc:gear", None)
    law: dict[str, Any] = {
        "gear": 1.0 if gears is None else float(gears[0]),
        "gain": _three(gains, 1.0) * (1.0 if gain == "affine" else np.array([1.0, 0.0, 0.0])),
        "bias": _three(biases, 0.0) * (1.0 if bias == "affine" else 0.0),
        "dynamics": dynamics if dynamics in DYNAMICS else "none",
    }
    if dynamics in ("filter", "filterexact"):
        law["time_constant"] = 1.0 if times is None else float(times[0])
    for word, field in (("ctrl", "control_limits"), ("force", "force_limits"), ("act", "activation_limits")):
        limits = [source.number(prim, f"mjc:{word}Range:{end}", 0.0) for end in ("min", "max")]
        limited = source.word(prim, f"mjc:{word}Limited", "auto")
        if limited == "true" or (limited == "auto" and limits[0] < limits[1]):
            law[field] = np.array(limits)
    return law, trouble


def _three(x: np.ndarray | None, first: float) -> np.ndarray:
    return np.array([first, 0.0, 0.0]) if x is None else np.pad(x, (0, 3))[:3]


def _newton(source: UsdSource, prim: Any) -> tuple[dict[str, Any], str]:
    """A PD law around a commanded position."""
    if not any(schema.startswith("NewtonPDControl") for schema in source.schemas(prim)):
        return {}, "its law is not PD"
    kp, kd, effort = (source.number(prim, f"newton:{word}", 0.0) for word in ("kp", "kd", "constEffort"))
    law: dict[str, Any] = {"gain": [kp, 0.0, 0.0], "bias": [effort, -kp, -kd]}
    most = source.number(prim, "newton:maxEffort", np.inf, infinite=True)
    if np.isfinite(most):
        law["force_limits"] = [-most, most]
    return law, "its command is delayed" if source.number(prim, "newton:delaySteps", 0.0) else ""
