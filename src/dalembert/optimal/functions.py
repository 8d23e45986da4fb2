"""The problem as functions for other solvers: cost, constraints and their sparse derivatives.

The unknowns are z = [c, w₀, x₁, w₁, x₂, … x_N], with states x = [d, v] and controls w as `Plan.control` has them. c is
what the plan chooses for all nodes: parameters, and the first state if that is free; else it is what it is. d (nv,) is
the configuration, of robots with quaternions its displacement from the guess.
The constraints are the steps between nodes, x' − f(x, w) = 0, then limits and constraints of the nodes and the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import Program
from dalembert.compiler.graph import Scalar, gradient, linearised, trace
from dalembert.compiler.graph.differentiate import vanishes
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError

from .quadratic import sum_of
from .stage import Node
from .terms import Residual

if TYPE_CHECKING:
    from .plan import Plan
    from .problem import Problem


class NodeFunctions:
    """Cost, constraints and derivatives of the nodes, or of the end, in their own unknowns and those that follow."""

    def __init__(self, problem: Problem, node: Node) -> None:
        self.problem, self.node, self.n = problem, node, problem.robot.nv
        self.node_size = 2 * self.n + (0 if node.is_end else problem.motion.controls)
        self.constants = problem.constants.count
        self.steps = 0 if node.is_end else 2 * self.n
        self.lower, self.upper, self.of_state = self._ranges()

    def _ranges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower and upper values of the constraints, and which of them depend on the state alone."""
        size = 1 + max((row.expression for row in self.node.rows.rows), default=-1)
        lower, upper, alone = np.full(size, -np.inf), np.full(size, np.inf), np.zeros(size, bool)
        for row, of_state in zip(self.node.rows.rows, self.node.rows.alone, strict=True):
            k, bound = row.expression, -row.sign * row.offset
            alone[k] = of_state
            if row.is_equality or row.sign > 0.0:
                lower[k] = bound
            if row.is_equality or row.sign < 0.0:
                upper[k] = bound
        return lower, upper, alone

    @property
    def count(self) -> int:
        """Numbers in the constraints, steps first."""
        return self.steps + len(self.lower)

    def _sizes(self) -> dict[str, int]:
        robot, n = self.problem.robot, self.n
        sizes = {"reference": robot.nq, "state": 2 * n}
        if not self.node.is_end:
            sizes |= {"control": self.node_size - 2 * n, "reference following": robot.nq, "state following": 2 * n}
        if self.constants:
            sizes |= {"constants": self.constants, "reference start": robot.nq}
        return sizes | {f"parameter {name}": size for name, size in self.problem.parameters.items()}

    def _placed(self, reference: np.ndarray, d: np.ndarray) -> np.ndarray:
        model = self.problem.robot.model
        return d if model.flat else algorithms.integrate(model, reference, d)

    def _evaluated(self, x: Mapping[str, Any], z: np.ndarray) -> np.ndarray:
        """[cost, steps, constraints] at z, the node's own unknowns, those that follow, and those of all nodes."""
        n, motion, constants = self.n, self.problem.motion, self.problem.constants
        z, chosen = np.split(z, [len(z) - self.constants])
        values = {"q": self._placed(x["reference"], z[:n]), "v": z[n : 2 * n]}
        values |= {name: value for name, value in x.items() if name.startswith("parameter")}
        values |= constants.placed({"start q": x.get("reference start")}, chosen)
        if not self.node.is_end:
            q1, v1 = (
                self._placed(x["reference following"], z[self.node_size : self.node_size + n]),
                z[self.node_size + n :],
            )
            values |= {"w": z[2 * n : self.node_size], "q following": q1, "v following": v1}
        point = self.node.point(values)
        step = -point.gap
        if not self.node.is_end and motion.is_linear:
            v2 = values["v"] + motion.step * values["w"]
            step = np.concatenate([q1 - values["q"] - motion.step * v2, v1 - v2])
        costs = [
            scale * (0.5 * sum_of(term.weight * term.value * term.value) if isinstance(term, Residual) else term.value)
            for term, scale in point.terms
        ]
        expressions = [each.value for each in point.constraints]
        return np.concatenate([[sum_of(costs)], step, *expressions])

    def _unknowns(self, x: Mapping[str, Any]) -> np.ndarray:
        parts = ("state",) if self.node.is_end else ("state", "control", "state following")
        return np.concatenate([x[name] for name in (*parts, *(("constants",) if self.constants else ()))])

    @cached_property
    def first(self) -> tuple[Program, np.ndarray]:
        """Values and slopes; and which slopes (1 + count, unknowns) can be other than 0, the cost's among them."""
        sizes, structure = self._sizes(), []

        def compute(*vectors: Any) -> dict[str, Any]:
            x = dict(zip(sizes, vectors, strict=True))
            linear = linearised(lambda z: self._evaluated(x, z), self._unknowns(x))
            filled = np.array([[not vanishes(s) for s in row] for row in linear.slope], bool)
            structure.append(filled)
            return {"values": linear.value, "slopes": np.concatenate([[0.0], linear.slope[filled]])}

        return self._program("functions", sizes, compute), structure[0]

    @cached_property
    def second(self) -> tuple[Program, np.ndarray]:
        """The Hessian of factor · cost + multipliers · constraints; and which of it, below the diagonal, is filled."""
        sizes, structure = self._sizes() | {"weights": 1 + self.count}, []

        def compute(*vectors: Any) -> dict[str, Any]:
            x = dict(zip(sizes, vectors, strict=True))

            def slope(z: np.ndarray) -> np.ndarray:
                total = sum_of(x["weights"] * self._evaluated(x, z))
                return gradient(total, z) if isinstance(total, Scalar) else np.zeros(len(z))

            H = linearised(slope, self._unknowns(x)).slope
            filled = np.array([[j <= i and not vanishes(h) for j, h in enumerate(row)] for i, row in enumerate(H)])
            structure.append(filled)
            return {"hessian": np.concatenate([[0.0], H[filled]])}

        return self._program("second derivatives", sizes, compute), structure[0]

    def _program(self, name: str, sizes: dict[str, int], compute: Any) -> Program:
        function = trace(compute, sizes, f"{name} of {self.node.role}")
        shapes = {output.name: output.shape for output in function.outputs}
        return Program(f"{name} of {self.node.role}", None, sizes, shapes, lambda: function)


