"""Inverse kinematics as a program: tasks as nearly as ranges and speeds of the joints allow, which are never passed.

minimise Σ w |A d − e|² + λ² |d|²   with   lower − q ≤ d ≤ upper − q,   |d| ≤ v_max · step
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import real_array
from dalembert.functions.guards import function_call
from dalembert.linear import gram, solve_quadratic
from dalembert.math import maximum, minimum
from dalembert.robot import Robot

from .tasks import Situation, Task

STRIDE = 0.5  # rad or m that a joint moves at most in one step, as far as slopes are trusted


class Reached(NamedTuple):
    """q (nq,); error: the largest weighted error that is left; converged: whether steps no longer change it; steps."""

    q: np.ndarray
    error: float
    converged: bool
    steps: int


class InverseKinematics:
    """d = ik(q): the displacement (nv,) of one step towards the goals of the tasks; `solve` goes all the way."""

    def __init__(self, robot: Robot, tasks: tuple[Task, ...], step: float | None, damping: float, command: int) -> None:
        self.robot, self.tasks, self.step, self.damping, self.command = robot, tasks, step, damping, command

    @cached_property
    def _compiled(self) -> Any:
        robot = self.robot
        sizes = {"q": robot.nq} | ({"command": self.command} if self.command else {})

        def compute(q: np.ndarray, command: np.ndarray = np.zeros(0)) -> np.ndarray:  # noqa: B008
            still = q[0] * 0.0
            s = Situation(robot, still, q, np.zeros(robot.nv) + still, command)
            H: Any = self.damping**2 * np.eye(robot.nv)
            g: Any = np.zeros(robot.nv)
            worst: Any = 0.0
            for task in self.tasks:
                A, e = task.displacement(s)
                weight = np.broadcast_to(np.asarray(task.weight, float), (len(e),))
                H, g = H + gram(A, weight), g - A.T @ (weight * e)
                for w, x in zip(weight, e, strict=True):
                    worst = maximum(worst, maximum(x, -x) if w > 0.0 else 0.0)
            C, low, high = self._box(q)
            answer = solve_quadratic(np.array(H, object), np.array(g, object), C, low, high)
            return np.array([*answer.x, worst, answer.solved], object)

        return function_call(robot.model, "inverse_kinematics", sizes, compute)

    def _box(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of one freedom each: what its range and its speed leave."""
        robot, limits, rows, low, high = self.robot, self.robot.limits, [], [], []
        for body in robot.model.independent:
            for k in range(body.joint.nv):
                freedom = body.v.start + k
                speed = limits.velocity[freedom] * self.step if self.step is not None else np.inf
                most: Any = min(speed, STRIDE)
                least: Any = -most
                if body.joint.flat:
                    place = body.q.start + k
                    if np.isfinite(limits.upper[place]):
                        most = minimum(most, limits.upper[place] - q[place])
                    if np.isfinite(limits.lower[place]):
                        least = maximum(least, limits.lower[place] - q[place])
                rows.append(np.eye(robot.nv)[freedom])
                low.append(least)
                high.append(most)
        bounds = np.empty((2, len(rows)), object)
        bounds[0], bounds[1] = low, high
        return np.array(rows).reshape(-1, robot.nv), bounds[0], bounds[1]

    def __call__(self, q: Any, command: Any = None, **keywords: Any) -> np.ndarray:
        """The displacement (…, nv) of one step from q (…, nq), which keeps all limits."""
        return self._answer(q, command, **keywords)[..., : self.robot.nv]

    def _answer(self, q: Any, command: Any, **keywords: Any) -> np.ndarray:
        inputs = (q, np.zeros(self.command) if command is None else command) if self.command else (q,)
        return self._compiled(*inputs, **keywords)

    def solve(self, q: Any, command: Any = None, *, tolerance: float = 1e-8, most: int = 200) -> Reached:
        """Step after step from q (nq,), until no joint moves by more than `tolerance` [rad or m].

        A start beyond a limit is an error, since no step could keep it.
        """
        robot, limits = self.robot, self.robot.limits
        q = robot.normalize(real_array("inverse_kinematics: q", q, f"expected ({robot.nq},)").astype(float))
        beyond = np.maximum(limits.lower - q, q - limits.upper)
        worst = int(np.argmax(beyond))
        if beyond[worst] > 0.0:
            name = robot.model.coordinate_names[worst]
            raise DalembertError(
                f"inverse_kinematics: joint {name!r} starts at {q[worst]:.6g}, its range is "
                f"{limits.lower[worst]:.6g} to {limits.upper[worst]:.6g}: start within it"
            )
        n, converged, steps = robot.nv, False, 0
        while steps < most and not converged:
            steps += 1
            answer = self._answer(q, command)
            q = robot.integrate(q, answer[:n])
            q = np.where(np.isfinite(limits.lower), np.clip(q, limits.lower, limits.upper), q)  # round-off
            converged = bool(np.abs(answer[:n]).max() <= tolerance)
        return Reached(q, float(self._answer(q, command)[n]), converged, steps)


def inverse_kinematics(
    robot: Robot, tasks: Sequence[Task], *, step: float | None = None, damping: float = 1e-3, command: int = 0
) -> InverseKinematics:
    """Inverse kinematics by the same tasks as `whole_body`: `Frame`, `Posture`, `CentreOfMass`, weighed.

    Ranges of joints are never passed. step [s]: then neither are speeds, as in a loop that moves a robot; None: only
    ranges count. damping: of displacements, beside the weights of the tasks. command: as in `whole_body`.
    """
    for task in tasks:
        if not isinstance(task, Task):
            raise DalembertError(f"inverse_kinematics: tasks: expected Tasks, got {type(task).__name__}")
        task.checked(robot)
    if not tasks:
        raise DalembertError("inverse_kinematics: there is no task")
    if not 0.0 < damping < np.inf:
        raise DalembertError(f"inverse_kinematics: damping is {damping!r}, expected above 0")
    if step is not None and not 0.0 < step < np.inf:
        raise DalembertError(f"inverse_kinematics: step is {step!r}, expected above 0 [s]")
    return InverseKinematics(robot, tuple(tasks), step, float(damping), int(command))
