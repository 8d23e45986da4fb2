"""Units in the names of columns: "q1 [deg]", "elbow (rad/s)", "time_ms", "tau.elbow [Nmm]"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

# of each SI unit: what else is written for it, and how many of the SI unit that is
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SIZES: dict[str, dict[str, float]] = {
    "s": SECONDS
    | {"sec": 1.0, "second": 1.0, "seconds": 1.0, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3}
    | {"usec": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6, "µs": 1e-6, "μs": 1e-6}
    | {"nsec": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9, "min": 60.0},
    "rad": {"rad": 1.0, "radian": 1.0, "radians": 1.0, "mrad": 1e-3, "deg": np.pi / 180, "degree": np.pi / 180}
    | {"degrees": np.pi / 180, "°": np.pi / 180, "rev": 2 * np.pi, "turn": 2 * np.pi, "turns": 2 * np.pi},
    "m": {"m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "cm": 1e-2, "mm": 1e-3},
    "N·m": {"nm": 1.0, "mnm": 1e-3, "knm": 1e3, "nmm": 1e-3, "ncm": 1e-2},
    "N": {"n": 1.0, "mn": 1e-3, "kn": 1e3},
    "°C": {"°c": 1.0, "degc": 1.0, "deg_c": 1.0, "celsius": 1.0},
    "A": {"amp": 1.0, "amps": 1.0, "ampere": 1.0, "amperes": 1.0, "ma": 1e-3},
    "": {"": 1.0, "1": 1.0},
}
AMPERE = "A"  # a capital: "_a" at the end of a column's name is no unit
SPECIAL = {"rpm": ("rad/s", 2 * np.pi / 60), "dps": ("rad/s", np.pi / 180)}
BRACKETS = re.compile(r"(?P<name>.*?)\s*[\[(](?P<unit>[^\[\]()]*)[\])]")
PER_SECOND = re.compile(r"(?P<unit>.+?)\s*(?:/|_per_|p|_)\s*(?:s|sec)(?P<square>\s*(?:\^?2|²|\*\*2))?")


@dataclass(frozen=True)
class Unit:
    """A unit as it was written, the SI unit of its kind, and its size in that."""

    text: str
    si: str
    size: float


@dataclass(frozen=True)
class Heading:
    """One reading of a column's name: the name without its unit, the unit (None: not stated), and how sure it is.

    level 0: the whole name, 1: a unit in brackets, 2: a unit after an underscore. `problem` is an unknown unit.
    """

    column: str
    name: str
    unit: Unit | None
    level: int
    problem: str = ""


def unit(text: str) -> Unit | None:
    """The unit of a text; None if it is none that is known."""
    plain = re.sub(r"[·*.\s]", "", text.strip()).replace("°/", "deg/")
    lowered = plain.lower()
    if plain == AMPERE:
        return Unit(text, "A", 1.0)
    if lowered in SPECIAL:
        return Unit(text, *SPECIAL[lowered])
    for si, sizes in SIZES.items():
        if lowered in sizes:
            return Unit(text, si, sizes[lowered])
    rate = PER_SECOND.fullmatch(lowered)
    for si in ("rad", "m"):
        if rate and rate["unit"] in SIZES[si]:
            return Unit(text, f"{si}/s²" if rate["square"] else f"{si}/s", SIZES[si][rate["unit"]])
    return None


def headings(columns: Iterable[str], stated: Mapping[str, str]) -> list[Heading]:
    """Every reading of every column's name; stated: units that the file gives beside the names."""
    readings = []
    for column in columns:
        beside = stated.get(column)
        known = unit(beside) if beside else None
        readings.append(Heading(column, column, known, 0, beside if beside and known is None else ""))
        if (match := BRACKETS.fullmatch(column)) and match["name"] and not match["unit"].strip().isdigit():
            known = unit(match["unit"])
            readings.append(Heading(column, match["name"], known, 1, "" if known else match["unit"]))
            continue
        words = column.split("_")
        for k in range(1, len(words)):
            if known := unit("_".join(words[k:])):
                readings.append(Heading(column, "_".join(words[:k]), known, 2))
    return readings


def expected(kind: str, coordinate: str) -> str:
    """The unit of a channel: "t", or one of `SPOKEN`; coordinate: "rad", "m" or "" (quaternions)."""
    if kind == "t":
        return "s"
    if kind in ("current", "temperature"):
        return {"current": "A", "temperature": "°C"}[kind]
    if kind == "tau":
        return {"rad": "N·m", "m": "N"}[coordinate]
    return coordinate + {"q": "", "v": "/s", "a": "/s²"}[kind]
