"""Newton's method on a problem in stages: directions, line search, and what is done where convergence is slow.

An iteration is two compiled calls: `Direction` solves the linear-quadratic problem of all nodes, `Evaluation` moves all
nodes along it and gives their models there. What the line search compares are sums: cost with barrier, and
infeasibility (gaps between nodes and constraints), accepted by a filter (Wächter and Biegler 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dalembert.compiler.execute.stages import Evaluation, FullSteps
from dalembert.errors import DalembertError

from .beginning import begin
from .diagnosis import overshooting, slope_complaint
from .memory import Memory
from .plan import Plan
from .search import ARMIJO, FEASIBLE, NOTHING, ROUNDING, SLOW, FilterSearch, InteriorPoint, Merit
from .stage import MEASURES

if TYPE_CHECKING:
    from .problem import Problem


class Solver(Memory):
    """The iterations on the memory of one problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        programs = problem.programs
        self.plain = self.evaluations = [self.evaluation(programs, side) for side in (0, 1)]
        self.merit: Merit | None = None  # instead of the filter, where convergence is slow
        self.failures = 0  # how often second derivatives made the model concave
        self.bent: list[Evaluation] | None = None  # with second derivatives, once they are needed
        self.rates_by_part = [self.rates(programs, k) for k in (0, 1)]
        self.count = sum(c.inequalities for c in self.constraints)
        self.is_constrained = any(len(c.rows.rows) for c in self.constraints)
        self.is_linear = problem.motion.is_linear
        self.is_plain = problem.is_plain
        self.plain_steps = self.full_steps = self._full_steps(self.plain)
        self.bent_steps: FullSteps | None = None
        self.side = 0  # which of the two trajectories holds the current one
        self.evaluated, self.sums = 0, self.plain[1].sums  # which one was evaluated last, and the measures there

    def _full_steps(self, evaluations: list[Evaluation]) -> FullSteps | None:
        """Newton's method in one call, where there are no gaps and no constraints."""
        if not self.is_plain:
            return None
        last = [self.evaluation(self.problem.last_programs, side) for side in (0, 1)]
        return FullSteps(self.direction, evaluations, last, self.length, ARMIJO, ROUNDING, NOTHING)

    # ---- starting

    def begin(self, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, np.ndarray], guess: Any) -> None:
        """Take a start, parameters and a guess: see `beginning`."""
        self.side, self.failures, self.merit = 0, 0, None
        self.curvature[0], self.evaluations, self.full_steps = 0.0, self.plain, self.plain_steps
        for name, x in parameters.items():
            self.parameters[name][:] = x
        self.direction.first.fill(0.0)
        begin(self, q, v, guess)

    # ---- iterations

    def evaluate(self, length: float, dual: float = 1.0) -> np.ndarray:
        """Sums of the measures at this length along the direction, in the other trajectory."""
        self.length[0], self.length[1] = length, dual
        self.evaluations[self.side]()
        self.sums, self.evaluated = self.evaluations[self.side].sums, 1 - self.side
        return self.sums

    def ended(self, side: int) -> None:
        """Compiled iterations have led into this trajectory."""
        self.side = self.evaluated = side
        self.sums = self.evaluations[1 - side].sums

    def rest(self) -> None:
        """No direction."""
        self.direction.states.fill(0.0)
        self.direction.controls.fill(0.0)
        for kept in self.constraints:
            kept.rest()

    def start(self) -> np.ndarray:
        """The models at the current trajectory."""
        self.rest()
        sums = self.evaluate(0.0, 0.0).copy()
        self.side = 1 - self.side
        return sums

    def solve(
        self, iterations: int, tolerance: float, progress: Callable[[Mapping[str, float]], None] | None = None
    ) -> Plan:
        """Iterate until the model promises no further decrease."""
        search: FilterSearch | InteriorPoint
        if self.is_constrained:
            search = InteriorPoint(self, tolerance)
        else:
            search = FilterSearch(self, tolerance, min(iterations, SLOW) if progress is None else 0)
        damping, patience, k = search.damping, search.patience, search.taken
        while k < iterations and not search.ended:
            if isinstance(search, FilterSearch) and search.may_go_ahead and damping.value == 0.0:
                k += search.go_ahead(iterations - k if self.curvature[0] or k >= SLOW else min(iterations, SLOW) - k)
                continue
            search.may_go_ahead = self.full_steps is not None and progress is None
            k += 1
            if k > patience:
                self.bend()
            gain, least = self.direction(damping.value)
            if not (least > 0.0 and isfinite(gain)):
                if self.straighten():
                    patience = 2 * k
                elif not damping.failed(least):
                    self.complain()
                continue
            self.update_costates()
            length = search.step(gain)
            if length is None:
                if search.was_done:
                    return self.plan(k, True, "")
                if self.straighten():
                    patience = 2 * k
                elif not damping.raised():
                    return self.plan(k, False, search.STUCK)
                continue
            self.side = 1 - self.side
            if progress is not None:
                progress({"iteration": k, **search.numbers(), "length": length, "damping": damping.value})
            if search.is_done(gain):
                return self.plan(k, True, "")
            damping.adapt(length / search.longest)
        return self.plan(k, search.ended, "" if search.ended else self.unsettled(iterations))

    def stepped(self, side: int, taken: int, settled: bool, refused: bool) -> None:
        """After full steps from the trajectory `side`: which one is the current one, and what was evaluated last."""
        assert self.full_steps is not None
        self.side = (side + taken) % 2
        self.evaluated = 1 - self.side if refused else self.side
        self.sums = (self.full_steps.last if settled else self.evaluations)[1 - self.evaluated].sums

    def bend(self) -> None:
        """From now on with second derivatives of residuals and constraints on the state alone, and of steps."""
        if not self.problem.bends or self.curvature[0]:
            return
        self.curvature[0] = 1.0
        self.rest()
        self.update_costates()
        if self.bent is None:
            programs = self.problem.bent_programs
            self.bent = [self.evaluation(programs, side) for side in (0, 1)]
            self.bent_steps = self._full_steps(self.bent)
        self.evaluations, self.full_steps = self.bent, self.bent_steps
        self.evaluate(0.0, 0.0)
        self.side = 1 - self.side

    def straighten(self) -> bool:
        """Leave second derivatives of steps out again, where they make the model concave; False: they are not in."""
        if self.is_linear or not self.curvature[0]:
            return False
        self.curvature[0], self.evaluations = 0.0, self.plain
        self.failures += 1
        self.merit = Merit() if self.failures > 1 else None
        self.rest()
        self.evaluate(0.0, 0.0)
        self.side = 1 - self.side
        return True

    def update_costates(self) -> None:
        """Costates behind each node: multipliers of the steps in the last problem of stages; and the merit's weight."""
        if self.is_linear or not (self.curvature[0] or self.merit):
            return
        layout, direction, N = self.problem.layout, self.direction, self.problem.nodes
        n, m, width, columns = layout.states, layout.controls, layout.state_width, list(layout.columns)
        affine = direction.states.copy()
        affine[:, layout.constant] = 1.0
        states = direction.quadratic[:, : n * width].reshape(N, n, width)
        controls = direction.quadratic[:, n * width :].reshape(N, m, -1)[:, :, columns]
        slopes = np.einsum("kiw,kw->ki", states, affine[:N])
        slopes += np.einsum("kji,kj->ki", controls, direction.controls[:N, :m])
        A = layout.transitions(direction.transition)[0]
        costate = direction.end.reshape(n, width) @ affine[N]
        for k in reversed(range(N)):
            self.costates[k] = costate[: self.costates.shape[1]]
            costate = slopes[k] + costate @ A[k]
        multipliers = [kept.multiplier[self.side] for kept in self.constraints]
        if self.merit is not None:
            self.merit.weight = 1.5 * max(float(np.max(np.abs(x), initial=0.0)) for x in (self.costates, *multipliers))

    def unsettled(self, iterations: int) -> str:
        """Words for a solve that ran out of iterations."""
        linear, exact, bends = self.is_linear, self.problem.exact, self.problem.bends
        better = ': where residuals stay large, curvature="auto" or "exact" converges better'
        advice = better if linear and not exact and not bends else ""
        return f"it had not settled after {iterations} iterations{advice}"

    def slope(self) -> float:
        """The rate at which the cost changes along the direction."""
        states = np.vdot(self.slope_x, self.direction.states)
        return float(states + np.vdot(self.slope_w[:-1], self.direction.controls[:-1]))

    def constrained_lengths(self, barrier: float, boundary: float) -> tuple[float, float]:
        """Directions of slacks and multipliers, and how far they may go. barrier: of all rows together."""
        self.barrier[0] = barrier / max(1, self.count)
        for rates in filter(None, self.rates_by_part):
            rates[self.side]()
        reach = [kept.rates["reach"].max(axis=0) for kept in self.constraints if kept.rows.rows]
        primal, dual = np.max(reach, axis=0)
        return min(1.0, boundary / max(primal, 1e-300)), min(1.0, boundary / max(dual, 1e-300))

    # ---- results

    def plan(self, iterations: int, converged: bool, why: str) -> Plan:
        """The current trajectory as a plan."""
        problem, unknowns = self.problem, self.problem.constants.unknowns
        if self.evaluated != self.side:  # a step was tried and refused
            self.start()
        costs = dict(zip(problem.costs, self.sums[len(MEASURES) :].tolist(), strict=True))
        violation, worst = self.worst_violation()
        reasons = [why] if why else []
        if not converged and violation > FEASIBLE:
            reasons.insert(0, worst)
        if words := overshooting(self):
            reasons.append(words)
        start = self.constraints[0].start_violation()
        if start is not None:
            violation = max(violation, start[1])
            reasons.insert(0, f"the start violates constraint {start[0]!r} by {start[1]:.3g}")
            converged = False
        return Plan(
            problem=problem,
            q=self.q[self.side].copy(),
            v=self.v[self.side].copy(),
            u=self.u.copy(),
            control=self.w[self.side].copy(),
            gain_rows=self.direction.gains.copy(),
            cost=sum(costs.values()),
            costs=costs,
            iterations=iterations,
            converged=converged,
            violation=violation,
            why="; ".join(reasons),
            durations=self.durations[:, 0].copy(),
            unknowns={name: self.constants[self.side][f"unknown {name}"][0].copy() for name in unknowns},
        )

    def worst_violation(self) -> tuple[float, str]:
        """The largest violation of a gap or constraint, and words for it."""
        worst, words = 0.0, ""
        if self.is_plain:
            return worst, words
        if not self.problem.motion.is_linear:
            gaps = np.abs(self.gaps)
            k, i = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
            names = self.problem.robot.model.freedom_names
            worst = float(gaps[k, i])
            what = "position" if i < len(names) else "velocity"
            words = f"the {what} of {names[i % len(names)]} jumps by {worst:.3g} from node {k} to {k + 1}"
        for side, kept in enumerate(self.constraints):
            row = kept.worst()
            if row is not None and row[2] > worst:
                worst = row[2]
                place = row[0] + side * self.problem.nodes
                words = f"constraint {row[1]!r} is violated by {worst:.3g} at node {place}"
        return worst, words

    def complain(self) -> NoReturn:
        """Raise the error that names the term and the node at which a cost or its slope is no number."""
        costs = np.concatenate(self.measures)[:, len(MEASURES) :]
        if not np.all(np.isfinite(costs)):
            node, term = np.argwhere(~np.isfinite(costs))[0]
            raise DalembertError(
                f"solve: cost {self.problem.costs[term]!r} is {costs[node, term]} at node {node}, expected a finite "
                "number: look at what it computes there"
            )
        raise DalembertError(slope_complaint(self))
