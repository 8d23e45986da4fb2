"""Inverse kinematics as a program: tasks as nearly as ranges and speeds of the joints allow, which are never passed.

minimise Σ w |A d − e|² + λ² |d|²   with   lower − q ≤ d ≤ upper − q,   |d| ≤ v_max · step

of each priority among the d that are best for the priorities before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import real_array
from dalembert.functions.guards import function_call
from dalembert.linear import gram
from dalembert.math import maximum, minimum
from dalembert.robot import Robot

from .assembly import Level
from .solution import in_order
from .tasks import Situation, Task, Wanted

SHORTEST = 1e-2  # share of a step below which it does not shrink
STRIDE = 0.5  # rad or m that a joint moves at most in one step, as far as slopes are trusted


class Reached(NamedTuple):
    """q (nq,); error: the largest weighted error that is left; converged: whether steps no longer change it; steps.

    errors: the largest of each task, in their order: what converged may still be off its goal, because goals are out of
    reach, or at odds with others of the same or an earlier priority.
    """

    q: np.ndarray
    error: float
    converged: bool
    steps: int
    errors: tuple[float, ...] = ()


class InverseKinematics:
    """d = ik(q): the displacement (nv,) of one step towards the goals of the tasks; `solve` goes all the way."""

    def __init__(self, robot: Robot, tasks: tuple[Task, ...], step: float | None, damping: float, command: int) -> None:
        self.robot, self.tasks, self.step, self.damping, self.command = robot, tasks, step, damping, command

    @cached_property
    def _compiled(self) -> Any:
        robot = self.robot
        sizes = {"q": robot.nq, "timing": 2} | ({"command": self.command} if self.command else {})

        def compute(q: np.ndarray, timing: np.ndarray, command: np.ndarray = np.zeros(0)) -> np.ndarray:  # noqa: B008
            s = Situation(robot, timing[0], q, np.zeros(robot.nv) + q[0] * 0.0, command)
            wanted = [task.displacement(s) for task in self.tasks]
            levels = self._levels(wanted, timing[1])
            errors = [_largest(task, e) for task, (_, e) in zip(self.tasks, wanted, strict=True)]
            answer = in_order(levels, *self._box(q))
            return np.array([*answer.x, answer.solved, *errors], object)

        return function_call(robot.model, "inverse_kinematics", sizes, compute)

    def _levels(self, wanted: Sequence[Wanted], whole: Any) -> list[Level]:
        """Tasks by priority. whole: 1 for all of the errors at once, 0 for what decays in one step."""
        n, levels = self.robot.nv, []
        for order in sorted({task.priority for task in self.tasks}):
            H: Any = self.damping**2 * np.eye(n)
            g: Any = np.zeros(n)
            rows = []
            for task, (A, e) in zip(self.tasks, wanted, strict=True):
                if task.priority != order:
                    continue
                weight = np.broadcast_to(np.asarray(task.weight, float), (len(e),))
                share = 1.0 if self.step is None else 1.0 - float(np.exp(-task.frequency * self.step))
                H, g = H + gram(A, weight), g - A.T @ (weight * (whole + (1.0 - whole) * share) * e)
                rows.append(A[weight > 0.0])
            levels.append(Level(np.array(H, object), np.array(g, object), np.concatenate(rows)))
        return levels

    def _box(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of one freedom each: what its range and its speed leave."""
        robot, limits, rows, low, high = self.robot, self.robot.limits, [], [], []
        for body in robot.model.independent:
            for k in range(body.joint.nv):
                freedom = body.v.start + k
                speed = limits.velocity[freedom] * self.step if self.step is not None else np.inf
                most: Any = min(speed, STRIDE)
                least: Any = -most
                if body.joint.flat:  # beyond its range a joint moves back as fast as it may
                    place, reach = body.q.start + k, most
                    if np.isfinite(limits.upper[place]):
                        most = maximum(minimum(reach, limits.upper[place] - q[place]), -reach)
                    if np.isfinite(limits.lower[place]):
                        least = minimum(maximum(-reach, limits.lower[place] - q[place]), reach)
                rows.append(np.eye(robot.nv)[freedom])
                low.append(least)
                high.append(most)
        bounds = np.empty((2, len(rows)), object)
        bounds[0], bounds[1] = low, high
        return np.array(rows).reshape(-1, robot.nv), bounds[0], bounds[1]

    def __call__(self, q: Any, command: Any = None, *, t: float = 0.0, **keywords: Any) -> np.ndarray:
        """The displacement (…, nv) of one step from q (…, nq), which keeps all limits; t [s]: when goals are asked.

        A joint beyond its range moves back, as fast as it may.
        """
        answer = self._answer(q, command, t, self.step is None, **keywords)
        if not np.all(answer[..., self.robot.nv] > 0.5):
            raise DalembertError("inverse_kinematics: the solver ended before it met its tolerance: raise damping=")
        return answer[..., : self.robot.nv]

    def _answer(self, q: Any, command: Any, t: float, whole: bool, **keywords: Any) -> np.ndarray:
        given = [np.zeros(self.command) if command is None else command] if self.command else []
        return self._compiled(q, np.array([float(t), float(whole)]), *given, **keywords)

    def solve(
        self, q: Any, command: Any = None, *, t: float = 0.0, tolerance: float = 1e-8, max_iterations: int = 200
    ) -> Reached:
        """Step after step from q (nq,), all of the errors at once, until no joint moves by more than `tolerance`.

        tolerance [rad or m]. t [s]: when goals are asked. A start beyond a limit is an error, since no step could keep
        it.
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
        n, converged, steps, length, last = robot.nv, False, 0, 1.0, np.zeros(robot.nv)
        while steps < max_iterations and not converged:
            steps += 1
            d = self._answer(q, command, t, True)[:n]
            converged = bool(np.abs(d).max() <= tolerance)
            length = max(0.5 * length, SHORTEST) if d @ last < 0.0 else min(1.0, 1.5 * length)  # it swings: shorter
            last = d
            q = robot.integrate(q, length * d)
            q = np.where(np.isfinite(limits.lower), np.clip(q, limits.lower, limits.upper), q)  # round-off
        errors = tuple(float(x) for x in self._answer(q, command, t, True)[n + 1 :])
        return Reached(q, max(errors), converged, steps, errors)


def _largest(task: Task, errors: np.ndarray) -> Any:
    """The largest of the errors that count."""
    worst: Any = 0.0
    for w, x in zip(np.broadcast_to(np.asarray(task.weight, float), (len(errors),)), errors, strict=True):
        worst = maximum(worst, maximum(x, -x) if w > 0.0 else 0.0)
    return worst


def inverse_kinematics(
    robot: Robot, tasks: Sequence[Task], *, step: float | None = None, damping: float = 1e-3, command: int = 0
) -> InverseKinematics:
    """Inverse kinematics by tasks of `whole_body`: `Frame`, `Posture`, `CenterOfMass`, and your own with displacements.

    Lower priorities come first, strictly; weights decide among tasks of one priority. Ranges of joints are never
    passed. step [s]: then neither are speeds, as in a loop that moves a robot, and a call takes as much of each error
    as decays in one step at the task's `frequency`; None: all of it, and only ranges count. Of goals with rates the
    places count. damping: of displacements, beside the weights of the tasks. command: as in `whole_body`.
    """
    for task in tasks:
        if not isinstance(task, Task):
            raise DalembertError(f"inverse_kinematics: tasks: expected Tasks, got {type(task).__name__}")
        task.checked(robot)
        _check_taken(task, step)
    if not tasks:
        raise DalembertError("inverse_kinematics: there is no task")
    if not 0.0 < damping < np.inf:
        raise DalembertError(f"inverse_kinematics: damping is {damping!r}, expected above 0")
    if step is not None and not 0.0 < step < np.inf:
        raise DalembertError(f"inverse_kinematics: step is {step!r}, expected above 0 [s]")
    return InverseKinematics(robot, tuple(tasks), step, float(damping), int(command))


def _check_taken(task: Task, step: float | None) -> None:
    """Refuse what means nothing to places: damping, frequency where no time passes, tasks of velocities and forces."""
    default = {field.name: field.default for field in fields(task)}
    if task.damping != default["damping"]:
        raise DalembertError(
            f"inverse_kinematics: {task.name}: damping={task.damping:g} is of accelerations, and places have none: "
            "leave it out"
        )
    if step is None and task.frequency != default["frequency"]:
        raise DalembertError(
            f"inverse_kinematics: {task.name}: frequency={task.frequency:g} rad/s is how fast errors decay in time: "
            "give step=… [s], or leave it out"
        )
    if type(task).displacement is Task.displacement:
        raise DalembertError(f"inverse_kinematics: {task.name} does not constrain positions: leave it out")