class NonlinearProgram:
    """Minimise objective(z) with constraint_lower ≤ constraints(z) ≤ constraint_upper; from `problem.functions`.

    Names of the methods are those that cyipopt asks of a problem. start (n,): z of the guess. names (m,): what each
    constraint is.
    """

    def __init__(self, problem: Problem, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, Any], guess: Any):
        self.problem, self._parameters = problem, parameters
        with problem.lent_solver() as solver:
            solver.begin(q, v, parameters, guess)
            self._q, self._v, w = solver.q[0].copy(), solver.v[0].copy(), solver.w[0].copy()
            self._rows = {f"parameter {name}": x.copy() for name, x in solver.parameters.items()}
            constants = {name: x[0] for name, x in solver.constants[0].items()}
        self._nodes, self._end = problem.functions_of_nodes
        self.N, self.n, self.m = problem.nodes, problem.robot.nv, problem.motion.controls
        placed = self._q if problem.robot.model.flat else np.zeros((self.N + 1, self.n))
        self._first = np.concatenate([placed[0], v])
        stages = np.hstack([w, placed[1:], self._v[1:]])
        self.start = np.concatenate([problem.constants.flat(constants).astype(float), stages.ravel()])
        self.chosen = problem.constants.count
        self._last: np.ndarray | None = None
        self._rows_kept = self._kept()

    # ---- layout

    def _kept(self) -> np.ndarray:
        """Which rows of the nodes' constraints count (N, count): the first state alone is what it is."""
        kept = np.ones((self.N, self._nodes.count), bool)
        if not self.problem.constants.with_start:
            kept[0, self._nodes.steps :] = ~self._nodes.of_state
        return kept

    @cached_property
    def _columns(self) -> np.ndarray:
        """Places in z of each node's unknowns: its own, those that follow, those of all; −1 for a first state."""
        n, stage = 2 * self.n, 2 * self.n + self.m
        k = self.chosen + np.arange(self.N)[:, None] * stage
        first = self.chosen - n + np.arange(n) if self.problem.constants.with_start else -1
        states = np.where(k > self.chosen, k - n + np.arange(n), first)
        constants = np.broadcast_to(np.arange(self.chosen), (self.N, self.chosen))
        return np.hstack([states, k + np.arange(self.m), k + self.m + np.arange(n), constants])

    @cached_property
    def _end_columns(self) -> np.ndarray:
        return np.concatenate([len(self.start) - 2 * self.n + np.arange(2 * self.n), np.arange(self.chosen)])

    def _ranges(self, which: str) -> np.ndarray:
        nodes = np.concatenate([np.zeros(self._nodes.steps), getattr(self._nodes, which)])
        return np.concatenate(
            [np.broadcast_to(nodes, self._rows_kept.shape)[self._rows_kept], getattr(self._end, which)]
        )

    @cached_property
    def constraint_lower(self) -> np.ndarray:
        """Lower values (m,) of the constraints."""
        return self._ranges("lower")

    @cached_property
    def constraint_upper(self) -> np.ndarray:
        """Upper values (m,) of the constraints."""
        return self._ranges("upper")

    @cached_property
    def names(self) -> list[str]:
        """The name of each constraint, with its node."""
        freedoms = self.problem.robot.model.freedom_names
        steps = [f"step of {what} of {name}" for what in ("position", "velocity") for name in freedoms]
        of_nodes = np.array([*steps, *_labels(self._nodes)], object)
        rows = [f"{of_nodes[i]} at node {k}" for k, i in np.argwhere(self._rows_kept)]
        return rows + [f"{label} at node {self.N}" for label in _labels(self._end)]

    # ---- evaluation

    def _inputs(self, z: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        z = np.asarray(z, float)
        if z.shape != self.start.shape:
            raise DalembertError(f"functions: z has shape {z.shape}, expected {self.start.shape}")
        stages, first = z[self.chosen :].reshape(self.N, -1), self._first
        if self.problem.constants.with_start:
            first = z[self.chosen - 2 * self.n : self.chosen]
        states = np.vstack([first, stages[:, self.m :]])
        nodes = {"reference": self._q[:-1], "state": states[:-1], "control": np.ascontiguousarray(stages[:, : self.m])}
        nodes |= {"reference following": self._q[1:], "state following": states[1:]}
        end = {"reference": self._q[-1:], "state": states[-1:]}
        for part in (nodes, end) if self.chosen else ():
            part |= {"constants": z[: self.chosen], "reference start": self._q[0]}
        for name, rows in self._rows.items():
            nodes[name], end[name] = rows[:-1], rows[-1:]
        return nodes, end

    def _evaluate(self, z: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Values and slopes of nodes and end; those of the last z are kept."""
        if self._last is None or not np.array_equal(self._last, z):
            nodes, end = self._inputs(z)
            self._result = self._nodes.first[0](nodes, (self.N,)), self._end.first[0](end, (1,))
            self._last = np.array(z, float)
        return self._result

    def objective(self, z: Any) -> float:
        """The cost."""
        nodes, end = self._evaluate(z)
        return float(nodes["values"][:, 0].sum() + end["values"][0, 0])

    def constraints(self, z: Any) -> np.ndarray:
        """(m,)"""
        nodes, end = self._evaluate(z)
        return np.concatenate([nodes["values"][:, 1:][self._rows_kept], end["values"][0, 1:]])

    def gradient(self, z: Any) -> np.ndarray:
        """The gradient of the cost (n,)."""
        total = np.zeros(len(self.start))
        for slopes, filled, columns in self._parts(z):
            places = np.flatnonzero(filled[0])
            target = columns[:, places]
            known = target >= 0
            np.add.at(total, target[known], slopes[:, : len(places)][known])
        return total

    def _parts(self, z: Any) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For nodes and end: slopes (rows, filled), which are filled, columns (rows, unknowns)."""
        nodes, end = self._evaluate(z)
        return [
            (nodes["slopes"][:, 1:], self._nodes.first[1], self._columns),
            (end["slopes"][:, 1:], self._end.first[1], self._end_columns[None]),
        ]

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows and columns of the Jacobian's entries, which of all slopes count, and the entry that each is part of.

        A first state that is free is the first node's own state, and what all nodes know of it: two slopes, one entry.
        """
        numbers = np.full(self._rows_kept.shape, -1)
        numbers[self._rows_kept] = np.arange(self._rows_kept.sum())
        end = self._rows_kept.sum() + np.arange(self._end.count)
        rows, columns = [], []
        for part, each, places in (
            (self._nodes, numbers, self._columns),
            (self._end, end[None], self._end_columns[None]),
        ):
            i, j = np.nonzero(part.first[1][1:])
            rows.append(each[:, i].ravel())
            columns.append(places[:, j].ravel())
        row, column = np.concatenate(rows), np.concatenate(columns)
        kept = (row >= 0) & (column >= 0)
        places, entries = np.unique(np.stack([row[kept], column[kept]]), axis=1, return_inverse=True)
        return places[0], places[1], kept, np.ravel(entries)

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of `jacobian`."""
        return self._pattern[:2]

    def jacobian(self, z: Any) -> np.ndarray:
        """Slopes of the constraints: the entries that can be other than 0."""
        slopes = [slopes[:, int(filled[0].sum()) :].ravel() for slopes, filled, _ in self._parts(z)]
        rows, _, kept, entries = self._pattern
        return np.bincount(entries, np.concatenate(slopes)[kept], len(rows))

    @cached_property
    def _hessian_pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows and columns of the Hessian's entries, which of all second derivatives count, and how often."""
        rows, columns, aside = [], [], []
        for part, places in ((self._nodes, self._columns), (self._end, self._end_columns[None])):
            i, j = np.nonzero(part.second[1])
            rows.append(np.maximum(places[:, i], places[:, j]).ravel())
            columns.append(np.minimum(places[:, i], places[:, j]).ravel())
            aside.append(np.broadcast_to(i != j, (len(places), len(i))).ravel())
        row, column = np.concatenate(rows), np.concatenate(columns)
        kept = column >= 0
        twice = np.concatenate(aside) & (row == column)  # of one number by two names: the other half is above
        return row[kept], column[kept], kept, np.where(twice, 2.0, 1.0)[kept]

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of `hessian`, on and below the diagonal; places may come twice and add up."""
        return self._hessian_pattern[:2]

    def hessian(self, z: Any, multipliers: Any, factor: float = 1.0) -> np.ndarray:
        """Entries of the Hessian of factor · cost + multipliers · constraints; compiled when it is first called."""
        nodes, end = self._inputs(z)
        weights = np.zeros((self.N, 1 + self._nodes.count))
        count = int(self._rows_kept.sum())
        weights[:, 1:][self._rows_kept] = np.asarray(multipliers, float)[:count]
        weights[:, 0] = factor
        last = np.concatenate([[factor], np.asarray(multipliers, float)[count:]])[None]
        entries = [
            self._nodes.second[0](nodes | {"weights": weights}, (self.N,))["hessian"][:, 1:].ravel(),
            self._end.second[0](end | {"weights": last}, (1,))["hessian"][:, 1:].ravel(),
        ]
        _, _, kept, times = self._hessian_pattern
        return np.concatenate(entries)[kept] * times

    # ---- results

    def ipopt(self, z: Any = None, **options: Any) -> Plan:
        """The plan that IPOPT finds, from z or the start, with exact second derivatives; needs casadi.

        options: of IPOPT, as in max_iter=500. `why` of the plan is what IPOPT says.
        """
        from .casadi_solver import solve

        return solve(self, self.start if z is None else np.asarray(z, float), options)

    def plan(self, z: Any, iterations: int = 0, converged: bool = False, why: str = "made by another solver") -> Plan:
        """The plan of a solution; the solver knows how many iterations it took, whether it converged, and why not."""
        nodes, end = self._inputs(z)
        robot, states = self.problem.robot, np.vstack([nodes["state"], end["state"]])
        d, v = states[:, : self.n], states[:, self.n :]
        q = d if robot.model.flat else np.array([robot.integrate(r, x) for r, x in zip(self._q, d, strict=True)])
        with self.problem.lent_solver() as solver:
            solver.begin(q[0], v[0], self._parameters, None)
            solver.q[0][:], solver.v[0][:], solver.w[0][:] = q, v, nodes["control"]
            chosen = self.problem.constants.placed({"start q": self._q[0]}, np.asarray(z, float)[: self.chosen])
            for name, x in chosen.items():
                solver.constants[0][name][:] = x
            solver.start()
            return solver.plan(iterations, converged, why)


def _labels(part: NodeFunctions) -> list[str]:
    labels = [""] * len(part.lower)
    for row in part.node.rows.rows:
        labels[row.expression] = row.name
    return labels
