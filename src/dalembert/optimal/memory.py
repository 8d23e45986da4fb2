"""The arrays of one problem in memory, and its compiled parts bound to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalembert.compiler.execute import Program
from dalembert.compiler.execute.host import Bound
from dalembert.compiler.execute.stages import Direction, Evaluation, aligned, lanes

from .slacks import Slacks
from .stage import MEASURES

if TYPE_CHECKING:
    from .problem import Problem


class Memory:
    """Two trajectories q, v, w, of which one is current and the other one is where a direction leads; what nodes give.

    Calls of compiled parts have addresses of these arrays: their content is replaced, never they themselves.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, N = problem, problem.nodes
        self.node, self.end = problem.node, problem.end
        measures = len(MEASURES) + len(problem.costs)
        self.direction = Direction(problem.layout, N, problem.step, measures)
        robot, controls = problem.robot, problem.motion.controls
        self.q = [np.zeros((N + 1, robot.nq)) for _ in range(2)]
        self.v = [np.zeros((N + 1, robot.nv)) for _ in range(2)]
        self.w = [np.zeros((N, controls)) for _ in range(2)]
        self.length, self.barrier, self.curvature = np.zeros(2), np.zeros(1), np.zeros(1)
        self.durations = np.full((N, 1), problem.step)
        self.steps = np.full(N, problem.step)  # durations of the guess [s]
        sizes = problem.constants.sizes
        self.constants = [{name: np.zeros((N + 1, size)) for name, size in sizes.items()} for _ in range(2)]
        self.direction.free = problem.constants.free(problem.layout)
        self.times = problem.step * np.arange(N + 1)[:, None]  # where steps are given
        self.parameters = {name: np.zeros((N + 1, size)) for name, size in problem.parameters.items()}
        self.measures = [np.zeros((N, measures)), np.zeros((1, measures))]
        self.u, self.gaps = np.zeros((N, controls)), np.zeros((N, 2 * robot.nv))
        layout = problem.layout
        self.slope_x, self.slope_w = aligned(N + 1, layout.state_width), aligned(N + 1, layout.control_width)
        self.constraints = [Slacks(node, rows) for node, rows in ((self.node, N), (self.end, 1))]
        self.costates = np.zeros((N, 2 * robot.nv))

    def common(self, side: int, rows: slice) -> dict[str, np.ndarray]:
        """Inputs of the nodes `rows`, or of the end."""
        following = slice(rows.start + 1, rows.stop + 1)
        arrays = {"q": self.q[side][rows], "v": self.v[side][rows], "dx": self.direction.states[rows]}
        if rows.start < self.problem.nodes:
            arrays |= {"w": self.w[side][rows], "dw": self.direction.controls[rows]}
            arrays |= {"q following": self.q[side][following], "v following": self.v[side][following]}
            arrays |= {"dx following": self.direction.states[following], "costate": self.costates[rows]}
        arrays |= {name: x[rows] for name, x in self.constants[side].items()}
        arrays |= {f"parameter {name}": x[rows] for name, x in self.parameters.items()}
        return arrays | {"length": self.length, "barrier": self.barrier, "curvature": self.curvature}

    def _rows(self, k: int) -> slice:
        N = self.problem.nodes
        return slice(0, N) if k == 0 else slice(N, N + 1)

    def evaluation(self, programs: Mapping[str, Program], side: int) -> Evaluation:
        """From trajectory `side` along the direction into the other one."""
        N = self.problem.nodes
        whole = N - N % lanes() if "rest" in programs else N
        parts = {"step": slice(0, whole), "rest": slice(whole, N), "end": slice(N, N + 1)}
        bound = [self._bound(programs[name], side, rows) for name, rows in parts.items() if rows.start < rows.stop]
        return Evaluation(self.direction, bound, self.measures)

    def _bound(self, program: Program, side: int, rows: slice) -> Bound:
        """The program on these nodes, or on the end."""
        is_end, other = rows.start == self.problem.nodes, 1 - side
        kept, here = self.constraints[is_end], slice(0, 1) if is_end else rows
        outputs = {
            "q": self.q[other][rows],
            "v": self.v[other][rows],
            "w": self.w[other][rows],
            "measures": self.measures[is_end][here],
            "u": self.u[rows],
            "slope x": self.slope_x[rows],
            "slope w": self.slope_w[rows],
            "quadratic": self.direction.end[None] if is_end else self.direction.quadratic[rows],
            "transition": self.direction.transition[rows],
            "gap": self.gaps[rows],
            "duration": self.durations[rows],
        } | {name: x[rows] for name, x in self.constants[other].items()}
        inputs = self.common(side, rows) | {name: x[here] for name, x in kept.inputs(side).items()}
        return program.bound(inputs, outputs | {name: x[here] for name, x in kept.outputs(other).items()})

    def rates(self, programs: Mapping[str, Program], k: int) -> list[Bound]:
        """Rates of the constraints of the nodes (k = 0) or of the end, from both trajectories; empty without any."""
        name, kept = ("rates", "end rates")[k], self.constraints[k]
        if name not in programs:
            return []
        both = [self.common(side, self._rows(k)) | kept.inputs(side) for side in (0, 1)]
        return [programs[name].bound(inputs, kept.rates) for inputs in both]
