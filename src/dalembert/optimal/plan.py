"""A plan: what the robot is to do, what it costs, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .problem import Problem


@dataclass(frozen=True, eq=False)
class Plan:
    """States at the nodes and controls between them.

    q (nodes + 1, nq), v (nodes + 1, nv), u (nodes, m): each u [N·m, N] is held for a step. cost: of all nodes and the
    end; costs: by name. converged: whether the model promises no further decrease; violation: the largest one of a
    constraint, or gap between nodes; why: what holds it back, or "".
    """

    problem: Problem = field(repr=False)
    q: np.ndarray = field(repr=False)
    v: np.ndarray = field(repr=False)
    u: np.ndarray = field(repr=False)
    control: np.ndarray = field(repr=False)  # accelerations where those are the control, else u
    control_gains: np.ndarray = field(repr=False)
    cost: float
    costs: dict[str, float]
    iterations: int
    converged: bool
    violation: float
    why: str

    @cached_property
    def t(self) -> np.ndarray:
        """Times (nodes + 1,) of the nodes [s]."""
        return self.problem.step * np.arange(len(self.q))

    @cached_property
    def gains(self) -> np.ndarray:
        """K (nodes, m, 2 nv): u + K [difference(plan.q, q); v − plan.v] is the best control near the plan."""
        if not self.problem.motion.by_acceleration:
            return self.control_gains
        slopes: Any = self.problem.robot.inverse_dynamics_derivatives(self.q[:-1], self.v[:-1], self.control)
        return np.concatenate([slopes.dq, slopes.dv], axis=2) + slopes.da @ self.control_gains
