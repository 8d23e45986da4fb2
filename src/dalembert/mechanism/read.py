"""Mechanisms in TOML files (.mech.toml): every entry is a call of `Mechanism`, every error has its line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError
from dalembert.formats.dh.toml import TomlTable, parse_toml

from .definition import Mechanism
from .drawing import VALUES

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
    mechanism = _stated(file, "name", Mechanism, file.text("name"), _plain(file, "gravity", (0.0, 0.0, -9.81)))
    ground = file.table("ground")
    if ground is not None:
        ground.check_keys({"points"})
        _points(mechanism, "ground", ground)
    for body in file.tables("body"):
        _body(mechanism, body)
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


def _body(mechanism: Mechanism, table: TomlTable) -> None:
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


def _plain(table: TomlTable, key: str, default: Any) -> Any:
    return _value(table, key) if key in table else default
