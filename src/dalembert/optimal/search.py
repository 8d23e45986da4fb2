"""Globalisation of Newton's method: damping of directions, and the filter that accepts steps."""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .solver import Solver

NOTHING = 1e-9  # costs below this, and below this part of the first cost, count as none
FEASIBLE = 1e-9  # infeasibility, summed over all nodes, that counts as none
DAMPING = 1e-3  # first damping when a direction fails, beside the curvature in the control; then tenfold
LEAST_DAMPING, MOST_DAMPING = 1e-6, 1e12  # below, there is none; above, it is given up
FLOOR, HIGHEST_FLOOR = 1e-9, 1e-5  # damping of controls that take part in no cost
SHORT = 0.1  # a step shorter than this asks for more damping
ARMIJO = 1e-4  # part of the promised decrease that a step must achieve
ROUNDING = 1e-13  # of the cost: what rounding may add to it
FILTER = 1e-5  # margin of the filter


class Damping:
    """The damping added to the control's Hessian (Levenberg-Marquardt): more after short steps, less after long ones.

    floor: what remains where some control takes part in no cost, so that the Hessian is singular; next to nothing.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver, self.value, self.floor = solver, 0.0, 0.0

    @cached_property
    def scale(self) -> float:
        """The size of the control's Hessian, where damping is first needed."""
        problem, quadratic = self.solver.problem, self.solver.direction.quadratic
        sizes = [
            float(np.mean(np.abs(quadratic[:, problem.layout.control_diagonal]))),
            float(np.mean(self.solver.steps)) ** 4
            * float(np.mean(np.abs(quadratic[:, problem.layout.state_diagonal]))),
        ]
        return next((size for size in sizes if isfinite(size) and size > 0.0), 1.0)

    @property
    def is_least(self) -> bool:
        """Whether directions are as good as those of Newton's method."""
        return self.value <= self.floor

    def failed(self, least: float) -> bool:
        """After a direction that does not exist; least: the smallest pivot. False: nothing more can be tried."""
        if self.is_least and not least < -FLOOR * self.scale and self.floor < HIGHEST_FLOOR * self.scale:
            self.value = self.floor = max(FLOOR * self.scale, 100.0 * self.floor)
            return True
        return self.raised()

    def raised(self) -> bool:
        """Tenfold; False: it is as large as makes sense."""
        self.value = max(DAMPING * self.scale, 10.0 * self.value)
        return self.value <= MOST_DAMPING * self.scale

    def adapt(self, length: float) -> None:
        """After a step of this length."""
        if length < SHORT:
            self.raised()
        elif length > 0.5 and self.value > self.floor:
            self.value = max(self.floor, self.value / 10.0 if self.value > LEAST_DAMPING * self.scale else 0.0)


class Filter:
    """Pairs (infeasibility, cost) that a step must improve on in one of the two."""

    def __init__(self, infeasibility: float) -> None:
        self.most = 1e4 * max(1.0, infeasibility)
        self.pairs: list[tuple[float, float]] = []

    def accepts(self, cost: float, gaps: float, new_cost: float, new_gaps: float, length: float, slope: float) -> bool:
        """Whether a step may be taken; a step that lowers infeasibility instead of the cost enters the filter."""
        if not (isfinite(new_cost) and new_gaps <= self.most):
            return False
        noise = ROUNDING * abs(cost)
        if gaps <= FEASIBLE and new_gaps <= FEASIBLE:
            return new_cost <= cost + ARMIJO * length * min(slope, 0.0) + noise
        for old_gaps, old_cost in self.pairs:
            if new_gaps > (1.0 - FILTER) * old_gaps and new_cost > old_cost - FILTER * old_gaps + noise:
                return False
        if slope < 0.0 and gaps <= FEASIBLE * 1e3 and -slope * length > gaps:
            return new_cost <= cost + ARMIJO * length * slope + noise
        if new_gaps <= max((1.0 - FILTER) * gaps, FEASIBLE) or new_cost <= cost - FILTER * gaps:
            self.pairs.append((gaps, cost))
            return True
        return False


class Merit:
    """Cost plus weight times infeasibility, which a step must lower; the weight is above all multipliers."""

    def __init__(self) -> None:
        self.weight = 0.0

    def accepts(self, cost: float, gaps: float, new_cost: float, new_gaps: float, length: float, slope: float) -> bool:
        """Whether a step may be taken, which was to close all gaps at length 1."""
        weight, noise = self.weight, ROUNDING * abs(cost)
        least = ARMIJO * length * min(slope - weight * gaps, 0.0)
        return isfinite(new_cost) and new_cost + weight * new_gaps <= cost + weight * gaps + least + noise
