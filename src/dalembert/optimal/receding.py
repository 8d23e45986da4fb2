"""Model-predictive control: a law that plans from each measured state, starting from its last plan."""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute.threads import limit
from dalembert.compiler.execute.threads import run as run_threads
from dalembert.errors import DalembertError, is_number

from .arguments import DEFAULTS
from .horizon import Horizon, HorizonPrograms
from .plan import Plan

if TYPE_CHECKING:
    from .problem import Problem

REMEMBERED = 100_000  # durations of calls
CHUNKS = 4  # of motions, for each thread


class Receding:
    """u = law(t, q, v, goal=…): generalised forces (nv,) for the measured state; a law for simulate, rollout, stepper.

    The first call solves the problem. Each later one moves the plan on by the steps that have passed since, goes
    along the last direction, and computes the next one: with iterations=1 one linear-quadratic problem a call.
    `control` is the control of the last call, as the costs know it; `plan` is all that is planned. A time before that
    of the last call begins another run, without a plan. `missed` counts the plans of a run that keep not all
    constraints, of motions that are planned together at least so many: the first warns, and logs of runs have them.

    As the torque of a simulation, alone or in `Sampled`, it is a planner (`sim.system.planners`): it runs between
    compiled pieces of a rollout, for all motions at once, and each motion has a plan of its own.
    """

    def __init__(
        self, problem: Problem, iterations: int, rate: float | None, answer: Callable[..., Any] | None,
        parameters: Mapping[str, Any],
    ) -> None:  # fmt: skip
        if rate is not None and not (is_number(rate) and 0.0 < rate < np.inf):
            raise DalembertError(f"receding: rate is {rate!r}, expected a number above 0 [Hz]")
        self.problem, self.iterations = problem, iterations
        self.rate = 1.0 / problem.step if rate is None else float(rate)
        self._timed = {name: x for name, x in parameters.items() if callable(x)}
        fixed = {name: x for name, x in parameters.items() if name not in self._timed}
        defaults = {name: x for name, x in DEFAULTS.items() if name in problem.parameters}
        self._parameters = problem.arguments.values(defaults | fixed, missing_allowed=True)
        self._at(0.0)
        self._programs = HorizonPrograms(problem, answer)
        self._horizon = Horizon(problem, self._programs, iterations, ())
        self._moving = [piece for piece in self._horizon.pieces() if piece.follows_nodes]
        self._nv, first = problem.robot.nv, problem.layout.columns[problem.robot.nv]
        self._velocities = slice(first, first + self._nv)  # columns of dx
        self._times = problem.step * np.arange(1.0, problem.nodes + 1.0)[:, None]
        self._idle: dict[tuple[str, ...], list[Horizon]] = {}
        self._lock = threading.Lock()
        self._durations: deque[int] = deque(maxlen=REMEMBERED)
        self.reset()

    def reset(self) -> None:
        """Forget the plan: the next call solves the problem anew."""
        self._forget()
        self.restarts = -1  # how often the problem was solved anew since the first call
        self.control = np.zeros(self.problem.motion.controls)

    def _forget(self) -> None:
        self._memory, self._last = self.start(1), -np.inf
        self._view = self._views(self._memory)

    def __call__(self, t: float, q: Any, v: Any, **parameters: Any) -> np.ndarray:
        begin = time.perf_counter_ns()
        if parameters:
            self._parameters |= self.problem.arguments.values(parameters, missing_allowed=True)
            self._timed = {name: f for name, f in self._timed.items() if name not in parameters}
        values = self._parameters | self._at(t) if self._timed else self._parameters
        q, v = np.asarray(q, float), np.asarray(v, float)
        if q.shape != (self.problem.robot.nq,) or v.shape != (self._nv,):
            self.problem.arguments.state(q, v)  # which says what is wrong
        if not isfinite(t):
            raise DalembertError(f"receding: t is {t}, expected a time [s]")
        requests = np.concatenate([q, v])[None]
        if t < self._last:  # another run begins
            self._forget()
        self._last, is_warm = t, isfinite(self._memory.item(0))
        controls, horizon = len(self.control), self._horizon
        replies = np.empty((1, controls + self.width))
        horizon.take(values)
        self.restarts += self._improved(horizon, t, values, self._memory, requests, replies, range(1))
        self.control = replies[0, :controls]
        if is_warm:
            self._durations.append(time.perf_counter_ns() - begin)
        return replies[0, controls:].reshape(self.shape)

    @property
    def plan(self) -> Plan:
        """The plan of the last call, from the state that was measured then."""
        return self._horizon.solver.plan(self.iterations, False, "a plan that recedes is improved with every call")

    def budget(self) -> str:
        """The time that plans after the first have taken, compared with the period of the law.

        Calls from Python, and the plans of rollouts and steppers, each on its thread.
        """
        if not self._durations:
            return "no plans yet after the first, which solves the whole problem"
        µs = np.array(self._durations) / 1e3
        available = 1e6 / self.rate
        late = int(np.sum(µs > available))
        return (
            f"{len(µs)} plans: median {np.median(µs):.0f} µs, 99 % below {np.quantile(µs, 0.99):.0f} µs, longest "
            f"{µs.max():.0f} µs of {available:.0f} µs at {self.rate:g} Hz ({100 * np.median(µs) / available:.1f} %), "
            f"{late} too late, {max(self.restarts, 0)} restarts"
            + (f", {self.missed} keep not all constraints" if self.missed else "")
        )

    # ---- as a planner of many motions

    @property
    def period(self) -> float:
        """Between two plans [s]."""
        return 1.0 / self.rate

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an answer."""
        return self._programs.shape

    @property
    def width(self) -> int:
        """Numbers of an answer."""
        return self._programs.control.shapes["answer"][0]

    @property
    def size(self) -> int:
        """Numbers that are kept of a motion from plan to plan."""
        return self._horizon.steps.widths[0]

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of what may differ from motion to motion: the problem's parameters."""
        return tuple(self.problem.parameters)

    def determinants(self) -> dict[str, Any]:
        """All that decides the code of a step that it drives (see `execute.identity`): its answers are an input."""
        return {"shape": self.shape, "settings": self.settings}

    def start(self, count: int) -> np.ndarray:
        """Memory (count, size) of motions that have no plan yet."""
        memory = np.zeros((count, self.size))
        memory[:, 0] = np.nan
        self.missed, self._first_missed = 0, ""
        return memory

    def advance(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        memory: np.ndarray,
        settings: Mapping[str, np.ndarray],
        threads: int | None = None,
    ) -> np.ndarray:
        """Answers (motions, width) at time t [s] in the states q (motions, nq), v (motions, nv); memory moves on.

        settings: parameters, each (motions, size) or (motions, (nodes + 1) · size).
        """
        each = {name: self._rows(name, x) for name, x in settings.items()}
        values = {name: x for name, x in (self._parameters | self._at(t)).items() if name not in each}
        requests = np.concatenate([q, v, *(x.reshape(len(q), -1) for x in each.values())], axis=1).astype(float)
        replies = np.empty((len(q), len(self.control) + self.width))
        workers = min(limit(threads), max(1, len(q)))
        length = 1 if np.isnan(memory[:, 0]).any() else max(1, len(q) // (CHUNKS * workers))
        chunks = iter([range(k, min(k + length, len(q))) for k in range(0, len(q), length)])  # next() is atomic

        def work() -> None:
            with self._lent(tuple(each)) as horizon:
                horizon.take(values)
                for rows in chunks:
                    begin, is_warm = time.perf_counter_ns(), isfinite(memory.item(rows.start, 0))
                    again = self._improved(horizon, t, values, memory, requests, replies, rows)
                    if is_warm:  # then all of them are
                        duration = (time.perf_counter_ns() - begin) // len(rows)
                        with self._lock:
                            self._durations.extend([duration] * len(rows))
                            self.restarts = max(self.restarts, 0) + again

        run_threads(work, workers)
        return replies[:, len(self.control) :]

    def _rows(self, name: str, x: np.ndarray) -> np.ndarray:
        """A parameter of all motions, (motions, nodes + 1, size)."""
        size, rows = self.problem.parameters[name], self.problem.nodes + 1
        if x.shape[1] not in (size, rows * size):
            raise DalembertError(
                f"receding: parameter {name!r} has {x.shape[1]} numbers for each motion, expected {size}, or "
                f"{rows * size} for {rows} nodes"
            )
        return np.broadcast_to(np.asarray(x, float).reshape(len(x), -1, size), (len(x), rows, size))

    @contextmanager
    def _lent(self, each: tuple[str, ...]) -> Iterator[Horizon]:
        """A solver for one thread, kept for the next call."""
        with self._lock:
            idle = self._idle.setdefault(each, [])
            horizon = idle.pop() if idle else None
        if horizon is None:
            horizon = Horizon(self.problem, self._programs, self.iterations, each)
        try:
            yield horizon
        finally:
            with self._lock:
                idle.append(horizon)

    # ---- steps of a call

    def _at(self, t: float) -> dict[str, np.ndarray]:
        """Parameters that are functions of time."""
        asked = {name: f(float(t)) for name, f in self._timed.items()}
        return self.problem.arguments.values(asked, missing_allowed=True)

    def _improved(
        self, horizon: Horizon, t: float, values: Mapping[str, np.ndarray], memory: np.ndarray, requests: np.ndarray,
        replies: np.ndarray, rows: range,
    ) -> int:  # fmt: skip
        """Plans of some rows, moved on to t and improved; how many were solved anew."""
        warm = memory[rows.start : rows.stop]
        if not isfinite(warm.item(0) if len(rows) == 1 else warm[:, 0].sum()):
            bad: Sequence[int] = rows if len(rows) == 1 else [k for k in rows if np.isnan(memory[k, 0])]
        else:
            self._shift(t, warm)
            horizon.advance(memory, requests, replies, rows.start, rows.stop)
            answers = replies[rows.start : rows.stop]
            if isfinite(answers.sum()):
                self._note_missed(t, horizon.missed)
                return 0
            bad = [k for k in rows if not np.isfinite(replies[k]).all()]  # the last direction led astray
        nq, nv = self.problem.robot.nq, self._nv
        for k in bad:
            own, begin = dict(values), nq + nv
            for name in horizon.each:
                size = horizon.solver.parameters[name].size
                own[name] = requests[k, begin : begin + size].reshape(horizon.solver.parameters[name].shape)
                begin += size
            memory[k] = horizon.restart(t, requests[k, :nq].copy(), requests[k, nq : nq + nv].copy(), own)
            replies[k] = np.concatenate([horizon.control[0], horizon.answer[0]])
            self._note_missed(t, horizon.missed)
        return len(bad)

    def _note_missed(self, t: float, words: str) -> None:
        """Count a plan that keeps not all constraints, and warn of the first one."""
        if not words:
            return
        with self._lock:
            self.missed += 1
            if self._first_missed:
                return
            self._first_missed = f"the first at t = {t:.6g} s: {words}"
        warnings.warn(
            f"receding: no plan was found that keeps all constraints, {self._first_missed}; the answers are those of "
            "plans that do not: check the problem by problem.solve from this state",
            stacklevel=5,
        )

    def remarks(self) -> list[str]:
        """Lines for the log of a run: plans that keep not all constraints."""
        if not self.missed:
            return []
        return [f"receding: {self.missed} plans keep not all constraints, {self._first_missed}"]

    def _shift(self, t: float, memory: np.ndarray) -> None:
        """Drop the nodes that have passed; what comes in behind goes on from the last."""
        problem = self.problem
        if len(memory) == 1:
            passed = min(int((t - memory.item(0)) / problem.step + 1e-6), problem.nodes)
            if passed > 0:
                self._move(self._view if memory.base is self._memory else self._views(memory), passed)
            return
        steps = np.minimum(((t - memory[:, 0]) / problem.step + 1e-6).astype(int), problem.nodes)
        for passed in set(steps[steps > 0].tolist()):
            chosen = steps == passed
            group = memory if chosen.all() else memory[chosen]
            self._move(self._views(group), passed)
            if group is not memory:
                memory[chosen] = group

    def _views(self, memory: np.ndarray) -> dict[str, list[np.ndarray]]:
        """Parts (motions, rows, width) of plans that move on with the nodes, by name, and times of the first node."""
        views: dict[str, list[np.ndarray]] = {"origin": [memory[:, 0]]}
        for piece in self._moving:
            views.setdefault(piece.name, []).append(piece.of(memory))
        return views

    def _move(self, views: Mapping[str, list[np.ndarray]], passed: int) -> None:
        """Plans move on by some nodes; where steps are linear, the last states go on as they move, uncontrolled."""
        h, N, n = self.problem.step, self.problem.nodes, self._nv
        for name, arrays in views.items():
            for x in arrays if name != "origin" else ():
                x[:, :-passed] = x[:, passed:]
                if passed > 1:
                    x[:, -passed:] = x[:, -1:]
        views["origin"][0][:] += passed * h
        if self.problem.motion.is_linear:
            (q,), (v,), (w,), (dx,), (dw,) = (views[name] for name in ("q", "v", "w", "dx", "dw"))
            times = self._times[:passed]
            w[:, N - passed :], dw[:, N - passed : N] = 0.0, 0.0
            q[:, N - passed + 1 :] += times * v[:, -1:]
            dx[:, N - passed + 1 :, :n] += times * dx[:, -1:, self._velocities]
