"""Globalisation of Newton's method: damping of directions, the filter that accepts steps, hard constraints.

Hard constraints: a primal-dual interior point method on the same stages. Slacks and multipliers are eliminated from the
linear-quadratic problem of each iteration (see `stage`) and follow from its solution. The barrier μ falls with the mean
of slack times multiplier that a step is seen to lead to; the models at the end of the step are those of the next
barrier, so that an iteration evaluates the nodes once.
"""

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
SLOW = 12  # iterations after which convergence counts as slow: see `Solver.bend`
SHORTEST = 2.0**-14  # step length below which a direction is given up


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


class FilterSearch:
    """How problems without constraints iterate: steps are halved until the filter accepts them.

    Where there are no gaps either, full steps are compiled, at the start at most so many: 0 for none. taken: those;
    ended: whether they have settled; floor: a decrease that counts as none.
    """

    STUCK = "no step along Newton's direction lowers the cost any more"
    patience, longest = SLOW, 1.0

    def __init__(self, solver: Solver, tolerance: float, most: int) -> None:
        self.solver, self.tolerance, self.damping = solver, tolerance, Damping(solver)
        self.taken, self.ended, self.may_go_ahead, self.was_done, self.gaps = 0, False, False, False, 0.0
        if most and solver.full_steps is not None:
            solver.rest()
            self.taken, self.ended, self.cost, self.floor = solver.full_steps.begin(most, tolerance)
            refused = not self.ended and self.taken < most
            solver.stepped(1, self.taken, self.ended, refused)
            self.may_go_ahead = not refused
        else:
            self.cost, self.gaps = solver.start()[:2].tolist()
            self.floor = tolerance * NOTHING * max(1.0, abs(self.cost))
        if not isfinite(self.cost):
            solver.complain()
        self.filter = Filter(self.gaps)

    def go_ahead(self, most: int) -> int:
        """Compiled full steps, at most so many; returns how many were taken."""
        solver = self.solver
        assert solver.full_steps is not None
        taken, self.ended, self.cost = solver.full_steps(self.cost, solver.side, most, self.tolerance, self.floor)
        solver.stepped(solver.side, taken, self.ended, taken < most and not self.ended)
        self.may_go_ahead = False
        return taken

    def step(self, gain: float) -> float | None:
        """The longest step that is accepted; None: there is none. gain: twice the decrease that the model promises."""
        solver = self.solver
        small = 0.5 * gain <= max(self.tolerance * abs(self.cost), self.floor)
        slope, length = -gain if solver.is_plain else solver.slope(), 1.0
        while length >= SHORTEST:
            cost, gaps = solver.evaluate(length)[:2].tolist()
            judge = solver.merit or self.filter
            if judge.accepts(self.cost, self.gaps, cost, gaps, length, slope):
                self.cost, self.gaps = cost, gaps
                break
            length *= 0.5
        self.was_done = small and self.gaps <= FEASIBLE
        return length if length >= SHORTEST else None

    def is_done(self, gain: float) -> bool:
        """Whether the plan has settled with the last step."""
        return self.was_done and (self.damping.is_least or 50.0 * gain <= self.tolerance * abs(self.cost))

    def numbers(self) -> dict[str, float]:
        """For the user's progress."""
        return {"cost": self.cost, "infeasibility": self.gaps}


FIRST_GAP = 0.1  # of the cost: what the barrier takes away at first
LEAST_SHARE = 1e-4  # part of the way to the boundary below which a direction is given up
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
        kept = [c for c in solver.constraints if c.rows.rows]
        logs = float(sum(np.sum(c.rates["d slack"] / c.slack[solver.side]) for c in kept))  # rate of their sum
        slope, length = solver.slope() - mu * logs, primal
        following = self._next_barrier(primal, dual)
        solver.barrier[0] = following
        while length > LEAST_SHARE * primal:
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
