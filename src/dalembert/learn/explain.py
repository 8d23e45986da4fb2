"""Which number of an observation is what: the contract that a deployed policy needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError

from .observing import GROUP

if TYPE_CHECKING:
    from .environment import Environment


class Number(NamedTuple):
    """A number of an observation: its group, place in it, name, unit, scale, noise, delay, age in control steps, value.

    The number is scale · (what the function gives + noise), delay + age control steps late; value: of an observation
    that was given, else NaN.
    """

    group: str
    place: int
    name: str
    unit: str
    scale: float
    noise: float
    delay: tuple[int, int]
    age: int
    value: float


class Explanation(tuple):
    """A row for each number of an observation; printed as a table."""

    def __str__(self) -> str:
        head = ("group", "place", "name", "unit", "scale", "noise", "delay", "age", "value")
        rows = [head, *(tuple(_text(x) for x in row) for row in self)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        return "\n".join("  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    __repr__ = __str__


def _text(x: Any) -> str:
    if isinstance(x, tuple):
        return str(x[0]) if x[0] == x[1] else f"{x[0]}-{x[1]}"
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def explained(env: Environment, obs: Any) -> Explanation:
    """The rows of all groups; obs: an array (size,), or a dict of them by group."""
    values = _values(env, obs)
    rows, places = [], dict.fromkeys(env.observing.groups, 0)
    for entry in env.observing.entries:
        seen = entry.observed
        scales, noises = (np.broadcast_to(np.asarray(x, float), (entry.size,)) for x in (seen.scale, seen.noise))
        for age in range(seen.history - 1, -1, -1):
            for k in range(entry.size):
                place = places[entry.group]
                name = entry.name if entry.size == 1 else f"{entry.name}[{k}]"
                number = (entry.group, place, name, seen.unit, float(scales[k]), float(noises[k]), seen.delay, age)
                rows.append(Number(*number, float(values[entry.group][place])))
                places[entry.group] = place + 1
    return Explanation(rows)


def _values(env: Environment, obs: Any) -> dict[str, np.ndarray]:
    """The values of each group; NaN where there are none."""
    sizes = env.observing.sizes
    if obs is None:
        return {group: np.full(size, np.nan) for group, size in sizes.items()}
    given = {GROUP: obs} if env.observing.flat else obs
    if not isinstance(given, dict):
        raise DalembertError(f"explain: got {type(obs).__name__}, expected a dict with {', '.join(sizes)}")
    values = {}
    for group, size in sizes.items():
        x = np.asarray(given.get(group, np.full(size, np.nan)), float)
        if x.ndim == 2 and len(x) == 1:
            x = x[0]
        if x.shape != (size,):
            raise DalembertError(f"explain: {group} has shape {x.shape}, expected ({size},), that of one environment")
        values[group] = x
    return values
