"""A plan: what the robot is to do, what it costs, and how far to trust it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.logs import Trajectory, write_trajectory
from dalembert.motion import PolynomialMotion, via
from dalembert.notebook import html

if TYPE_CHECKING:
    from .problem import Problem


@dataclass(frozen=True, eq=False)
class Plan:
    """States at the nodes and controls between them.

    q (nodes + 1, nq), v (nodes + 1, nv), u (nodes, m): each u [N·m, N] is held for a step. cost: of all nodes and the
    end; costs: by name. converged: whether the model promises no further decrease; violation: the largest one of a
    constraint, or gap between nodes; why: what holds it back, or "".
    """

    problem: Problem = field(repr=False)
    q: np.ndarray = field(repr=False)
    v: np.ndarray = field(repr=False)
    u: np.ndarray = field(repr=False)
    control: np.ndarray = field(repr=False)  # accelerations where those are the control, else u
    gain_rows: np.ndarray = field(repr=False)  # of the control, as stages lie in memory
    cost: float
    costs: dict[str, float]
    iterations: int
    converged: bool
    violation: float
    why: str
    durations: np.ndarray = field(repr=False)  # (nodes,) of each step [s]; 0 at impacts
    unknowns: dict[str, np.ndarray] = field(default_factory=dict)  # values of the parameters that the plan has chosen

    def _repr_html_(self) -> str:
        state = "converged" if self.converged else f"not converged: {self.why}"
        heading = f"{self.problem.robot.name}: {state} after {self.iterations} iterations"
        rows = [*self.costs.items(), ("all costs", self.cost), ("largest violation", self.violation)]
        rows += [(f"{name}[{k}]", x) for name, values in self.unknowns.items() for k, x in enumerate(values)]
        return html(heading, ("", "value"), [*rows, ("duration [s]", float(self.t[-1]))])

    @cached_property
    def t(self) -> np.ndarray:
        """Times (nodes + 1,) of the nodes [s]."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])

    @cached_property
    def control_gains(self) -> np.ndarray:
        """Gains (nodes, m, 2 nv) of `control`."""
        return self.gain_rows[:, :, list(self.problem.layout.columns)[: 2 * self.problem.robot.nv]]

    @cached_property
    def gains(self) -> np.ndarray:
        """K (nodes, m, 2 nv): u + K [difference(plan.q, q); v − plan.v] is the best control near the plan."""
        if not self.problem.motion.by_acceleration:
            return self.control_gains
        slopes: Any = self.problem.robot.inverse_dynamics_derivatives(self.q[:-1], self.v[:-1], self.control)
        return np.concatenate([slopes.dq, slopes.dv], axis=2) + slopes.da @ self.control_gains

    @cached_property
    def tau(self) -> np.ndarray:
        """Generalised forces (nodes, nv) of the controls [N·m, N]."""
        motion = self.problem.motion
        if motion.driven:
            tau = np.zeros((len(self.u), self.problem.robot.nv))
            tau[:, list(motion.driven)] = self.u
            return tau
        rows = zip(self.q, self.v, self.u, strict=False)
        return np.array([np.asarray(motion.torque(q, v, u), float) for q, v, u in rows])

    @cached_property
    def motion(self) -> PolynomialMotion:
        """The plan as a motion for other commands: .q(t), .v(t), .a(t), cubic between the nodes."""
        robot, takes_time = self.problem.robot, np.concatenate([self.durations > 0.0, [True]])
        motion = via(self.q[takes_time], times=self.t[takes_time], velocities=self.v[takes_time], robot=robot)
        return PolynomialMotion(motion.curves, motion.robot, motion.anchors, "plan")

    @cached_property
    def trajectory(self) -> Trajectory:
        """The nodes as arrays t, q, v, a, tau; a and tau of the last node are those before it."""
        a = np.diff(self.v, axis=0) / np.where(self.durations > 0.0, self.durations, np.inf)[:, None]
        return Trajectory(self.t, self.q, self.v, np.vstack([a, a[-1:]]), np.vstack([self.tau, self.tau[-1:]]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the nodes: columns t, q.<joint>, v., a., tau.; the ending says how (.csv .npz .parquet .h5)."""
        write_trajectory(path, self.problem.robot, self.trajectory)

    def plot(self) -> Any:
        """A figure of q, v and u over time, with the limits of the problem, and of what each cost contributes."""
        from .plot import plot

        return plot(self)

    def view(self, **options: Any) -> Any:
        """The robot in the browser, playing the plan: `host` and `port` as of `robot.view`; needs viser."""
        from dalembert.view import Viewer

        return Viewer(self.problem.robot, run=self.trajectory, **options)

    def summary(self) -> str:
        """The cost, and whether the plan can be trusted, in a few lines."""
        state = "converged" if self.converged else "not converged"
        lines = [f"{state} after {self.iterations} iterations: cost {self.cost:.6g}, violation {self.violation:.2g}"]
        lines += [f"  {name}: {value:.6g}" for name, value in self.costs.items()]
        return "\n".join([*lines, *([f"  because {self.why}"] if self.why else [])])
