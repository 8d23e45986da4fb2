"""Constraints: rows of conditions on the motion, the forces that may keep them, and what an impact does.

A row has a coordinate φ(q) with rate φ̇ = J v − surface and acceleration φ̈ = J a + bias, and a force λ along it, which
acts on the robot as Jᵀ λ. Which (φ, λ) go together is said by the set:

| set | coordinate | force | examples |
|---|---|---|---|
| `Zero()` | φ = 0 | any | closed loops, `Holonomic` |
| `Range(lower, upper)` | lower ≤ φ ≤ upper | ≥ 0 at the lower end, ≤ 0 at the upper end, 0 between | stops, contact |
| `Interval(static, sliding)` | any | while φ̇ = 0 any with |λ| ≤ static, else −sign(φ̇) sliding(φ̇) | dry friction |

Range(0, ∞) is the half-line of a contact, an Interval for each of several rows a box.

Which rows act is told by a number for each row, its mode, that is part of the state and constant while the motion is
smooth: so a compiled step has room for all rows, and need not change when constraints come and go. `simulate` decides
the modes from forces and velocities (`sim.run.hybrid`); a time-stepping scheme finds forces and modes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dalembert.contact.solver import ANY, Law
from dalembert.errors import DalembertError
from dalembert.linear import sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, minimum, where

if TYPE_CHECKING:
    from ..elements.base import Situation

__all__ = [
    "ANY",
    "Admissible",
    "Constraint",
    "Impact",
    "Interval",
    "Law",
    "Range",
    "Rows",
    "Zero",
    "joined",
    "joint_rows",
]

STILL = 1e-6  # [rad/s or m/s]: in time stepping, a row of friction slower than this is at rest
IDLE = 2.0  # mode of a row of friction whose rows are kept at rest by others: no force of its own


class Rows(NamedTuple):
    """Constraint rows at one state: φ (k,), J (k, nv), bias (k,), surface (k,); φ̇ = J v − surface, φ̈ = J a + bias.

    surface: the speed of a surface that moves by itself, such as a belt.
    """

    coordinate: np.ndarray
    J: np.ndarray
    bias: np.ndarray
    surface: np.ndarray

    def rate(self, v: np.ndarray) -> np.ndarray:
        """φ̇ (k,)."""
        return sparse_product(self.J, v) - self.surface

    def first(self, count: int) -> Rows:
        """The first `count` rows."""
        return Rows(*(part[:count] for part in self))


def joined(parts: list[Rows], nv: int) -> Rows:
    """All rows, one below the other."""
    if not parts:
        return Rows(np.zeros(0), np.zeros((0, nv)), np.zeros(0), np.zeros(0))
    return Rows(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def joint_rows(nv: int, freedom: int, coordinate: Any = 0.0, surface: Any = 0.0) -> Rows:
    """The row of one freedom: φ is its coordinate."""
    return Rows(np.array([coordinate]), np.eye(nv)[[freedom]], np.zeros(1), np.array([surface]))


class Admissible(Protocol):
    """A set of admissible pairs (coordinate, force) of a row.

    switches: whether the row comes and goes, and so has a mode. lower, upper: where the coordinate must stay; static:
    the largest force of a row that does not move, beside those that its ends allow.
    """

    @property
    def switches(self) -> bool: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def static(self) -> float: ...

    def active(self, mode: Any) -> Any:
        """Whether the row is held: its force is whatever keeps φ̈ as it should be."""

    def deviation(self, mode: Any, coordinate: Any) -> Any:
        """How far the coordinate is from where an active row holds it."""

    def force(self, mode: Any, rate: Any) -> Any:
        """The force of a row that is not active."""

    def guard(self, mode: Any, coordinate: Any, rate: Any, force: Any, slack: Any) -> Any:
        """A number that is positive for as long as the mode is right; slack: what counts as no force."""

    def mode(self, held: bool, force: float, at_upper: bool) -> float:
        """The mode of a row at rest at an end, or with friction, with its force."""

    def law(self, h: Any, coordinate: Any, rate: Any, bias: Any, free: Any, impact: Impact) -> Law:
        """The law of a row in time stepping: bounds on its rate at the end of a step h, and on its impulse.

        coordinate, rate, bias: of the row at the start; free: its rate at the end if no row that comes and goes acted.
        """


@dataclass(frozen=True)
class Zero:
    """φ = 0, kept by any force."""

    switches, lower, upper, static = False, 0.0, 0.0, 0.0

    def active(self, mode: Any) -> Any:
        return True

    def deviation(self, mode: Any, coordinate: Any) -> Any:
        return coordinate

    def force(self, mode: Any, rate: Any) -> Any:
        return 0.0

    def guard(self, mode: Any, coordinate: Any, rate: Any, force: Any, slack: Any) -> Any:
        return 1.0

    def mode(self, held: bool, force: float, at_upper: bool) -> float:
        return 0.0

    def law(self, h: Any, coordinate: Any, rate: Any, bias: Any, free: Any, impact: Impact) -> Law:
        end = -(coordinate / h) - 0.5 * h * bias
        return Law(end, end)


@dataclass(frozen=True)
class Range:
    """lower ≤ φ ≤ upper: at its ends the row pushes, and does not pull. Mode: −1 at the lower end, 1 at the upper."""

    lower: float = 0.0
    upper: float = np.inf
    switches, static = True, 0.0

    def __post_init__(self) -> None:
        if not self.lower <= self.upper or not (np.isfinite(self.lower) or np.isfinite(self.upper)):
            raise DalembertError(f"constraint: the range is {self.lower:g} … {self.upper:g}, expected a finite end")

    def active(self, mode: Any) -> Any:
        return absolute(mode) > 0.5

    def deviation(self, mode: Any, coordinate: Any) -> Any:
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return coordinate - where(mode < 0.0, self.lower, self.upper)
        return coordinate - (self.lower if np.isfinite(self.lower) else self.upper)

    def force(self, mode: Any, rate: Any) -> Any:
        return 0.0

    def guard(self, mode: Any, coordinate: Any, rate: Any, force: Any, slack: Any) -> Any:
        below = coordinate - self.lower if np.isfinite(self.lower) else self.upper - coordinate
        above = self.upper - coordinate if np.isfinite(self.upper) else below
        return where(absolute(mode) < 0.5, minimum(below, above), slack - mode * force)

    def mode(self, held: bool, force: float, at_upper: bool) -> float:
        return (1.0 if at_upper else -1.0) if held else 0.0

    def law(self, h: Any, coordinate: Any, rate: Any, bias: Any, free: Any, impact: Impact) -> Law:
        low, high = -ANY, ANY
        if np.isfinite(self.lower):
            low = _approach(h, coordinate - self.lower, rate, bias, free, impact)
        if np.isfinite(self.upper):
            high = -_approach(h, self.upper - coordinate, -rate, -bias, -free, impact)
        return Law(low, high)


@dataclass(frozen=True)
class Interval:
    """Dry friction: while φ̇ = 0 any force up to `static`, else sliding(φ̇) against the motion; by default `static`.

    Mode: 0 stuck, ±1 sliding that way, IDLE.
    """

    static: float
    sliding: Callable[[Any], Any] | None = None
    switches, lower, upper = True, -np.inf, np.inf

    def active(self, mode: Any) -> Any:
        return absolute(mode) < 0.5

    def deviation(self, mode: Any, coordinate: Any) -> Any:
        return 0.0

    def force(self, mode: Any, rate: Any) -> Any:
        slides = logical_and(absolute(mode) > 0.5, absolute(mode) < 1.5)
        return where(slides, -mode * (self.static if self.sliding is None else self.sliding(rate)), 0.0)

    def guard(self, mode: Any, coordinate: Any, rate: Any, force: Any, slack: Any) -> Any:
        moving = where(absolute(mode) > 1.5, 1.0, mode * rate)
        return where(absolute(mode) < 0.5, self.static + slack - absolute(force), moving)

    def mode(self, held: bool, force: float, at_upper: bool) -> float:
        return 0.0 if held else IDLE if abs(force) < self.static else -float(np.sign(force))

    def law(self, h: Any, coordinate: Any, rate: Any, bias: Any, free: Any, impact: Impact) -> Law:
        level = self.static
        if self.sliding is not None:
            level = where(absolute(rate) > STILL, self.sliding(rate), self.static)
        return Law(0.0, 0.0, h * level)


def _approach(h: Any, gap: Any, rate: Any, bias: Any, free: Any, impact: Impact) -> Any:
    """The least rate at the end of a step, for a gap that may close and not become negative.

    An impact turns the rate round at once, up to a step early.
    """
    least = -maximum(gap, 0.0) / h - 0.5 * h * bias
    if not impact.restitution:
        return least
    bounces = logical_and(rate < -impact.rest_speed, free < least)
    return where(bounces, -impact.restitution * rate, least)


@dataclass(frozen=True)
class Impact:
    """The impact when a row of a `Range` meets its end: φ̇ after = −restitution times φ̇ before.

    Below rest_speed [of φ̇] the row comes to rest instead: the resolution at which bounces that follow each other ever
    faster end.
    """

    restitution: float = 0.0
    rest_speed: float = 1e-3


@dataclass(frozen=True, eq=False)
class Constraint:
    """`count` rows with one admissible set, owned by the element that gives it (`Element.constraints`).

    name: in the log of events; rows: the traced rows of a `Situation`; admissible: `Zero`, `Range` or `Interval`, the
    same for each row; impact: the law of impacts; compliance: φ per force [m/N or rad/(N·m)] in time-stepping schemes,
    `simulate` takes only rigid rows; reported: whether `run.events` lists when it acts, or no longer does.
    """

    name: str
    count: int
    rows: Callable[[Situation], Rows]
    admissible: Admissible = field(default_factory=Zero)
    impact: Impact = field(default_factory=Impact)
    compliance: float = 0.0
    reported: bool = True
