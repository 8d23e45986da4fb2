"""Mechanisms as TOML files (.mech.toml): every entry is a call of `Mechanism`, and every error has its line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.formats.dh.toml import TomlTable, parse_toml
from dalembert.sim.elements import Element
from dalembert.spatial import Pose, so3

from .definition import Mechanism
from .drawing import VALUES
from .elements import AxisForce, Controller, LineForce, NamedSpring, PointLoad
from .hydraulics import Cylinder
from .parts import COM, GROUND, ORIGIN, BodyPart, CamPart, JointPart, Relation
from .wheels import Wheel

BODY_KEYS = {"name", "mass", "inertia", "com", "points", "xyz", "rpy", "angle", "velocity", "spin"}
JOINT_KEYS = {"name", "kind", "a", "b", "axis", "axis2", "pitch", "length", "start", "rate", "stiffness",
              "damping", "hold", "compliance", *VALUES}  # fmt: skip
TOUCH = tuple(field.name for field in fields(Contact) if field.name not in ("pairs", "terrain"))
ENTRIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # entry → its positional and its other keys
    "gear": (("a", "b"), ("teeth", "carrier", "internal", "name")),
    "belt": (("a", "b"), ("radii", "carrier", "crossed", "name")),
    "rack": (("pinion", "rack"), ("radius", "carrier", "name")),
    "cam": (("cam", "follower"), ("lift", "name")),
    "damper": (("a",), ("b", "damping", "name")),
    "force": (("point", "force"), ("axes", "name")),
    "moment": (("point", "moment"), ("axes", "name")),
    "actuator": (("a", "b", "effort"), ("name",)),
    "cylinder": (
        ("a", "b"),
        ("bore", "rod", "stroke", "hose", "bulk", "damping", "speed", "closure", "extended", "preload", "name"),
    ),
    "motor": (("joint", "effort"), ("stall", "no_load", "name")),
    "controller": (("joint", "target"), ("kp", "kd", "ki", "limit", "name")),
    "wheel": (("point", "radius"), ("axis", "normal", "level", "name")),
    "shape": (("point", "kind"), ("radius", "length", "size", "name")),
    "contact": (("a", "b"), TOUCH),
    "sensor": (("kind", "of"), ("name",)),
}
TOP = {"name", "gravity", "ground", "body", "joint", "spring", *ENTRIES}


def read(source: str | os.PathLike[str]) -> Mechanism:
    """The mechanism of a .mech.toml file."""
    file, _ = parse_toml(source)
    file.check_keys(TOP)
    gravity = _value(file, "gravity") if "gravity" in file else (0.0, 0.0, -9.81)
    mechanism = _stated(file, "name", Mechanism, file.text("name"), gravity)
    ground = file.table("ground")
    if ground is not None:
        ground.check_keys({"points"})
        _points(mechanism, "ground", ground)
    for body in file.tables("body"):
        _read_body(mechanism, body)
    for joint in file.tables("joint"):
        joint.check_keys(JOINT_KEYS)
        ends = [joint.text(key) for key in ("kind", "a", "b")]
        stated = {key: _value(joint, key) for key in joint.content if key not in ("kind", "a", "b")}
        _stated(joint, "", mechanism.joint, *ends, **stated)
    for kind, (positional, keys) in ENTRIES.items():
        for entry in file.tables(kind):
            entry.check_keys({*positional, *keys})
            first = [_needed(entry, key) for key in positional]
            more = {key: _value(entry, key) for key in keys if key in entry}
            _stated(entry, "", getattr(mechanism, kind), *first, **more)
    for entry in file.tables("spring"):
        entry.check_keys({"a", "b", "joint", "stiffness", "length", "rest", "damping", "name"})
        first = [_needed(entry, "joint")] if "joint" in entry else [_needed(entry, "a"), _needed(entry, "b")]
        more = {key: _value(entry, key) for key in ("stiffness", "length", "rest", "damping", "name") if key in entry}
        _stated(entry, "", mechanism.spring, *first, **more)
    return mechanism


def _read_body(mechanism: Mechanism, table: TomlTable) -> None:
    table.check_keys(BODY_KEYS)
    stated = {key: _value(table, key) for key in BODY_KEYS - {"name", "mass", "points"} if key in table}
    name, mass = table.text("name"), table.number("mass")
    _stated(table, "", mechanism.body, name, mass, **stated)
    _points(mechanism, name, table)


def _points(mechanism: Mechanism, body: str, table: TomlTable) -> None:
    points = table.table("points")
    for name in points.content if points is not None else ():
        assert points is not None
        place = points.content[name]
        if isinstance(place, dict):
            unknown_keys = set(place) - {"xyz", "rpy"}
            if unknown_keys:
                raise points.error(f"{name} has {sorted(unknown_keys)[0]!r}, expected xyz and rpy", name)
            place = (place.get("xyz", [0, 0, 0]), place.get("rpy", [0, 0, 0]))
        _stated(points, name, mechanism.point, body, name, place)


def _stated(table: TomlTable, key: str, make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of the call; its errors get file and line in front. key: the line, if it is that of one key."""
    try:
        return make(*arguments, **options)
    except DalembertError as error:
        text = str(error)
        raise DalembertError(text if text.startswith(table.label) else f"{table.where(key)}: {text}") from None


def _needed(table: TomlTable, key: str) -> Any:
    if key not in table:
        raise table.error(f"{key} is missing: write {key} = …")
    return _value(table, key)


def _value(table: TomlTable, key: str) -> Any:
    """Text, a truth value, a number, or lists of numbers."""
    value = table.content[key]
    if isinstance(value, (str, bool)):
        return value
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        raise table.error(f"{key} is {value!r}, expected text, a number or lists of numbers", key) from None
    if not np.all(np.isfinite(array)):
        raise table.error(f"{key} is {value!r}, expected finite numbers", key)
    return value


SHORT = 6  # numbers or rows that stand on one line
CYLINDER_KEYS = ("bore", "rod", "stroke", "hose", "bulk", "damping", "speed", "closure", "extended", "preload")


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
        lines += _body_lines(body)
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


def _body_lines(body: BodyPart) -> list[str]:
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
