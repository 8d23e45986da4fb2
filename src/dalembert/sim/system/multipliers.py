"""Constraint forces of a traced state: rows that are held or not by numbers at run time, solved together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import ConstrainedMass
from dalembert.math import where
from dalembert.model import Model

from .constraints import Admissible, Rows

STABILIZED = 10.0  # [1/s]: rate at which errors of position and velocity die out (Baumgarte 1972)


class HeldRows(NamedTuple):
    """Rows with what they ask for at a state: J a = goal where active, else the force `sliding`.

    J (nr, nv), goal, sliding, deviation, rate, bias and surface (nr,), active (nr,) conditions. deviation: how far the
    coordinate is from where an active row holds it; positional: whether it holds a coordinate, or only a speed.
    """

    J: np.ndarray
    goal: np.ndarray
    active: list[Any]
    deviation: np.ndarray
    rate: np.ndarray
    bias: np.ndarray
    surface: np.ndarray
    sliding: np.ndarray
    positional: list[bool]

    @property
    def on(self) -> np.ndarray:
        """(nr,): 1 where active, else 0."""
        return np.array([1.0 if active is True else where(active, 1.0, 0.0) for active in self.active])

    def first(self, count: int) -> HeldRows:
        """The first `count` rows."""
        parts: list[Any] = [part[:count] for part in self]
        return HeldRows(*parts)

    def solver(self, model: Model, q: np.ndarray, repeated: bool) -> ConstrainedMass:
        """The solver for the forces of the active rows at q (nq,); repeated: as of `ConstrainedMass`."""
        return ConstrainedMass(model, q, self.J, None if all(x is True for x in self.active) else self.on, repeated)


def held_rows(rows: Rows, sets: Sequence[Admissible], modes: Sequence[Any], v: np.ndarray) -> HeldRows:
    """The demand of rows: φ̈ = −2 α φ̇ − α² deviation where they are active."""
    rate = rows.rate(v)
    triples = list(zip(sets, modes, range(len(sets)), strict=True))
    deviation = np.array([s.deviation(m, rows.coordinate[k]) for s, m, k in triples])
    sliding = np.array([s.force(m, rate[k]) for s, m, k in triples])
    goal = -rows.bias - 2.0 * STABILIZED * rate - STABILIZED**2 * deviation
    active = [s.active(m) for s, m, _ in triples]
    positional = [bool(np.isfinite(s.lower) or np.isfinite(s.upper)) for s in sets]
    return HeldRows(rows.J, goal, active, deviation, rate, rows.bias, rows.surface, sliding, positional)
