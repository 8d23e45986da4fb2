"""Model-predictive control: a law that plans from each measured state, starting from its last plan."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError

from .plan import Plan
from .solver import Solver

if TYPE_CHECKING:
    from .problem import Problem

REMEMBERED = 100_000  # durations of calls
BARRIER = 1e-3  # of the cost: what the barrier of constraints takes away, so that a warm start stays well inside
BOUNDARY = 0.9


class Receding:
    """u = law(t, q, v, goal=…): generalised forces (nv,) for the measured state, for `simulate` in `Sampled`.

    The first call solves the problem. Each later one moves the plan on by the steps that have passed since, goes
    along the last direction, and computes the next one: with iterations=1 one linear-quadratic problem a call.
    `control` is the control of the last call, as the costs know it; `plan` is all that is planned.
    """

    def __init__(self, problem: Problem, iterations: int, rate: float | None, parameters: Mapping[str, Any]) -> None:
        if rate is not None and not 0.0 < float(rate) < np.inf:
            raise DalembertError(f"receding: rate is {rate!r}, expected a number above 0 [Hz]")
        self.problem, self.iterations = problem, iterations
        self.rate = 1.0 / problem.step if rate is None else float(rate)
        self._solver = Solver(problem)
        defaults = {"impact": np.zeros(1)} if problem.motion.contacts is not None else {}
        self._parameters = problem.values(defaults | dict(parameters), missing_allowed=True)
        self._durations: deque[int] = deque(maxlen=REMEMBERED)
        motion = problem.motion
        self._columns, self._nv = list(problem.layout.columns), problem.robot.nv
        self._torque_range = problem.ranges.get("torque")
        self._is_full = motion.by_acceleration or len(motion.driven) == problem.robot.nv
        self.reset()

    def reset(self) -> None:
        """Forget the plan: the next call solves the problem anew."""
        self._origin: float | None = None  # time of node 0
        self._is_warm = False
        self.restarts = -1  # how often the problem was solved anew since the first call
        self.control = np.zeros(self.problem.motion.controls)

    def __call__(self, t: float, q: Any, v: Any, **parameters: Any) -> np.ndarray:
        begin = time.perf_counter_ns()
        solver = self._solver
        for name, rows in (self.problem.values(parameters, missing_allowed=True) if parameters else {}).items():
            self._parameters[name] = rows
            solver.parameters[name][:] = rows
        q, v = np.asarray(q, float), np.asarray(v, float)
        self._is_warm = self._origin is not None
        if not self._is_warm:
            self._restart(t, q, v)
        else:
            self._shift(t)
            if not self._iterate(q, v):  # the last direction led astray, or the state is no number
                self._restart(t, q, v)
        if self._torque_range is not None:
            np.clip(self.control, *self._torque_range, out=self.control)
        tau = (
            self.control.copy() if self._is_full else np.asarray(self.problem.motion.torque(q, v, self.control), float)
        )
        if self._is_warm:
            self._durations.append(time.perf_counter_ns() - begin)
        return tau

    @property
    def plan(self) -> Plan:
        """The plan of the last call, from the state that was measured then."""
        return self._solver.plan(self.iterations, False, "a plan that recedes is improved with every call")

    def budget(self) -> str:
        """The time that calls after the first have taken, compared with the period of the law."""
        if not self._durations:
            return "no calls yet after the first, which solves the whole problem"
        µs = np.array(self._durations) / 1e3
        available = 1e6 / self.rate
        late = int(np.sum(µs > available))
        return (
            f"{len(µs)} calls: median {np.median(µs):.0f} µs, 99 % below {np.quantile(µs, 0.99):.0f} µs, longest "
            f"{µs.max():.0f} µs of {available:.0f} µs at {self.rate:g} Hz ({100 * np.median(µs) / available:.1f} %), "
            f"{late} too late, {max(self.restarts, 0)} restarts"
        )

    # ---- steps of a call

    def _restart(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Solve from scratch."""
        problem, solver = self.problem, self._solver
        q, v = problem.state(q, v)
        missing = [name for name in problem.parameters if name not in self._parameters]
        if missing:
            raise DalembertError(
                f"receding: parameter {missing[0]!r} has no value yet: pass {missing[0]}=… to receding() or the "
                f"first call"
            )
        solver.begin(q, v, self._parameters, None)
        plan = solver.solve(100, 1e-6)
        solver.direction.states[:], solver.direction.controls[:] = 0.0, 0.0
        for kept in solver.constraints:
            kept.rest()
        self._lengths = 1.0, 1.0
        self._origin = float(t)
        self.restarts += 1
        self.control = plan.u[0].copy()

    def _shift(self, t: float) -> None:
        """Drop the nodes that have passed; what comes in behind goes on from the last."""
        assert self._origin is not None
        problem, solver = self.problem, self._solver
        passed = min(int((t - self._origin) / problem.step + 1e-6), problem.nodes)
        if passed < 1:
            return
        self._origin += passed * problem.step
        side, n = solver.side, self._nv
        q, v, w = solver.q[side], solver.v[side], solver.w[side]
        dx, dw = solver.direction.states, solver.direction.controls
        for _ in range(passed):
            for x in (q, v, w, dx, dw, *solver.carried()):
                x[:-1] = x[1:]
            if problem.motion.is_linear:
                w[-1], dw[-2] = 0.0, 0.0
                q[-1] += problem.step * v[-1]
                dx[-1, :n] += problem.step * dx[-1, self._columns[n:]]

    def _iterate(self, q: np.ndarray, v: np.ndarray) -> bool:
        """Along the last direction, then the next one and its control; whether that is a number."""
        solver, problem = self._solver, self.problem
        n, motion = self._nv, problem.motion
        for k in range(self.iterations):
            sums = solver.evaluate(*self._lengths)
            solver.side = side = 1 - solver.side
            if k == 0:
                change = (
                    q - solver.q[side][0] if motion.robot.model.flat else motion.robot.difference(solver.q[side][0], q)
                )
                solver.direction.first[self._columns[:n]] = change
                solver.direction.first[self._columns[n:]] = v - solver.v[side][0]
            else:
                solver.direction.first[:] = 0.0
            solver.direction(0.0)
            if solver.is_constrained:
                self._lengths = solver.constrained_lengths(BARRIER * abs(float(sums[0])), BOUNDARY)
        primal = self._lengths[0]
        control = solver.w[side][0] + primal * solver.direction.controls[0, : motion.controls]
        if not isfinite(control.sum()):
            return False
        self.control = np.array(motion.robot.inverse_dynamics(q, v, control)) if motion.by_acceleration else control
        return True
