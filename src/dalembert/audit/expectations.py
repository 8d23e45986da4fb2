"""Expectations of a robot: numbers of a trusted model, and the simulation, contact and controller it is meant for.

A TOML file beside the robot, written by `dalembert expect` or by hand, against which every later version is audited.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import read_toml
from dalembert.model import chain, tool_frame
from dalembert.robot import Robot

POSES = 3  # configurations beside home whose holding torques are kept
DIGITS = 6


@dataclass(frozen=True)
class ModelExpectations:
    """Sizes and names; None is not checked. tolerance: relative, of masses, reach and torques."""

    name: str | None = None
    base: str | None = None  # "fixed" or "free"
    nq: int | None = None
    nv: int | None = None
    joints: list[str] | None = None  # in order
    mass: float | None = None  # kg, of all links
    reach: float | None = None  # m, from the first joint to the tool along the stretched chain
    gravity: list[float] | None = None  # m/s²
    tolerance: float = 0.1


@dataclass(frozen=True)
class PoseExpectations:
    """A configuration by coordinate names [rad or m], and its holding torques [N·m or N] by freedom names."""

    name: str
    q: dict[str, float]
    torque: dict[str, float]


@dataclass(frozen=True)
class SimulationExpectations:
    """The step [s] and the integrator of the simulation; target: its purpose, a name of STEPS_BY_TARGET."""

    step: float = 1e-3
    integrator: str = "semi-implicit"
    target: str | None = None


@dataclass(frozen=True)
class ContactExpectations:
    """A penalty ground: stiffness [N/m], damping [N·s/m]; friction: the coefficient μ."""

    stiffness: float | None = None
    damping: float | None = None
    friction: float | None = None


@dataclass(frozen=True)
class ControllerExpectations:
    """Gains in joint space, as accelerations: kp [1/s²], kd [1/s]; rate [Hz]; resonance [Hz] of the structure."""

    kp: float | None = None
    kd: float | None = None
    rate: float | None = None
    resonance: float | None = None


@dataclass(frozen=True)
class Expectations:
    """All of the above; sections that are not in the file are None or empty."""

    model: ModelExpectations = field(default_factory=ModelExpectations)
    masses: dict[str, float] = field(default_factory=dict)  # kg, by link
    pose: list[PoseExpectations] = field(default_factory=list)
    simulation: SimulationExpectations | None = None
    contact: ContactExpectations | None = None
    controller: ControllerExpectations | None = None


def read_expectations(path: str | os.PathLike[str]) -> Expectations:
    """Read a file of expectations: [model] [masses] [[pose]] [simulation] [contact] [controller]."""
    data = read_toml(path)
    return _record(Expectations, data, str(path))


def _record(kind: type, data: Any, where: str) -> Any:
    """A dataclass from a table, every key and type checked."""
    if not isinstance(data, Mapping):
        raise DalembertError(f"{where}: expected a table, got {data!r}")
    hints = get_type_hints(kind)
    for key in data:
        if key not in hints:
            raise unknown("key", key, hints, where)
    for member in fields(kind):
        if member.name not in data and kind is PoseExpectations:
            raise DalembertError(f"{where}: has no {member.name}")
    return kind(**{key: _value(hints[key], value, f"{where}: {key}") for key, value in data.items()})


def _value(kind: Any, value: Any, where: str) -> Any:
    """A value of a type hint: a number, a text, a list or table of them, a record; or an error."""
    choices = [choice for choice in get_args(kind) if choice is not type(None)]
    if get_origin(kind) in (list, dict):
        wanted = get_origin(kind)
        if not isinstance(value, wanted):
            raise DalembertError(f"{where} is {value!r}, expected a {'list' if wanted is list else 'table'}")
        if wanted is list:
            return [_value(choices[0], item, f"{where}[{k}]") for k, item in enumerate(value)]
        return {key: _value(choices[1], item, f"{where}.{key}") for key, item in value.items()}
    if choices:  # "… | None"
        return _value(choices[0], value, where)
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        return _record(kind, value, where)
    number = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
    if kind is float and number:
        return float(value)
    if kind is int and number and isinstance(value, int):
        return value
    if kind is str and isinstance(value, str):
        return value
    expected = {float: "a number", int: "a whole number", str: "a text"}.get(kind, str(kind))
    raise DalembertError(f"{where} is {value!r}, expected {expected}")


def reach(robot: Robot) -> float:
    """The length of the chain from the first moving joint to the tool, stretched, slides fully out [m]."""
    model = robot.model
    frame = tool_frame(model)
    bodies = chain(model, frame.body)
    length = float(np.linalg.norm(frame.placement.p))
    for body in bodies[1:]:
        length += float(np.linalg.norm(body.placement.p))
    for body in bodies:
        for line in body.joint.lines:
            travel = float(np.max(np.abs([body.joint.lower[line.q], body.joint.upper[line.q]])))
            length += travel if body.joint.units[line.v] == "m" and np.isfinite(travel) else 0.0
    return length


def expectations_of(robot: Robot) -> Expectations:
    """The properties of a trusted robot, to be expected of its later versions."""
    model = robot.model
    try:
        length: float | None = round(reach(robot), DIGITS)
    except DalembertError:
        length = None
    return Expectations(
        ModelExpectations(
            name=robot.name,
            base="free" if model.floating else "fixed",
            nq=robot.nq,
            nv=robot.nv,
            joints=[joint.name for joint in robot.joints],
            mass=_rounded(sum(body.mass for body in robot.bodies)),
            reach=length,
            gravity=[float(x) for x in model.gravity],
        ),
        {part.name: _rounded(part.inertia.mass) for b in model.bodies for part in b.parts if part.inertia.mass > 0.0},
        _poses(robot),
    )


def _poses(robot: Robot) -> list[PoseExpectations]:
    if not robot.nv:
        return []
    still = robot.without("loops") if robot.model.closures else robot
    named = {"home": robot.neutral()}
    named |= {f"pose {k + 1}": q for k, q in enumerate(robot.random(np.random.default_rng(4), POSES))}
    poses = []
    for name, q in named.items():
        places = dict(zip(robot.model.coordinate_names, map(_rounded, q), strict=True))
        exact = np.array(list(places.values()))
        torque = still.gravity(still.normalize(exact))
        torque = np.where(np.abs(torque) > 1e-9 * np.max(np.abs(torque), initial=0.0), torque, 0.0)
        poses.append(
            PoseExpectations(name, places, dict(zip(robot.model.freedom_names, map(_rounded, torque), strict=True)))
        )
    return poses


def _rounded(x: Any) -> float:
    return float(f"{float(x):.{DIGITS}g}") + 0.0


def write_expectations(expectations: Expectations, title: str = "") -> str:
    """The text of a file of expectations."""
    lines = [f"# {title}"] if title else []
    lines += ["", "[model]", *_pairs(expectations.model)]
    if expectations.masses:
        lines += ["", "[masses]  # kg", *(f"{_key(name)} = {mass!r}" for name, mass in expectations.masses.items())]
    for pose in expectations.pose:
        lines += ["", "[[pose]]  # holding torques [N·m or N] at q [rad or m]", *_pairs(pose)]
    for section in ("simulation", "contact", "controller"):
        if (part := getattr(expectations, section)) is not None:
            lines += ["", f"[{section}]", *_pairs(part)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _pairs(record: Any) -> list[str]:
    values = {member.name: getattr(record, member.name) for member in fields(record)}
    return [f"{name} = {_text(value)}" for name, value in values.items() if value is not None]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_text(item)}" for name, item in value.items()) + " }"
    return repr(value)


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else _quoted(name)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
