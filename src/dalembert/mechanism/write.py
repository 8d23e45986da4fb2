"""Mechanisms written to TOML files, which `dalembert.load` reads back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.sim.elements import Element
from dalembert.spatial import Pose, so3

from .elements import AxisForce, Controller, LineForce, NamedSpring, PointLoad
from .hydraulics import Cylinder
from .parts import COM, GROUND, ORIGIN, BodyPart, CamPart, JointPart, Relation
from .wheels import Wheel

SHORT = 6  # numbers or rows that stand on one line
CYLINDER_KEYS = ("bore", "rod", "stroke", "hose", "bulk", "damping", "speed", "closure", "extended", "preload")

if TYPE_CHECKING:
    from .definition import Mechanism


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write the file; what TOML cannot state, such as functions, is refused by name."""
    if not os.fspath(path).endswith(".mech.toml"):
        raise DalembertError(f"{os.fspath(path)}: a mechanism is saved as .mech.toml")
    write_text(path, text_of(mechanism))


def text_of(mechanism: Mechanism) -> str:
    """The file's text."""
    parts = mechanism.parts
    lines = [f"name = {_text(parts.name)}", f"gravity = {_numbers(parts.gravity)}", ""]
    for body in parts.bodies.values():
        lines += _body(body)
    for joint in parts.joints.values():
        lines += _entry("joint", _joint(joint))
    for relation in parts.relations:
        kind, stated = _relation(relation)
        lines += _entry(kind, stated)
    for element in mechanism.elements.values():
        kind, stated = _element(mechanism, element)
        lines += _entry(kind, stated)
    for each in parts.shapes:
        lines += _entry("shape", {"point": each.at.name, "kind": each.kind, **each.sizes, "name": each.name})
    for pair, settings in mechanism.contacts:
        lines += _entry("contact", {"a": pair[0], "b": pair[1], **settings})
    for sensor in mechanism.sensors.values():
        lines += _entry("sensor", {"kind": sensor.kind, "of": sensor.of, "name": sensor.name})
    return "\n".join(lines)


def _body(body: BodyPart) -> list[str]:
    points = {name: X for name, X in body.points.items() if name not in (ORIGIN, COM)}
    stated = [f"{_key(name)} = {_place(X)}" for name, X in points.items()]
    if body.name == GROUND:
        return ["[ground.points]", *stated, ""] if stated else []
    values: dict[str, Any] = {"name": body.name, "mass": body.inertia.mass, "inertia": body.inertia.about_com()}
    if np.any(body.inertia.com):
        values["com"] = body.inertia.com
    if body.pose is not None:
        values |= {"xyz": body.pose.p, "rpy": np.array(so3.to_rpy(body.pose.R))}
    values |= {key: x for key, x in (("velocity", body.velocity), ("spin", body.spin)) if x is not None}
    return [*_entry("body", values), *(["[body.points]", *stated, ""] if stated else [])]


def _joint(joint: JointPart) -> dict[str, Any]:
    stated: dict[str, Any] = {"name": joint.name, "kind": joint.kind, "a": joint.a.name, "b": joint.b.name}
    stated |= joint.shape | joint.values
    stated |= {key: x for key, x in (("start", joint.start), ("rate", joint.rate)) if x is not None}
    if joint.springs is not None:
        pairs = zip(("stiffness", "damping"), joint.springs, strict=True)
        stated |= {"hold": "springs"} | {key: x for key, x in pairs if x is not None}
    if joint.compliance is not None:
        stated["compliance"] = joint.compliance
    return stated


def _relation(relation: Relation) -> tuple[str, dict[str, Any]]:
    if isinstance(relation, CamPart):
        values = np.append(relation.lift, relation.lift[0])
        rows = np.stack([np.linspace(0.0, 2.0 * np.pi, len(values)), values], axis=1)
        return "cam", {"name": relation.name, "cam": relation.cam, "follower": relation.follower, "lift": rows}
    ends = {"name": relation.name, "carrier": relation.carrier}
    if relation.kind == "rack":
        return "rack", ends | {"pinion": relation.a, "rack": relation.b, "radius": relation.factor_a}
    sizes = [relation.factor_a, abs(relation.factor_b)]
    ends |= {"a": relation.a, "b": relation.b}
    if relation.kind == "gear":
        return "gear", ends | {"teeth": sizes, "internal": relation.factor_b < 0.0}
    return "belt", ends | {"radii": sizes, "crossed": relation.factor_b > 0.0}


def _element(mechanism: Mechanism, element: Element) -> tuple[str, dict[str, Any]]:
    name = element.label()
    if any(callable(value) for value in vars(element).values()):
        raise DalembertError(
            f"mechanism {mechanism.name!r}: {name!r} is a function, which a file cannot state: leave it out"
        )
    if isinstance(element, NamedSpring):
        stated = {"a": element.frame, "b": element.other, "stiffness": element.stiffness, "length": element.length}
        return "spring", stated | {"damping": element.damping, "name": name}
    if isinstance(element, PointLoad):
        kind = "moment" if any(element.moment) else "force"
        return kind, {"point": element.frame, kind: getattr(element, kind), "axes": element.axes, "name": name}
    if isinstance(element, Wheel):
        return "wheel", {key: getattr(element, key) for key in ("name", "radius", "axis", "normal", "level")} | {
            "point": element.frame
        }
    if isinstance(element, AxisForce):
        joints = mechanism.joints.values()
        joint = next(x.name for x in joints if (x.a.name, x.b.name) == (element.frame, element.other))
        if isinstance(element, Controller):
            values = {key: getattr(element, key) for key in ("target", "kp", "kd", "ki", "limit")}
            return "controller", {"joint": joint, "name": name} | {k: x for k, x in values.items() if x is not None}
        if element.gives:
            limits = {"stall": element.stall, "no_load": element.no_load}
            limits = {key: x for key, x in limits.items() if x is not None}
            return "motor", {"joint": joint, "effort": element.effort, "name": name} | limits
        stated = {"joint": joint, "stiffness": element.stiffness, "rest": element.rest}
        return "spring", stated | {"damping": element.damping, "name": name}
    if isinstance(element, Cylinder):
        values = {key: getattr(element, key) for key in CYLINDER_KEYS if getattr(element, key) is not None}
        return "cylinder", {"a": element.frame, "b": element.other, **values, "name": name}
    if isinstance(element, LineForce):
        return "actuator", {"a": element.frame, "b": element.other, "effort": element.effort, "name": name}
    raise DalembertError(f"mechanism {mechanism.name!r}: {name!r} has no entry in .mech.toml files: add it in code")


def _entry(kind: str, stated: Mapping[str, Any]) -> list[str]:
    return [f"[[{kind}]]", *(f"{key} = {_shown(value)}" for key, value in stated.items()), ""]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return _numbers(value)


def _numbers(value: Any) -> str:
    numbers = (np.array(value, float) + 0.0).tolist()
    if isinstance(numbers, list) and len(numbers) > SHORT:  # a table: one row a line
        return "\n".join(["[", *(f"    {row!r}," for row in numbers), "]"])
    return repr(numbers)


def _place(X: Pose) -> str:
    if np.array_equal(X.R, np.eye(3)):
        return _numbers(X.p)
    return f"{{ xyz = {_numbers(X.p)}, rpy = {_numbers(np.array(so3.to_rpy(X.R)))} }}"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _key(name: str) -> str:
    return name if name.replace("_", "a").replace("-", "a").isalnum() and name.isascii() else _text(name)
