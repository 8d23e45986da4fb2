"""Motors and gears that one could buy: their ratings, and the TOML file that lists them."""

from __future__ import annotations

import os
import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dalembert.errors import DalembertError, unknown

Item = TypeVar("Item", "Motor", "Gear")


@dataclass(frozen=True)
class Motor:
    """A rotary motor: torques [N·m], speed [rad/s], rotor inertia [kg·m²], mass [kg].

    stall: at rest; the torque falls in a straight line to zero at the speed no_load. peak: what it may give for a short
    time (default: stall); continuous: what it may give for ever.
    """

    name: str
    stall: float
    no_load: float
    continuous: float
    inertia: float
    peak: float | None = None
    mass: float = 0.0

    def envelope(self, speed: np.ndarray) -> np.ndarray:
        """The largest torque for a short time at a speed [rad/s] of either sign."""
        line = self.stall * (1.0 - np.abs(speed) / self.no_load)
        return np.clip(line, 0.0, self.stall if self.peak is None else self.peak)


@dataclass(frozen=True)
class Gear:
    """A gear: ratio is motor speed by joint speed [rad/rad, or rad/m for a slide: 2π / lead of its screw].

    efficiency: forward, and taken backward too; rated and peak: torque or force at the output [N·m or N]; speed: most
    at the input [rad/s]; inertia: at the input [kg·m²]; stiffness: at the output [N·m/rad or N/m]; mass [kg].
    """

    name: str
    ratio: float
    efficiency: float = 1.0
    rated: float = np.inf
    peak: float = np.inf
    speed: float = np.inf
    inertia: float = 0.0
    stiffness: float | None = None
    mass: float = 0.0

    @property
    def backdrivability(self) -> float:
        """η / N²: how much of a push at the output is felt at the motor; 1 without a gear."""
        return self.efficiency / self.ratio**2

    @property
    def transparency(self) -> str:
        """The meaning of the backdrivability: a harmonic drive of 100 has 7e-5, a planetary gear of 6 has 0.025."""
        for least, meaning in ((5e-3, "freely backdrivable"), (3e-4, "backdrivable with effort")):
            if self.backdrivability >= least:
                return meaning
        return "barely backdrivable"


DIRECT = Gear("direct drive", 1.0)


@dataclass(frozen=True)
class Catalogue:
    """Motors and gears to choose from; without gears every motor drives its joint directly."""

    motors: tuple[Motor, ...]
    gears: tuple[Gear, ...] = (DIRECT,)


def read_catalogue(path: str | os.PathLike[str]) -> Catalogue:
    """Read a file of [[motor]] and [[gear]] tables; the keys are the fields of `Motor` and `Gear`, or lead [m]."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DalembertError(f"{path}: cannot be read: {error}") from None
    for key in data:
        if key not in ("motor", "gear"):
            raise unknown("table", key, ("motor", "gear"), str(path))
    motors = [_item(Motor, entry, f"{path}: [[motor]] number {k + 1}") for k, entry in _entries(data, "motor", path)]
    gears = [_item(Gear, _with_ratio(e, f"{path}: [[gear]] number {k + 1}"), f"{path}: [[gear]] number {k + 1}")
             for k, e in _entries(data, "gear", path)]  # fmt: skip
    if not motors:
        raise DalembertError(f"{path}: has no [[motor]]")
    return Catalogue(tuple(motors), tuple(gears) or (DIRECT,))


def _entries(data: dict[str, Any], key: str, path: Any) -> list[tuple[int, dict[str, Any]]]:
    entries = data.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DalembertError(f"{path}: expected [[{key}]] tables")
    return list(enumerate(entries))


def _with_ratio(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """A gear with the ratio of its lead [m per turn], if that is how it is stated."""
    if "lead" not in entry:
        return entry
    lead = entry["lead"]
    if "ratio" in entry or not isinstance(lead, int | float) or not 0.0 < lead < np.inf:
        raise DalembertError(f"{where}: give ratio, or lead above 0 [m]")
    return {key: value for key, value in entry.items() if key != "lead"} | {"ratio": 2.0 * np.pi / float(lead)}


def _item(kind: type[Item], entry: dict[str, Any], where: str) -> Item:
    known = {member.name: member for member in fields(kind)}
    for key in entry:
        if key not in known:
            raise unknown("key", key, known, where)
    for name, member in known.items():
        if name not in entry and member.default is MISSING:
            raise DalembertError(f"{where}: has no {name}")
        value = entry.get(name)
        if name == "name":
            if not isinstance(value, str) or not value:
                raise DalembertError(f"{where}: name is {value!r}, expected a text")
        elif value is not None:
            least = 0.0 if name in ("mass", "inertia") else np.nextafter(0.0, 1.0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value:
                expected = "0 or more" if least == 0.0 else "a number above 0"
                raise DalembertError(f"{where}: {name} is {value!r}, expected {expected}")
    if entry.get("efficiency", 1.0) > 1.0:
        raise DalembertError(f"{where}: efficiency is {entry['efficiency']}, expected at most 1")
    numbers: dict[str, Any] = {key: value if key == "name" else float(value) for key, value in entry.items()}
    return kind(**numbers)
