"""Observations: functions of the state with noise, delay, history and scale, joined into groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, is_number, whole_number
from dalembert.math import where
from dalembert.study.distributions.stream import Stream

from .actions import _delay
from .calling import numbers
from .state import State

GROUP = "observation"  # the name of the only group of a flat table


@dataclass(frozen=True)
class Observed:
    """An entry of `observe`: scale · (function(s) + noise), `delay` control steps late, the last `history` of it."""

    function: Callable[[State], Any]
    noise: Any = 0.0
    delay: tuple[int, int] = (0, 0)
    history: int = 1
    scale: Any = 1.0
    unit: str = ""


def observed(
    function: Callable[[State], Any],
    *,
    noise: Any = 0.0,
    delay: Any = (0, 0),
    history: int = 1,
    scale: Any = 1.0,
    unit: str = "",
) -> Observed:
    """A function of the state as a sensor gives it: scale · (function(s) + noise · N(0, 1)).

    noise: standard deviation, a number or one for each of its numbers. delay: (fewest, most) control steps, a whole
    number drawn for each episode. history: how many of the last values are given, the oldest first; after a reset all
    are the first. unit: of the function, for `Environment.explain`.
    """
    if isinstance(function, Observed) or not callable(function):
        raise DalembertError(f"observed: got {function!r}, expected a function of the state s")
    whole_number("observed: history", history)
    for name, value in (("noise", noise), ("scale", scale)):
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "fiu" or not np.isfinite(numbers).all() or numbers.ndim > 1:
            raise DalembertError(f"observed: {name} is {value!r}, expected a finite number, or one for each number")
    if np.any(np.asarray(noise) < 0.0):
        raise DalembertError(f"observed: noise is {noise!r}, a standard deviation, expected 0 or more")
    return Observed(function, noise, _delay("observed", delay), int(history), scale, unit)


class Entry(NamedTuple):
    """A bound entry: its number of values, and where its buffer of older ones lies."""

    name: str
    group: str
    observed: Observed
    size: int

    @property
    def kept(self) -> int:
        """Values that it gives out or may give out later."""
        return self.observed.delay[1] + self.observed.history

    @property
    def key(self) -> str:
        """Name of its random numbers and buffers."""
        return f"{self.group} {self.name}"

    @property
    def buffer(self) -> int:
        """Numbers of its buffer."""
        return self.kept * self.size if self.kept > 1 else 0

    @property
    def late(self) -> bool:
        """Whether its delay is drawn."""
        return self.observed.delay[1] > self.observed.delay[0]

    def measured(self, value: np.ndarray, stream: Stream, counter: Any) -> np.ndarray:
        """A fresh value (size,) with its noise, times the scale."""
        noise = np.broadcast_to(np.asarray(self.observed.noise, float), (self.size,))
        if noise.any():
            value = value + noise * stream.normals(f"noise {self.key}", self.size, counter)
        return value * np.broadcast_to(np.asarray(self.observed.scale, float), (self.size,))

    def shifted(self, buffer: np.ndarray, value: np.ndarray) -> np.ndarray:
        """The buffer, newest first, with a new value; `filled` is the first one."""
        return np.concatenate([value, buffer[: -self.size]])

    def filled(self, value: np.ndarray) -> np.ndarray:
        """A buffer that has only one value."""
        return np.tile(value, self.kept)

    def given(self, value: np.ndarray, buffer: np.ndarray, lag: Any) -> np.ndarray:
        """Values given to the policy, the oldest first; lag: control steps by which it is late."""
        if self.kept == 1:
            return value
        rows = buffer.reshape(self.kept, self.size)
        fewest, most = self.observed.delay
        out = []
        for age in range(self.observed.history - 1, -1, -1):
            row = rows[age + fewest]
            for late in range(fewest + 1, most + 1):
                row = where(lag >= late - 0.5, rows[age + late], row)
            out.append(row)
        return np.concatenate(out)


class Observing:
    """All entries of an environment, in groups; sizes follow from the functions at one state."""

    def __init__(self, table: Any) -> None:
        self.groups = grouped(table)
        self.flat = list(self.groups) == [GROUP]
        self.entries: list[Entry] = []

    def bind(self, sizes: Mapping[tuple[str, str], int]) -> None:
        """Take the sizes of the functions, by (group, name)."""
        self.entries = [
            Entry(name, group, each, sizes[group, name]) for group, t in self.groups.items() for name, each in t.items()
        ]
        for entry in self.entries:
            for what in ("noise", "scale"):
                shape = np.shape(getattr(entry.observed, what))
                if shape not in ((), (1,), (entry.size,)):
                    raise DalembertError(
                        f"Environment: observe: {entry.name}: {what} has {shape[0]} numbers, the function {entry.size}"
                    )

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of each group."""
        return {
            group: sum(e.size * e.observed.history for e in self.entries if e.group == group) for group in self.groups
        }

    def buffers(self) -> dict[str, int]:
        """Sizes of the parts of the memory that observations keep."""
        parts = {f"seen {e.key}": e.buffer for e in self.entries if e.buffer}
        return parts | {f"late {e.key}": 1 for e in self.entries if e.late}

    def first(self, s: State, stream: Stream) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Observations after a reset, and the parts of the memory."""
        parts: dict[str, Any] = {}
        for entry in self.entries:
            if entry.late:
                fewest, most = entry.observed.delay
                u = stream.uniforms(f"late {entry.key}", 1)[0]
                parts[f"late {entry.key}"] = whole(fewest, most, u)
        return self._all(s, stream, 0.0, parts, None)

    def next(
        self, s: State, stream: Stream, counter: Any, memory: Mapping[str, Any]
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Observations after a control step, and the parts of the memory."""
        kept = {f"late {e.key}": memory[f"late {e.key}"] for e in self.entries if e.late}
        return self._all(s, stream, counter, kept, memory)

    def _all(
        self, s: State, stream: Stream, counter: Any, parts: dict[str, Any], memory: Mapping[str, Any] | None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        groups: dict[str, list[np.ndarray]] = {group: [] for group in self.groups}
        for entry in self.entries:
            fresh = numbers(f"observe {entry.name!r}", entry.observed.function, s)
            value = entry.measured(fresh, stream, counter)
            buffer, place = value, f"seen {entry.key}"
            if entry.buffer:
                buffer = entry.filled(value) if memory is None else entry.shifted(memory[place], value)
                parts[place] = buffer
            lag = np.asarray(parts.get(f"late {entry.key}", 0.0), object).ravel()[0]
            groups[entry.group].append(entry.given(value, buffer, lag))
        return {group: np.concatenate(rows) for group, rows in groups.items()}, parts


def whole(fewest: int, most: int, u: Any) -> Any:
    """A whole number from fewest to most, each as likely, of a uniform number."""
    out: Any = 0.0 * u + float(fewest)
    for k in range(1, most - fewest + 1):
        out = out + where(u >= k / (most - fewest + 1.0), 1.0, 0.0)
    return out


def grouped(table: Any) -> dict[str, dict[str, Observed]]:
    """Groups of entries; a flat table is one group."""
    expected = "expected a dict of functions by name, or of such dicts by group"
    if not isinstance(table, Mapping) or not table:
        raise DalembertError(f"Environment: observe is {table!r}, {expected}")
    kinds = {isinstance(x, Mapping) for x in table.values()}
    if len(kinds) > 1:
        raise DalembertError(f"Environment: observe has groups and functions side by side: {expected}")
    groups = table if kinds == {True} else {GROUP: table}
    out: dict[str, dict[str, Observed]] = {}
    for group, entries in groups.items():
        if not entries:
            raise DalembertError(f"Environment: observe: group {group!r} is empty, {expected}")
        for name, x in entries.items():
            if not (isinstance(x, Observed) or callable(x)) or is_number(x):
                raise DalembertError(f"Environment: observe: {name} is {x!r}, expected a function of the state s")
        out[str(group)] = {str(n): x if isinstance(x, Observed) else Observed(x) for n, x in entries.items()}
    return out
