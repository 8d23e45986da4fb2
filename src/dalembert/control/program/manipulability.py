"""A task that leads away from singular configurations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.linear import factor, gram
from dalembert.math import log
from dalembert.quantities.tangent import differentiated, spread
from dalembert.robot import Robot

from ..laws.task import ROWS
from .tasks import Situation, Task, Wanted

LEAST = 1e-12  # added to J Jᵀ, which is singular in singular configurations


@dataclass(frozen=True, eq=False, kw_only=True)
class Manipulability(Task):
    """Configurations far from singular ones: up the slope of log √det(J Jᵀ) of a frame, along null spaces.

    rows_of: "pose", "position" or "orientation". Of inverse kinematics alone; the displacement that it asks for is
    `stride` [rad or m] times the slope, which ends where the manipulability is largest.
    """

    frame: str
    rows_of: str = "position"
    stride: float = 0.01

    @property
    def name(self) -> str:
        return f"Manipulability({self.frame})"

    def checked(self, robot: Robot) -> None:
        super().checked(robot)
        robot.frame(self.frame)
        if self.rows_of not in ROWS:
            raise DalembertError(
                f"whole_body: {self.name}: rows_of is {self.rows_of!r}, expected one of {', '.join(ROWS)}"
            )
        if robot.nv < len(ROWS[self.rows_of]):
            raise DalembertError(
                f"whole_body: {self.name}: {len(ROWS[self.rows_of])} rows for {robot.nv} freedoms of robot "
                f"{robot.name!r} are singular everywhere: take fewer rows"
            )

    def rows(self, s: Situation) -> Wanted:
        raise DalembertError(f"whole_body: {self.name} is a task of inverse kinematics: leave it out")

    def displacement(self, s: Situation) -> Wanted:
        robot, chosen = s.robot, list(ROWS[self.rows_of])

        @differentiated
        def slope(q: np.ndarray) -> np.ndarray:
            J = robot.jacobian(q, self.frame)[chosen]
            pivots = factor(gram(J.T, np.ones(robot.nv)) + LEAST * np.eye(len(J))).r
            return spread(robot.model, np.array([-0.5 * sum(log(r) for r in pivots)]), q)[0]

        return Wanted(np.eye(robot.nv), self.stride * slope(s.q))
