"""Constraint forces: rows of conditions on the acceleration, each active or not, solved together.

The number of rows is that of all that could act; which do act is decided by numbers at run time. So the compiled step
does not change when constraints come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import ConstrainedMass, Constraints
from dalembert.linear import sparse_product
from dalembert.math import where
from dalembert.model import Model

STABILIZED = 10.0  # [1/s]: rate at which errors of position and velocity die out (Baumgarte 1972)


class Rows(NamedTuple):
    """J a = goal where active. J (nr, nv), goal (nr,), active (nr,) conditions.

    residual (nr,): of positions; drift (nr,): J̇ v, the acceleration along the rows at a = 0.
    """

    J: np.ndarray
    goal: np.ndarray
    active: list[Any]
    residual: np.ndarray
    drift: np.ndarray

    @property
    def on(self) -> np.ndarray:
        """(nr,): 1 where active, else 0."""
        return np.array([1.0 if active is True else where(active, 1.0, 0.0) for active in self.active])

    def solver(self, model: Model, q: np.ndarray) -> ConstrainedMass:
        """What gives the forces of the active rows at q (nq,); redundant ones are left out."""
        return ConstrainedMass(model, q, self.J, None if all(x is True for x in self.active) else self.on)


def closing_rows(closing: Constraints, v: np.ndarray) -> Rows:
    """Those of equations on the configuration: φ̈ = −2 α φ̇ − α² φ."""
    residual, J, drift = closing
    goal = -drift - 2.0 * STABILIZED * sparse_product(J, v) - STABILIZED**2 * residual
    return Rows(J, goal, [True] * len(residual), residual, drift)


def held_rows(nv: int, held: Sequence[tuple[int, Any, Any]]) -> Rows:
    """Those of freedoms held in place: no acceleration."""
    n = len(held)
    J = np.eye(nv)[[k for k, _, _ in held]] if n else np.zeros((0, nv))
    return Rows(J, np.zeros(n), [active for _, active, _ in held], np.zeros(n), np.zeros(n))


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows, one below the other."""
    J, goal, residual, drift = (np.concatenate([part[k] for part in parts]) for k in (0, 1, 3, 4))
    return Rows(J, goal, [active for part in parts for active in part.active], residual, drift)
