"""Constraint forces: rows of conditions on the acceleration, each active or not, solved together.

The number of rows is that of all that could act; which do act is decided by numbers at run time. So the compiled step
does not change when constraints come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import Constraints, solve_semidefinite
from dalembert.algorithms.coupled import MassSolver
from dalembert.math import where
from dalembert.model import Model

STABILIZED = 10.0  # [1/s]: rate at which errors of position and velocity die out (Baumgarte 1972)


class Rows(NamedTuple):
    """J a = goal where active. J (nr, nv), goal (nr,), active (nr,) conditions; residual (nr,): of positions."""

    J: np.ndarray
    goal: np.ndarray
    active: list[Any]
    residual: np.ndarray

    @property
    def on(self) -> np.ndarray:
        """(nr,): 1 where active, else 0."""
        return np.array([1.0 if active is True else where(active, 1.0, 0.0) for active in self.active])


def closing_rows(closing: Constraints, v: np.ndarray) -> Rows:
    """Those of equations on the configuration: φ̈ = −2 α φ̇ − α² φ."""
    residual, J, bias = closing
    goal = -bias - 2.0 * STABILIZED * (J @ v) - STABILIZED**2 * residual
    return Rows(J, goal, [True] * len(residual), residual)


def held_rows(nv: int, held: Sequence[tuple[int, Any, Any]]) -> Rows:
    """Those of freedoms held in place: no acceleration."""
    n = len(held)
    J = np.eye(nv)[[k for k, _, _ in held]] if n else np.zeros((0, nv))
    return Rows(J, np.zeros(n), [active for _, active, _ in held], np.zeros(n))


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows, one below the other."""
    J, goal, residual = (np.concatenate([part[k] for part in parts]) for k in (0, 1, 3))
    return Rows(J, goal, [active for part in parts for active in part.active], residual)


def active_forces(model: Model, q: np.ndarray, rows: Rows, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(M⁻¹ Jᵀ λ (nv,), λ (nr,)) with J M⁻¹ Jᵀ λ = wanted for the active rows; redundant ones are left out."""
    response = MassSolver(model, q).solve(rows.J.T)
    A = rows.J @ response
    on = rows.on
    A = A * np.outer(on, on) + np.diag(1.0 - on)
    forces = on * solve_semidefinite(A, on * wanted)
    return response @ forces, forces
