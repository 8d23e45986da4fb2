"""A node of the problem as a traced function: everything that is nonlinear, at a point and with its slopes.

A node gets its state, its control, the last direction and how far to go along it, and gives where that leads: the new
state and control, the quadratic model of the cost there, the step to the next node with its slopes, and measures of
cost and constraints. All nodes are one SIMD batch.

Constraints c ≥ 0 have slacks s and multipliers λ of an interior point method, eliminated into the quadratic model:
    H + Jᵀ (λ/s) J,    g + Jᵀ (λ/s (c − s) − μ/s);
for c = 0 the same with 1/δ instead of λ/s: a proximal method of multipliers, H + Jᵀ J / δ, g + Jᵀ (c / δ − λ).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert import math
from dalembert.compiler.execute import Program
from dalembert.compiler.execute.proof import prove, proven
from dalembert.compiler.graph import Function, Scalar, gradient, linearised, trace
from dalembert.dynamics import algorithms
from dalembert.linear import sparse_product

from .quadratic import Quadratic, Slopes, sum_of
from .terms import ConstraintRows, Residual, Smooth, depends, rows_of
from .traced_node import Point, TracedNode

MEASURES = ("cost", "infeasibility", "log of slacks", "complementarity")  # then the costs by name, see Problem.costs
PROXIMAL = 1e-8  # δ: an equality's violation falls by about this factor times the cost's curvature in every iteration


class Node(TracedNode):
    """The program of the nodes, or, without a control, of the end."""

    def __init__(self, problem: Any, is_end: bool) -> None:
        super().__init__(problem, is_end)
        self.role = "the end" if is_end else "a node"
        self.operations: dict[str, int] = {}  # of each program
        self.rows: ConstraintRows = ConstraintRows((), ())
        self.names: tuple[str, ...] = ()
        self.bending: list[bool] = []  # of each residual and constraint, whether it depends on the state alone
        self._probe()

    def _probe(self) -> None:
        """Names and constraint rows, from a first trace of the user's functions."""

        def look(*vectors: Any) -> np.ndarray:
            values = dict(zip(self.variables(), vectors, strict=True))
            size = 0 if self.is_end or self.motion.contacts is None else self.motion.contacts.size
            graph, n = values["v"][0].graph, len(values["v"])
            unknown = graph.input("contact", n + size) if size else np.zeros(0, object)
            point = self.point(values | self.named(unknown))
            rows, expressions = rows_of(point.constraints)
            self.names = tuple(term.name for term, _ in point.terms)
            control = {x.id for x in (*values.get("w", ()), *unknown)}
            alone = [not depends(e, control) for e in expressions]
            self.rows = ConstraintRows(tuple(rows), tuple(alone[row.expression] for row in rows))
            self.bending = [not depends(e, control) for e in self._bent(point)]
            return np.zeros(1)

        trace(look, self.variables(), self.role)

    def _bent(self, point: Point) -> np.ndarray:
        """Residuals, then expressions of constraints, in order: what Gauss and Newton leave the curvature of out."""
        residuals = [term.value for term, _ in point.terms if isinstance(term, Residual)]
        return np.concatenate([np.zeros(0, object), *residuals, rows_of(point.constraints)[1]])

    # ---- the quadratic model

    def _quadratic(self, point: Point, slopes: Slopes) -> Quadratic:
        """The model of the cost. Residuals by Gauss and Newton; smooth costs exactly."""
        n, start = slopes.z.shape[1], 0
        model = Quadratic(n, slopes.chain)
        for k, (term, scale) in enumerate(point.terms):
            if isinstance(term, Residual):
                weights = scale * term.weight
                model.add(slopes.rows(start, len(term.value)), weights, weights * term.value)
                start += len(term.value)
            else:
                J = slopes.z[start : start + n]
                model.H += scale * 0.5 * (J + J.T)
                model.g += scale * self._gradients[k]
                start += n
        return model

    def _measures(self, point: Point) -> np.ndarray:
        """Cost, infeasibility by gaps, no slacks; then the costs by name."""
        costs = dict.fromkeys(self.problem.costs, 0.0)
        for term, scale in point.terms:
            if isinstance(term, Residual):
                weights = scale * term.weight
                cost = 0.5 * sum_of(w * r * r for w, r in zip(weights, term.value, strict=True))
            else:
                cost = scale * term.value
            costs[term.name] = costs[term.name] + cost
        gaps = sum_of(abs(x) for x in point.gap)
        return np.array([sum_of(costs.values()), gaps, 0.0, 0.0, *costs.values()], object)

    _gradients: dict[int, np.ndarray]

    def _curvature(self, values: dict[str, Any], here: Point) -> np.ndarray:
        """Second derivatives of residuals and constraints on the state alone, and of the step, as part of H.

        Σ w r ∇²r − Σ λ ∇²c + Σ p ∇²f, with the costates p of the step f.
        """
        forces = [scale * term.weight * term.value for term, scale in here.terms if isinstance(term, Residual)]
        pull = np.zeros(len(rows_of(here.constraints)[1]), object)
        for k, row in enumerate(self.rows.rows):
            pull[row.expression] = pull[row.expression] - row.sign * values["enabled"][k] * values["multiplier"][k]
        factors = np.concatenate([np.zeros(0, object), *forces, pull])

        def pulled(z: np.ndarray) -> np.ndarray:
            point = self.point(self.values_at(values, z))
            terms = zip(factors, self._bent(point), self.bending, strict=True)
            total = sum_of(f * e for f, e, alone in terms if alone)
            if self.has_gaps:
                total = total + sum_of(values["costate"] * point.gap)
            return gradient(total, z) if isinstance(total, Scalar) else np.zeros(len(z))

        return linearised(pulled, self.coordinates(values)).slope

    def _barrier(self, here: Point, values: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, Any]:
        """Curvatures and gradients of the expressions of the constraints, and the constraints' values."""
        rows, expressions = rows_of(here.constraints)
        s, multiplier, enabled, mu = values["slack"], values["multiplier"], values["enabled"], values["barrier"][0]
        curvature, pull = np.zeros(len(expressions), object), np.zeros(len(expressions), object)
        c = np.zeros(len(rows), object)
        for k, row in enumerate(rows):
            c[k] = enabled[k] * (row.sign * expressions[row.expression] + row.offset)
            if row.is_equality:
                weight, force = enabled[k] / PROXIMAL, enabled[k] * (c[k] / PROXIMAL - multiplier[k])
            else:
                c[k] = c[k] + 1.0 - enabled[k]  # one that does not count holds
                weight = enabled[k] * multiplier[k] / s[k]
                force = weight * (c[k] - s[k]) - enabled[k] * mu / s[k]
            curvature[row.expression] += weight
            pull[row.expression] += row.sign * force
        return curvature, pull, c

    # ---- programs

    def sizes(self, is_bent: bool) -> dict[str, int]:
        """Inputs of the program of a step."""
        layout, p = self.layout, len(self.rows.rows)
        sizes = self.variables() | {"dx": layout.state_width}
        if not self.is_end:
            sizes |= {"dw": layout.control_width}
        if self.has_gaps:
            sizes |= {"dx following": layout.state_width}
        if p:
            sizes |= {"slack": p, "multiplier": p, "d slack": p, "d multiplier": p, "enabled": p, "barrier": 1}
        if is_bent:
            sizes |= {"curvature": 1} | ({"costate": 2 * self.motion.robot.nv} if self.has_gaps else {})
        return sizes | {"length": 2}

    def step(self, is_bent: bool) -> Program:
        """The node where the last direction leads, with all that the next direction is computed from.

        is_bent: with second derivatives, times the input "curvature".
        """
        return self._program("step", self.sizes(is_bent), lambda x: self._stepped(x, is_bent))

    def outcome(self) -> Program:
        """The node where the last direction leads, and what it costs there: for problems without gaps and limits."""
        return self._program("outcome", self.sizes(False), self._outcome)

    def rates(self) -> Program:
        """Directions of slacks and multipliers that go with those of states and controls."""
        unused = ("length", "d slack", "d multiplier")
        sizes = {n: s for n, s in self.sizes(False).items() if "following" not in n and n not in unused}
        return self._program("rates", sizes, self._rated)

    def _program(self, name: str, sizes: dict[str, int], compute: Any) -> Program:
        """A program of the node, without a trace where another process has traced it."""

        def traced() -> Function:
            def on_vectors(*vectors: Any) -> dict[str, Any]:
                return compute(dict(zip(sizes, vectors, strict=True)))

            return trace(on_vectors, sizes, f"{name} of {self.role}")

        known = self.problem.users.known
        statement = None if known is None else f"{known} {name} of {self.role} {sizes}"
        facts = None if statement is None else proven(statement)
        if facts is None:
            function = traced()
            facts = {"shapes": {output.name: output.shape for output in function.outputs}}
            facts |= {"operations": sum(function.operations().values())}
            if statement is not None and self.problem.users.agree:
                prove(statement, **facts)
            else:
                statement = None
            step = lambda: function  # noqa: E731
        else:
            step = traced
        self.operations[name] = facts["operations"]
        shapes = {output: tuple(shape) for output, shape in facts["shapes"].items()}
        return Program(f"{name} of {self.role}", statement, sizes, shapes, step, lanes=1 if self.is_end else None)

    def _advanced(self, x: dict[str, Any], suffix: str = "") -> tuple[np.ndarray, np.ndarray]:
        """q and v along the direction."""
        dx, length = x[f"dx{suffix}"][list(self.layout.columns)], x["length"][0]
        n = self.motion.robot.nv
        q = algorithms.integrate(self.motion.robot.model, x[f"q{suffix}"], length * dx[:n])
        return q, x[f"v{suffix}"] + length * dx[n : 2 * n]

    def _moved(self, x: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of the node along the direction, and those of them that are kept."""
        layout, values = self.layout, dict(x)
        values["q"], values["v"] = self._advanced(x)
        change = x["length"][0] * x["dx"][list(layout.columns)][2 * self.motion.robot.nv :]
        constants = self.constants.placed(x, self.constants.flat(x) + change)
        values |= constants
        outputs = {"q": values["q"], "v": values["v"]} | constants
        if not self.is_end:
            values["w"] = outputs["w"] = x["w"] + x["length"][0] * x["dw"][: layout.controls]
        if self.has_gaps:
            values["q following"], values["v following"] = self._advanced(x, " following")
        if self.rows.rows:
            values["slack"] = x["slack"] + x["length"][0] * x["d slack"]
            values["multiplier"] = x["multiplier"] + x["length"][1] * x["d multiplier"]
            outputs |= {"slack": values["slack"], "multiplier": values["multiplier"]}
        return values, outputs

    def _outcome(self, x: dict[str, Any]) -> dict[str, Any]:
        values, outputs = self._moved(x)
        outputs["measures"] = self._measures(self.point(values))
        return outputs if self.is_end else outputs | {"u": self._effort(values)}

    def _effort(self, values: dict[str, Any]) -> np.ndarray:
        return self.motion.effort(values["q"], values["v"], values["w"])

    def _stepped(self, x: dict[str, Any], is_bent: bool) -> dict[str, Any]:
        layout, n = self.layout, self.layout.states
        values, outputs = self._moved(x)
        self._gradients = self._smooth_gradients(values)
        here, cost_slopes, limit_slopes, steps = self.linear(values)
        model, measures = self._quadratic(here, cost_slopes), self._measures(here)
        if not self.is_end and self.motion.contacts is not None:  # at an impact the control does nothing
            for k in range(n, n + layout.controls):
                model.H[k, k] = model.H[k, k] + values["parameter impact"][0]
        if not self.problem.is_plain:  # slopes of the cost alone
            _, g = model.total()
            outputs["slope x"] = layout.state_row(g[:n])
            if not self.is_end:
                outputs["slope w"] = layout.control_row(g[n:])
        if self.rows.rows:
            curvature, pull, c = self._barrier(here, values)
            e = rows_of(here.constraints)[1]
            model.add(limit_slopes, curvature, pull)
            outputs["constraint"] = np.array([r.sign * e[r.expression] + r.offset for r in self.rows.rows], object)
            inequality = ~self.rows.equalities
            s, multiplier = values["slack"], values["multiplier"]
            off = np.where(inequality, c - s, c)
            measures[1] = measures[1] + sum_of(abs(y) for y in off)
            measures[2] = sum_of(math.log(y) for y in s[inequality])
            measures[3] = sum_of(s[inequality] * multiplier[inequality])
        outputs["measures"] = measures
        H, g = model.total()
        if is_bent:
            H = H + x["curvature"][0] * self._curvature(values, here)
        if self.is_end:
            return outputs | {"quadratic": layout.end(H, g)}
        outputs["quadratic"] = layout.quadratic(H, g)
        outputs["u"] = self._effort(values)
        if self.motion.has_free_steps or self.motion.contacts is not None:
            named = self.parameters(values) | self.constants.named(values)
            outputs["duration"] = np.array([self.motion.duration(named, self.problem.step_at(named))], object)
        if self.has_gaps:
            outputs |= {"transition": self._transition(values, steps, here.gap), "gap": here.gap}
        return outputs

    def _transition(self, values: dict[str, Any], slopes: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """The step to the next node: its slopes in [q, v, w], and the gap."""
        layout, model, n = self.layout, self.motion.robot.model, self.motion.robot.nv
        if not layout.is_chained:
            stay = np.eye(layout.states + layout.controls)[2 * n : layout.states]  # what is constant
            rows, offset = np.concatenate([slopes, stay]), np.concatenate([gap, np.zeros(len(stay))])
            return layout.transition(rows[:, : layout.states], rows[:, layout.states :], offset)
        duration = self.motion.duration(self.situation(values), self.problem.step_at(self.parameters(values)))

        def place(z: np.ndarray) -> np.ndarray:
            """Where the velocity behind the step, z[n:], takes the position, which is off by z[:n]."""
            q = values["q"] + z[:n] if model.flat else algorithms.integrate(model, values["q"], z[:n])
            moved = algorithms.integrate(model, q, duration * z[n:])
            return algorithms.difference(model, values["q following"], moved)

        after = gap[n:] + values["v following"]
        both = linearised(place, np.concatenate([np.zeros(n, object), after])).slope
        D, E = both[:, :n], both[:, n:]
        chain = D, E, gap[:n] - sparse_product(E, gap[n:, None])[:, 0]
        return layout.chained_transition(slopes[n:, : 2 * n], slopes[n:, 2 * n :], gap[n:], chain)

    def _smooth_gradients(self, values: dict[str, Any]) -> dict[int, np.ndarray]:
        """Gradients of smooth costs at the point, by their place among the terms."""

        def smooth(z: np.ndarray) -> np.ndarray:
            terms = self.point(self.values_at(values, z) | self.named(unknown)).terms
            return np.array([terms[k][0].value for k in places], object)

        solved = self.solved(values)
        unknown = np.zeros(0, object) if solved is None else np.concatenate([solved.a, solved.f])
        terms = self.point(values | self.named(unknown)).terms
        places = [k for k, (term, _) in enumerate(terms) if isinstance(term, Smooth)]
        return dict(zip(places, linearised(smooth, self.coordinates(values)).slope, strict=True)) if places else {}

    def _rated(self, x: dict[str, Any]) -> dict[str, Any]:
        values = x | ({"q following": x["q"], "v following": x["v"]} if self.has_gaps else {})  # takes no part
        solved = self.solved(values)
        y = np.zeros(0, object) if solved is None else np.concatenate([solved.a, solved.f])
        point = self.point(values | self.named(y))
        rows, _ = rows_of(point.constraints)
        _, _, c = self._barrier(point, values)
        n = self.layout.controls
        dz = np.concatenate([x["dx"][list(self.layout.columns)], np.zeros(0) if self.is_end else x["dw"][:n]])
        start = np.array([x["v"][0].graph.constant(0.0)], object)
        dy = y
        if solved is not None:
            missing = linearised(
                lambda t: self.missing(self.values_at(values, self.coordinates(values) + t[0] * dz), y), start
            )
            dy = solved.slopes(missing.slope)[:, 0]

        def along(t: np.ndarray) -> np.ndarray:
            ahead = self.values_at(values, self.coordinates(values) + t[0] * dz) | self.named(y + t[0] * dy)
            return rows_of(self.point(ahead).constraints)[1]

        rate = linearised(along, start).slope[:, 0]
        s, multiplier, enabled, mu = x["slack"], x["multiplier"], x["enabled"], x["barrier"][0]
        ds, dm = np.zeros(len(rows), object), np.zeros(len(rows), object)
        reach: list[Any] = [0.0, 0.0]
        for k, row in enumerate(rows):
            change = enabled[k] * row.sign * rate[row.expression]
            if row.is_equality:
                dm[k] = -enabled[k] * (c[k] + change) / PROXIMAL
                continue
            ds[k] = change + c[k] - s[k]
            dm[k] = (mu - multiplier[k] * (s[k] + ds[k])) / s[k]
            reach[0] = math.maximum(reach[0], -ds[k] / s[k])
            reach[1] = math.maximum(reach[1], -dm[k] / multiplier[k])
        return {"d slack": ds, "d multiplier": dm, "reach": np.array(reach, object)}
