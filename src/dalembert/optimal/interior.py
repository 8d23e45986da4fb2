"""Hard constraints: a primal-dual interior point method on the same stages.

Slacks and multipliers are eliminated from the linear-quadratic problem of each iteration (see `stage`) and follow from
its solution. The barrier μ falls with the mean of slack times multiplier that a step is seen to lead to; the models at
the end of the step are already those of the next barrier, so that an iteration evaluates the nodes once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .search import NOTHING, Damping, Filter

if TYPE_CHECKING:
    from .solver import Solver

FIRST_GAP = 0.1  # of the cost: what the barrier takes away at first
SHORTEST = 1e-4  # part of the way to the boundary below which a direction is given up
BOUNDARY = 0.995  # part of the way to a slack of zero that a step may go


class InteriorPoint:
    """How problems with constraints iterate; the methods are those of `FilterSearch`."""

    STUCK = "no step improves on cost or constraints any more"
    taken, ended, may_go_ahead, was_done = 0, False, False, False
    patience = 10  # iterations after which convergence counts as slow: see `Solver.bend`

    def __init__(self, solver: Solver, tolerance: float) -> None:
        self.solver, self.tolerance = solver, tolerance
        self.sums = self._first()
        self.damping = Damping(solver)
        self.closing = True  # whether the last step lowered infeasibility: if not, the barrier stays

    def _first(self) -> np.ndarray:
        """Slacks well inside, multipliers to match."""
        solver = self.solver
        sums = solver.start()
        if not np.isfinite(sums[0]):
            solver.complain()
        self.mu = max(FIRST_GAP * abs(float(sums[0])) / max(1, solver.count), 1e-12)
        for kept in solver.constraints:
            if not kept.rows.rows:
                continue
            equal, side = kept.rows.equalities, solver.side
            kept.slack[side][:] = np.where(
                equal, 1.0, np.maximum(kept.value, kept.rows.scales) * kept.enabled + 1.0 - kept.enabled
            )
            kept.multiplier[side][:] = np.where(equal, 0.0, self.mu / kept.slack[side])
        solver.barrier[0] = self.mu
        sums = solver.start()
        self.filter = Filter(float(sums[1]))
        return sums

    def step(self, gain: float) -> float | None:
        """The step that the filter accepts; None: there is none."""
        self.longest, dual = self.solver.constrained_lengths(self.mu * max(1, self.solver.count), BOUNDARY)
        return self._searched(self.longest, dual)

    def is_done(self, gain: float) -> bool:
        """Whether no decrease is promised, constraints hold, and slack times multiplier is as good as zero."""
        cost, off = abs(float(self.sums[0])), float(self.sums[1])
        accuracy = self.tolerance * max(cost, NOTHING)
        enough = max(accuracy, 2.0 * self.mu * self.solver.count)
        settled = 0.5 * gain <= (enough if self.damping.is_least else 0.01 * enough)
        return settled and off <= self.allowed and float(self.sums[3]) <= 10.0 * accuracy

    def numbers(self) -> dict[str, float]:
        """For the user's progress."""
        return {"cost": float(self.sums[0]), "infeasibility": float(self.sums[1]), "barrier": self.mu}

    @property
    def allowed(self) -> float:
        """Infeasibility, summed over all rows of all nodes, that counts as none."""
        return 1e-9 * max(1, self.solver.count)

    def _searched(self, primal: float, dual: float) -> float | None:
        solver, mu = self.solver, self.mu
        before = float(self.sums[0] - mu * self.sums[2])
        slope, length = solver.slope() - mu * self._log_rate(), primal
        following = self._next_barrier(primal, dual)
        solver.barrier[0] = following
        while length > SHORTEST * primal:
            sums = solver.evaluate(length, dual)
            after = float(sums[0] - mu * sums[2])
            judge = solver.merit or self.filter
            if judge.accepts(before, float(self.sums[1]), after, float(sums[1]), length, slope):
                self.closing = sums[1] <= max(0.99 * self.sums[1], self.allowed)
                self.sums = sums.copy()
                if following < 0.5 * mu:
                    self.filter.pairs.clear()
                self.mu = following
                return length
            length *= 0.5
        solver.barrier[0] = mu
        return None

    def _log_rate(self) -> float:
        """The rate of the sum of the logarithms of the slacks."""
        side = self.solver.side
        kept = [c for c in self.solver.constraints if c.rows.rows]
        return float(sum(np.sum(c.rates["d slack"] / c.slack[side]) for c in kept))

    def _next_barrier(self, primal: float, dual: float) -> float:
        """Lower, the better a step in full succeeds in bringing slack times multiplier down."""
        side, total = self.solver.side, 0.0
        for kept in self.solver.constraints:
            if kept.rows.rows:
                s = kept.slack[side] + primal * kept.rates["d slack"]
                m = kept.multiplier[side] + dual * kept.rates["d multiplier"]
                total += float(np.sum((s * m)[:, ~kept.rows.equalities]))
        mean = total / max(1, self.solver.count)
        shortest = min(primal, dual) if self.closing else 0.0
        factor = 0.03 if shortest > 0.99 else 0.1 if shortest > 0.9 else 0.3 if shortest > 0.5 else 1.0
        least = 0.1 * self.tolerance * abs(float(self.sums[0])) / max(1, self.solver.count)
        return max(min(self.mu, factor * mean), least, 1e-18)
