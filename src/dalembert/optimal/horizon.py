"""State a receding horizon keeps between calls, and a solver that improves the plans of many motions in turn.

A motion's plan is one row of numbers, so that it can be kept, copied and started from again: time of its first node,
states, controls, the last direction, parameters that the plan has chosen and, with constraints, slacks and multipliers.
A call takes measured states and gives controls: compiled, without Python between the motions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import math
from dalembert.compiler.execute import Program
from dalembert.compiler.execute.host import Bound
from dalembert.compiler.execute.receding import RecedingSteps
from dalembert.compiler.graph import trace
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError

from .solver import Solver
from .terms import UserFunction, rows_of

if TYPE_CHECKING:
    from .problem import Problem

BARRIER = 1e-3  # of the cost: what the barrier of constraints takes away, so that a warm start stays well inside
BOUNDARY = 0.9  # part of the way to a slack of zero that a step may go
MISSED = 1e-2  # of a limit, or of 1: plans that miss one by more are counted; warm starts under noise miss by less
RESTART = 100, 1e-6  # iterations and tolerance of a solve from scratch
PLANNED = ("q_next", "v_next", "force")  # what an answer may ask for beside state, control and parameters


class Piece(NamedTuple):
    """Part of a plan's row: numbers begin … end are an array (rows, width); follows_nodes: a row for each node."""

    name: str
    begin: int
    rows: int
    width: int
    follows_nodes: bool

    def of(self, memory: np.ndarray) -> np.ndarray:
        """The part (motions, rows, width) of rows (motions, n), as a view."""
        return memory[:, self.begin : self.begin + self.rows * self.width].reshape(len(memory), self.rows, self.width)


class HorizonPrograms:
    """Programs that a law compiles beside its problem: the change of the first state, and what a plan answers."""

    def __init__(self, problem: Problem, answer: Any) -> None:
        self.problem = problem
        known = ("q", "v", "u", *PLANNED[: 2 if problem.motion.contacts is None else 3])
        self._answer = None if answer is None else UserFunction("answer", answer, known, problem.parameters, "array")
        self.shape: tuple[int, ...] = ()
        rows = problem.node.rows
        self.state_rows = [row for row, alone in zip(rows.rows, rows.alone, strict=True) if alone]
        self.measure, self.control = self._measure(), self._control()

    def _measure(self) -> Program:
        """The change of the first state to the measured one, where an iteration is the first; else none."""
        problem, layout = self.problem, self.problem.layout
        nq, nv, model = problem.robot.nq, problem.robot.nv, problem.robot.model
        sizes = {"q": nq, "v": nv, "measured q": nq, "measured v": nv, "is first": 1}

        def change(q: Any, v: Any, measured_q: Any, measured_v: Any, is_first: Any) -> dict[str, Any]:
            kept = np.zeros(problem.constants.count)  # what the first solve has chosen
            off = np.concatenate([algorithms.difference(model, q, measured_q), measured_v - v, kept])
            return {"first": layout.state_row(np.array([math.where(is_first[0] > 0.5, x, 0.0) for x in off], object))}

        return _program("measured state", sizes, change)

    def _control(self) -> Program:
        """The control of now within its limits, and the answer that is made of it."""
        problem, motion, layout = self.problem, self.problem.motion, self.problem.layout
        nq, nv = problem.robot.nq, problem.robot.nv
        sizes = {"w": motion.controls, "dw": layout.control_width, "length": 2, "measured q": nq, "measured v": nv}
        sizes |= {"q next": nq, "v next": nv, "dx next": layout.state_width}
        sizes |= {f"parameter {name}": size for name, size in problem.parameters.items()}

        def answer(*vectors: Any) -> dict[str, Any]:
            x = dict(zip(sizes, vectors, strict=True))
            q, v, length = x["measured q"], x["measured v"], x["length"][0]
            w = x["w"] + length * x["dw"][: motion.controls]
            u = self._limited(motion.effort(q, v, w))
            if self._answer is None:
                numbers = np.asarray(motion.torque(q, v, u), object)
            else:
                dx = length * x["dx next"][list(layout.columns)]
                named = {name: x[f"parameter {name}"] for name in problem.parameters} | {"q": q, "v": v, "u": u}
                named["q_next"] = algorithms.integrate(problem.robot.model, x["q next"], dx[:nv])
                named["v_next"] = x["v next"] + dx[nv : 2 * nv]
                if motion.contacts is not None:
                    named["force"] = motion.contacts.parts(motion.contacts.solved(named, motion.torque(q, v, u)).f)
                numbers = self._answer.array(named)
            self.shape = numbers.shape
            return {"control": u, "answer": numbers.ravel()} | self._kept(x, u)

        return _program("control of a receding horizon", sizes, answer)

    def _kept(self, x: Mapping[str, Any], u: np.ndarray) -> dict[str, np.ndarray]:
        """Constraints on the state alone at the measured one, each beside its limit or 1; below 0: violated."""
        if not self.state_rows:
            return {}
        problem, q, v = self.problem, x["measured q"], x["measured v"]
        named = {name: x[f"parameter {name}"] for name in problem.parameters} | {"q": q, "v": v, "u": u}
        if (contacts := problem.motion.contacts) is not None:
            named["force"] = contacts.parts(contacts.solved(named, problem.motion.torque(q, v, u)).f)
        expressions = rows_of(problem.constraints_at(named, False))[1]
        values = [row.sign * expressions[row.expression] + row.offset for row in self.state_rows]
        signed = [-abs(c) if row.is_equality else c for row, c in zip(self.state_rows, values, strict=True)]
        return {"kept": np.array([c / row.size for row, c in zip(self.state_rows, signed, strict=True)], object)}

    def _limited(self, u: np.ndarray) -> np.ndarray:
        if "torque" not in self.problem.ranges:
            return u
        low, high = self.problem.ranges["torque"]
        return np.array([math.clip(x, a, b) for x, a, b in zip(u, low, high, strict=True)], object)


