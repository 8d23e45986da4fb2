"""A node of the problem as traced functions of its state, its control and its parameters, with their slopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.graph import gradient, linearised
from dalembert.dynamics import algorithms
from dalembert.linear.stages import StageLayout

from .constants import Constants
from .contacts import ContactSolution
from .motion_models import MotionModel
from .quadratic import Slopes
from .terms import Constraint, Residual, Smooth, Weighed, rows_of


class Point(NamedTuple):
    """The terms of a node at a state and control: costs, constraints, difference to the next node."""

    terms: list[Weighed]
    constraints: list[Constraint]
    gap: np.ndarray


class TracedNode:
    """The functions of a node of its values, by name: "q", "v", "w" (the control), constants and parameters."""

    def __init__(self, problem: Any, is_end: bool) -> None:
        self.problem, self.is_end = problem, is_end
        self.motion: MotionModel = problem.motion
        self.layout: StageLayout = problem.layout
        self.constants: Constants = problem.constants
        self.has_gaps = not (is_end or self.motion.is_linear)

    def variables(self) -> dict[str, int]:
        """State, control and parameters."""
        robot = self.motion.robot
        sizes = {"q": robot.nq, "v": robot.nv} | ({} if self.is_end else {"w": self.motion.controls})
        if self.has_gaps:
            sizes |= {"q following": robot.nq, "v following": robot.nv}
        return (
            sizes | self.constants.sizes | {f"parameter {name}": size for name, size in self.problem.parameters.items()}
        )

    def point(self, values: Mapping[str, Any]) -> Point:
        """Costs, constraints and the gap at these values; with contacts, "a" and "f" are solved for unless given."""
        q, v, w, motion = values["q"], values["v"], values.get("w"), self.motion
        u = None if w is None else motion.effort(q, v, w)
        named = {"q": q, "v": v} | ({} if u is None else {"u": u})
        named |= self.parameters(values)
        named |= self.constants.named(values)
        step = self.problem.step_at(named)
        contacts = None if self.is_end else motion.contacts
        if contacts is not None:
            solution = values if "a" in values else vars(contacts.solved(named, motion.torque(q, v, w)))
            named["force"] = contacts.parts(solution["f"])
        terms, constraints = self.problem.terms(named, self.is_end)
        gap = np.zeros(0, object)
        if self.has_gaps:
            q1, v1 = motion.following(q, v, w, step) if contacts is None else motion.moved(named, solution["a"], step)
            place = algorithms.difference(motion.robot.model, values["q following"], q1)
            gap = np.concatenate([place, v1 - values["v following"]])
        return Point(terms, constraints, gap)

    def values_at(self, values: Mapping[str, Any], z: np.ndarray) -> dict[str, Any]:
        """The values at z = [q, v, constants, w], q on a manifold as a change (nv,) from its value."""
        model, states = self.motion.robot.model, self.layout.states
        nv = model.nv
        q = z[:nv] if model.flat else algorithms.integrate(model, values["q"], z[:nv])
        moved = {"q": q, "v": z[nv : 2 * nv]} | ({} if self.is_end else {"w": z[states:]})
        return dict(values) | moved | self.constants.placed(values, z[2 * nv : states])

    def coordinates(self, values: Mapping[str, Any]) -> np.ndarray:
        """z = [q, v, constants, w] at the values."""
        model = self.motion.robot.model
        q = values["q"] if model.flat else np.zeros(model.nv)
        constants = self.constants.flat(values)
        return np.concatenate([q, values["v"], constants, values.get("w", np.zeros(0, object))])

    def linear(self, values: dict[str, Any]) -> tuple[Point, Slopes, Slopes, np.ndarray]:
        """The point; slopes of residuals and of gradients of smooth costs, of constraints, of the gap."""
        at = self.coordinates(values)
        n = len(at)
        solved = self.solved(values)
        y = np.zeros(0, object) if solved is None else np.concatenate([solved.a, solved.f])

        def stacked(z: np.ndarray) -> np.ndarray:
            point = self.point(self.values_at(values, z[:n]) | self.named(z[n:]))
            parts = [term.value if isinstance(term, Residual) else self._smooth(term, z[:n]) for term, _ in point.terms]
            return np.concatenate([np.zeros(0, object), *parts, rows_of(point.constraints)[1], point.gap])

        slopes = linearised(stacked, np.concatenate([at, y])).slope
        here = self.point(values | self.named(y))
        chain = np.zeros((0, n), object)
        if solved is not None:
            chain = solved.slopes(linearised(lambda z: self.missing(self.values_at(values, z), y), at).slope)
        limits = len(rows_of(here.constraints)[1])
        cuts = np.cumsum([len(slopes) - len(here.gap) - limits, limits])
        costs, limit_slopes, steps = (Slopes(rows[:, :n], rows[:, n:], chain) for rows in np.split(slopes, cuts))
        return here, costs, limit_slopes, steps.total()

    def solved(self, values: Mapping[str, Any]) -> ContactSolution | None:
        """Accelerations and forces of contacts, with what their slopes need."""
        if self.is_end or self.motion.contacts is None:
            return None
        torque = self.motion.torque(values["q"], values["v"], values["w"])
        return self.motion.contacts.solved(self.situation(values), torque)

    def missing(self, values: Mapping[str, Any], y: np.ndarray) -> np.ndarray:
        """The residual of the equations of motion and contact."""
        contacts, n = self.motion.contacts, self.motion.robot.nv
        assert contacts is not None
        torque = self.motion.torque(values["q"], values["v"], values["w"])
        return contacts.residual(self.situation(values), torque, y[:n], y[n:])

    def situation(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """State and stance by name, as contacts ask for them."""
        names = ("stance", "impact") if self.motion.contacts is not None else ()
        named = {name: values[f"parameter {name}"] for name in names}
        return {"q": values["q"], "v": values["v"]} | named

    def parameters(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters by their own names."""
        return {name: values[f"parameter {name}"] for name in self.problem.parameters}

    def named(self, y: np.ndarray) -> dict[str, Any]:
        """Accelerations "a" and forces "f" of contacts y = [a, f]; nothing where there are none."""
        n = self.motion.robot.nv
        return {"a": y[:n], "f": y[n:]} if len(y) else {}

    @staticmethod
    def _smooth(term: Smooth, z: np.ndarray) -> np.ndarray:
        """The gradient of a smooth cost, whose slope is its Hessian."""
        return gradient(term.value, z) if hasattr(term.value, "op") else np.zeros(len(z), object)
