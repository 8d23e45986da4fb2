"""Ways to draw numbers anew: a distribution in place of a value, times it, or added to it; and when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.study.distributions import Distribution, uniform

START, RESET = "start", "reset"
WORDS = {"scale": "times", "add": "plus", "set": "drawn from"}


@dataclass(frozen=True)
class Draw:
    """Draw of a parameter: the value itself ("set"), a factor of the nominal one ("scale"), or a summand ("add").

    when: "reset", for each episode; "start", once for each environment. every: (shortest, longest) time [s] after which
    it is drawn again within an episode; None: never.
    """

    law: Distribution
    kind: str = "set"
    when: str = RESET
    every: tuple[float, float] | None = None

    def __str__(self) -> str:
        fields = ", ".join(
            f"{name} {value}" for name, value in self.law.plain().items() if name not in ("kind", "size")
        )
        when = "once for each environment" if self.when == START else "at each reset"
        again = "" if self.every is None else f", again every {self.every[0]:g} to {self.every[1]:g} s"
        return f"{WORDS[self.kind]} {type(self.law).__name__.lower()} ({fields}), {when}{again}"


def as_draw(where: str, x: Any) -> Draw:
    """A distribution or a draw as a draw."""
    if isinstance(x, Draw):
        return x
    if isinstance(x, Distribution):
        return Draw(x)
    raise DalembertError(
        f"{where}: got {x!r}, expected a distribution, such as learn.uniform(low, high), learn.scale(low, high) or "
        "learn.fixed(value)"
    )


def scale(low: Any, high: Any = None) -> Draw:
    """A factor of the nominal value, uniform between low and high; or scale(distribution)."""
    return Draw(_law("scale", low, high), "scale")


def add(low: Any, high: Any = None) -> Draw:
    """A summand to the nominal value, uniform between low and high; or add(distribution)."""
    return Draw(_law("add", low, high), "add")


def fixed(value: Any) -> Distribution:
    """Always this number or vector."""
    return uniform(np.atleast_1d(np.asarray(value, float)), np.atleast_1d(np.asarray(value, float)))


def once(x: Any) -> Draw:
    """A distribution or draw, drawn once for each environment instead of at each reset."""
    return replace(as_draw("once", x), when=START)


def redrawn(x: Any, every: Any) -> Draw:
    """A distribution or draw, drawn again within an episode after every (shortest, longest) time [s]."""
    return replace(as_draw("redrawn", x), every=span("redrawn", "every", every))


def span(where: str, name: str, value: Any) -> tuple[float, float]:
    """A time or (shortest, longest) [s], both above 0."""
    pair = (value, value) if is_number(value) else value
    if np.shape(pair) != (2,) or not all(is_number(x) for x in pair) or not 0.0 < pair[0] <= pair[1] < np.inf:
        raise DalembertError(f"{where}: {name} is {value!r}, expected a time or (shortest, longest), above 0 [s]")
    return float(pair[0]), float(pair[1])


def _law(where: str, low: Any, high: Any) -> Distribution:
    if isinstance(low, Distribution) and high is None:
        return low
    if high is None:
        raise DalembertError(f"{where}: got {low!r}, expected (low, high) or a distribution")
    return uniform(low, high)