def _program(name: str, sizes: Mapping[str, int], compute: Any) -> Program:
    function = trace(compute, sizes, name)
    shapes = {output.name: output.shape for output in function.outputs}
    return Program(name, None, sizes, shapes, lambda: function, lanes=1)


class Horizon:
    """One solver whose arrays the plans of motions pass through. each: parameters that differ from motion to motion."""

    def __init__(self, problem: Problem, programs: HorizonPrograms, iterations: int, each: Sequence[str]) -> None:
        self.problem, self.programs, self.iterations, self.each = problem, programs, iterations, tuple(each)
        self.solver = solver = Solver(problem)
        robot, width = problem.robot, programs.control.shapes["answer"][0]
        self.origin, self.is_first = np.zeros(1), np.zeros(1)
        self.q, self.v = np.zeros(robot.nq), np.zeros(robot.nv)
        self.control, self.answer = np.zeros((1, problem.motion.controls)), np.zeros((1, width))
        self.kept = np.zeros((1, len(programs.state_rows)))
        self._taken: dict[str, np.ndarray] = {}
        self.missed = ""  # what the last plan does not keep, in words
        self._controls = [self._bound_control(side) for side in (0, 1)]
        kernels: dict[str, Sequence[Bound]] = {"control": self._controls}
        kernels["measure"] = [self._bound_measure(side) for side in (0, 1)]
        cells = {"length": solver.length, "is_first": self.is_first, "barrier": solver.barrier}
        reach = {}
        for name, kept, rates in zip(("nodes", "end"), solver.constraints, solver.rates_by_part, strict=True):
            if kept.rows.rows:
                kernels[f"rates of {name}"], reach[name] = rates, kept.rates["reach"]
        requests = [self.q, self.v, *(solver.parameters[name] for name in each)]
        pieces = {
            "memory in": self.carried(0),
            "memory out": self.carried(iterations % 2),
            "requests": requests,
            "replies": [self.control, self.answer],
        }
        self.steps = RecedingSteps(solver.direction, solver.evaluations, iterations, kernels, cells, reach, pieces)
        self._barrier = BARRIER / max(1, solver.count)

    def carried(self, side: int) -> list[np.ndarray]:
        """The arrays that hold a plan, in the order of its row, of a trajectory."""
        return [x for _, x, _ in self._carried(side)]

    def _carried(self, side: int) -> list[tuple[str, np.ndarray, bool]]:
        solver, direction = self.solver, self.solver.direction
        arrays: list[tuple[str, np.ndarray, bool]]
        arrays = [("origin", self.origin, False), ("length", solver.length, False), ("barrier", solver.barrier, False)]
        arrays += [("q", solver.q[side], True), ("v", solver.v[side], True), ("w", solver.w[side], True)]
        arrays += [("dx", direction.states, True), ("dw", direction.controls, True)]
        arrays += [("constants", x, False) for x in solver.constants[side].values()]
        for kept, follows in zip(solver.constraints, (True, False), strict=True):
            if kept.rows.rows:
                four = kept.slack[side], kept.multiplier[side], kept.rates["d slack"], kept.rates["d multiplier"]
                arrays += [("constraints", x, follows) for x in four]
        return arrays

    def pieces(self) -> list[Piece]:
        """How a plan's row is laid out."""
        pieces, begin = [], 0
        for name, array, follows in self._carried(0):
            rows, width = array.shape if array.ndim == 2 else (1, array.size)
            pieces.append(Piece(name, begin, rows, width, follows))
            begin += array.size
        return pieces

    # ---- binding

    def _bound_measure(self, side: int) -> Bound:
        solver = self.solver
        inputs = {"q": solver.q[side][0], "v": solver.v[side][0], "is first": self.is_first}
        inputs |= {"measured q": self.q, "measured v": self.v}
        return self.programs.measure.bound(inputs, {"first": solver.direction.first[None]})

    def _bound_control(self, side: int) -> Bound:
        solver, direction, unknowns = self.solver, self.solver.direction, self.problem.constants.unknowns
        inputs = {"w": solver.w[side][0], "dw": direction.controls[0], "length": solver.length}
        inputs |= {"measured q": self.q, "measured v": self.v, "dx next": direction.states[1]}
        inputs |= {"q next": solver.q[side][1], "v next": solver.v[side][1]}
        inputs |= {f"parameter {name}": x[0] for name, x in solver.parameters.items()}
        inputs |= {f"parameter {name}": solver.constants[side][f"unknown {name}"][0] for name in unknowns}
        return self.programs.control.bound(inputs, {"control": self.control, "answer": self.answer, "kept": self.kept})

    # ---- a call

    def take(self, values: Mapping[str, np.ndarray]) -> None:
        """Parameters that all motions share, as rows or for all nodes."""
        for name, rows in values.items():
            if self._taken.get(name) is not rows:
                self.solver.parameters[name][:] = rows
        self._taken = dict(values)

    def advance(self, memory: np.ndarray, requests: np.ndarray, replies: np.ndarray, begin: int, end: int) -> None:
        """Plans begin … end, each from its measured state; what they answer is not a number where one led astray."""
        self.steps(memory, requests, replies, begin, end, self._barrier, BOUNDARY)
        self.solver.ended(self.iterations % 2)
        self.missed = ""
        if self.solver.is_constrained and not self.solver.sums[1] <= MISSED:
            missed = max(kept.share_missed() for kept in self.solver.constraints)
            self.missed = self.solver.worst_violation()[1] if missed > MISSED else ""
        if not self.missed and (kept := self.kept[0].tolist()) and min(kept) < -MISSED:
            row = self.programs.state_rows[kept.index(min(kept))]
            self.missed = f"the measured state violates constraint {row.name!r} by {-min(kept) * row.size:.3g}"

    def restart(self, t: float, q: np.ndarray, v: np.ndarray, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Solve from scratch; the plan's row. What it answers is in `control` and `answer`."""
        problem, solver = self.problem, self.solver
        q, v = problem.arguments.state(q, v)
        missing = [name for name in problem.parameters if name not in values]
        if missing:
            raise DalembertError(
                f"receding: parameter {missing[0]!r} has no value yet: pass {missing[0]}=… to receding() or the "
                f"first call"
            )
        self._taken = {}
        solver.begin(q, v, values, None)
        plan = solver.solve(*RESTART)
        self.missed = "" if plan.converged or plan.violation <= MISSED else plan.why
        solver.rest()
        solver.length[:], self.origin[0] = 1.0, t
        self.q[:], self.v[:] = q, v
        self._controls[solver.side]()
        return np.concatenate([x.ravel() for x in self.carried(solver.side)])
