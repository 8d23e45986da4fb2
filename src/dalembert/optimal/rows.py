"""Constraints of a node as rows: each one side of a range, or an equality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .terms import Constraint

INSIDE = 0.1  # of a limit, or of 1: starts on limits take as many iterations as those inside; with 0.01, more


class Row(NamedTuple):
    """A constraint c = sign · value + offset: c ≥ 0, or c = 0. expression: which value; state: without the control."""

    name: str
    expression: int
    sign: float
    offset: float
    is_equality: bool

    @property
    def size(self) -> float:
        """The limit, or 1 where that is less: what violations are compared with."""
        return max(1.0, abs(self.offset))


@dataclass(frozen=True)
class Rows:
    """The constraints of a node. alone: whether a row depends on the state alone."""

    rows: tuple[Row, ...]
    alone: tuple[bool, ...]

    @property
    def equalities(self) -> np.ndarray:
        return np.array([row.is_equality for row in self.rows], bool)

    @property
    def scales(self) -> np.ndarray:
        """A distance from the constraint that counts as well inside: no slack begins below."""
        return np.array([INSIDE * row.size for row in self.rows])


def rows_of(constraints: list[Constraint]) -> tuple[list[Row], np.ndarray]:
    """Rows, and the expressions that they are about."""
    rows: list[Row] = []
    values: list[Any] = []
    for each in constraints:
        for name, value, lower, upper in zip(each.names, each.value, each.lower, each.upper, strict=True):
            k = len(values)
            values.append(value)
            if lower == upper:
                rows.append(Row(name, k, 1.0, -float(lower), True))
                continue
            if np.isfinite(upper):
                rows.append(Row(name, k, -1.0, float(upper), False))
            if np.isfinite(lower):
                rows.append(Row(name, k, 1.0, -float(lower), False))
    return rows, np.array(values, object)
