"""Operational space: the dynamics of a robot as its tasks feel it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import Factor, factor
from dalembert.math import logical_and, where
from dalembert.model import Frame, Model

from .jacobian import jacobian
from .kinematics import ORIGIN, Axes, acceleration
from .loops import loop_drift, mobility
from .rnea import bias, gravity
from .tensors import mirror

# A row of which so little is left beside the rows above it, relative to the row itself, is lost in round-off.
INDEPENDENT = 1e-12


class Task(NamedTuple):
    """A task: [ω; v] of a point of one or several frames, stacked; of these, the chosen rows.

    point (3,): in each frame's own axes [m]; axes: along which the rows are written ("body": each frame's own).
    """

    frames: Sequence[Frame]
    point: np.ndarray = ORIGIN
    axes: Axes = "world"
    rows: Sequence[int] | None = None

    def selected(self, stacked: np.ndarray) -> np.ndarray:
        """The rows of the task out of all rows."""
        return stacked if self.rows is None else stacked[list(self.rows)]

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        """J (k, nv) at q (nq,): the task moves with J v."""
        return self.selected(np.concatenate([jacobian(model, q, f, self.point, self.axes) for f in self.frames]))

    def drift(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """J̇ v (k,) at q (nq,), v (nv,): how the task accelerates at zero a."""
        zero = np.zeros(model.nv)
        parts = [acceleration(model, q, v, zero, f, self.point, self.axes) for f in self.frames]
        return self.selected(np.concatenate(parts))


def operational_inertia(model: Model, q: np.ndarray, damping: Any, task: Task) -> np.ndarray:
    """Λ (k, k) = (J M⁻¹ Jᵀ + damping² 1)⁻¹, symmetric.   Khatib 1987

    q (nq,). Without damping a task with dependent rows has no inertia: all entries are then inf or NaN. Closed loops
    take their part of M⁻¹, here and below: a task that they hold has no inertia either.
    """
    J = task.jacobian(model, q)
    return _inertia(J, mobility(model, q) @ J.T, damping)


def operational_dynamics(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    damping: Any,
    task: Task,
    external: Mapping[int, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Λ (k, k), μ (k,), p (k,), J̄ (nv, k) of Λ ẍ + μ + p = F, with the force F on the task.

    q (nq,), v (nv,). J̄ = M⁻¹ Jᵀ Λ, μ = J̄ᵀ (bias − gravity) − Λ J̇ v, p = J̄ᵀ gravity. Damping enters in Λ alone, and
    through it in the others. external as in `rnea`: part of the bias.
    """
    J = task.jacobian(model, q)
    Y = mobility(model, q) @ J.T
    inertia = _inertia(J, Y, damping)
    inverse, g = Y @ inertia, gravity(model, q)
    drift = task.drift(model, q, v) + J @ loop_drift(model, q, v)
    mu = inverse.T @ (bias(model, q, v, external) - g) - inertia @ drift
    return inertia, mu, inverse.T @ g, inverse


def null_space(model: Model, q: np.ndarray, damping: Any, task: Task) -> np.ndarray:
    """N = 1 − J̄ J (nv, nv): what is left of a velocity when the task takes its part; Nᵀ does it for forces.

    q (nq,). Without damping J N = 0, N N = N, and forces Nᵀ tau do not accelerate the task: J M⁻¹ Nᵀ = 0.
    """
    J = task.jacobian(model, q)
    Y = mobility(model, q) @ J.T
    return np.eye(model.nv) - (Y @ _inertia(J, Y, damping)) @ J


def _inertia(J: np.ndarray, Y: np.ndarray, damping: Any) -> np.ndarray:
    """(J Y + damping² 1)⁻¹ for Y = M⁻¹ Jᵀ; not finite where rows depend on one another."""
    yielding = J @ Y + damping * damping * np.eye(len(J))
    factored = factor(yielding)
    return mirror(factored.solve(np.eye(len(J))).T) * where(_independent(yielding, factored), 1.0, np.inf)


def _independent(A: np.ndarray, factored: Factor) -> Any:
    """Whether every pivot of A is clear of round-off. Relative to the diagonal, so that units do not matter."""
    regular: Any = True
    for diagonal, r in zip(np.diag(A), factored.r, strict=True):
        share = diagonal * r
        regular = logical_and(regular, logical_and(share > 0.0, share < 1.0 / INDEPENDENT))
    return regular
