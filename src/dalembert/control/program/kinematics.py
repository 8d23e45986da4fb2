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

from dalembert.compiler.execute import is_traced, real_array
from dalembert.errors import DalembertError, check_positive
from dalembert.linear import gram
from dalembert.math import maximum, minimum
from dalembert.quantities.guards import function_call
from dalembert.robot import Robot

from .assembly import Level, stacked
from .limits import Limit, beyond, check_limits
from .solution import in_order
from .tasks import Situation, Task, Wanted

SHORTEST = 1e-2  # share of a step below which it does not shrink
STRIDE = 0.5  # rad or m that a joint moves at most in one step, as far as slopes are trusted
BENT = 0.1  # the same beside limits, whose numbers are to be followed
NO_COMMAND = np.zeros(0)
SHORTER = 6  # halvings of a step that passes a limit
PASSED = 1e-6  # by how much a limit may be passed further in one step of a solution; more makes the step shorter


class Reached(NamedTuple):
    """q (nq,); error: the largest weighted error that is left; converged: whether steps no longer change it; steps.

    errors: the largest of each task, in their order: what converged may still be off its goal, because goals are out of
    reach, or at odds with others of the same or an earlier priority. beyond: by how much each limit is passed, in its
    own units, 0 where it is kept.
    """

    q: np.ndarray
    error: float
    converged: bool
    steps: int
    errors: tuple[float, ...] = ()
    beyond: tuple[float, ...] = ()


class InverseKinematics:
    """d = ik(q): the displacement (nv,) of one step towards the goals of the tasks; `solve` goes all the way."""

    def __init__(
        self, robot: Robot, tasks: tuple[Task, ...], limits: tuple[Limit, ...], step: float | None, damping: float,
        command: int,
    ) -> None:  # fmt: skip
        self.robot, self.tasks, self.limits = robot, tasks, limits
        self.step, self.damping, self.command = step, damping, command

    @cached_property
    def _compiled(self) -> Any:
        robot = self.robot
        sizes = {"q": robot.nq, "timing": 2} | ({"command": self.command} if self.command else {})

        call = function_call(robot.model, "inverse_kinematics", sizes, self._computed)
        return call.builtin("inverse_kinematics", f"({', '.join(sizes)})\n--\n\n", call)

    def _computed(self, q: np.ndarray, timing: np.ndarray, command: np.ndarray = NO_COMMAND) -> np.ndarray:
        """[displacement, solved, errors, how far limits are passed] of traced values; timing: see `_answer`."""
        robot = self.robot
        s = Situation(robot, timing[0], q, np.zeros(robot.nv) + q[0] * 0.0, command)
        wanted = [task.displacement(s) for task in self.tasks]
        levels = self._levels(s, wanted, timing[1])
        errors = [_largest(task, e) for task, (_, e) in zip(self.tasks, wanted, strict=True)]
        answer = in_order(levels, *self._box(q))
        past = [beyond(limit, s) for limit in self.limits]
        return np.array([*answer.x, answer.solved, *errors, *past], object)

    def _levels(self, s: Situation, wanted: Sequence[Wanted], whole: Any) -> list[Level]:
        """Tasks by priority, and limits. whole: 1 for all of the errors at once, 0 for what one step takes of them."""
        n, levels, first = self.robot.nv, [], True
        orders = {task.priority for task in self.tasks}
        orders |= {limit.priority for limit in self.limits if limit.priority is not None}
        for order in sorted(orders):
            H: Any = self.damping**2 * np.eye(n)
            g: Any = np.zeros(n)
            rows = [np.zeros((0, n))]
            for task, (A, e) in zip(self.tasks, wanted, strict=True):
                if task.priority != order:
                    continue
                weight = np.broadcast_to(np.asarray(task.weight, float), (len(e),))
                share = self._share(task)
                H, g = H + gram(A, weight), g - A.T @ (weight * (whole + (1.0 - whole) * share) * e)
                if task.lm_damping:
                    H = H + task.lm_damping * (e @ (weight * e)) * np.eye(n)
                rows.append(A[weight > 0.0])
            counted = [x for x in self.limits if x.priority == order or (first and x.priority is None)]
            limits = stacked([limit.displacement(s, self.step) for limit in counted])
            levels.append(Level(np.array(H, object), np.array(g, object), np.concatenate(rows), limits))
            first = False
        return levels

    def _share(self, task: Task) -> float:
        """The share of a task's error that one step takes."""
        if task.gain is not None:
            return float(task.gain)
        return 1.0 if self.step is None else 1.0 - float(np.exp(-task.frequency * self.step))

    def _box(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of one freedom each: what its range and its speed leave."""
        robot, limits, rows, low, high = self.robot, self.robot.limits, [], [], []
        for body in robot.model.independent:
            for k in range(body.joint.nv):
                freedom = body.v.start + k
                speed = limits.velocity[freedom] * self.step if self.step is not None else np.inf
                most: Any = min(speed, BENT if self.limits else STRIDE)
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

    def __call__(self, q: Any, command: Any = None, *, t: Any = 0.0, **keywords: Any) -> np.ndarray:
        """The displacement (…, nv) of one step from q (…, nq), which keeps all limits; t [s]: when goals are asked.

        A joint beyond its range moves back, as fast as it may. Inside a traced law t may be traced, too; then a
        displacement that misses its tolerance is not found out.
        """
        if is_traced(q, t):
            numbers = NO_COMMAND if command is None else np.asarray(command)
            return self._computed(np.asarray(q), np.array([t, float(self.step is None)], object), numbers)[
                : self.robot.nv
            ]
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
        n, count, converged, steps, length = robot.nv, len(self.tasks), False, 0, 1.0
        last, answer = np.zeros(robot.nv), self._answer(q, command, t, True)
        while steps < max_iterations and not converged:
            steps += 1
            d, past = answer[:n], answer[n + 1 + count :]
            converged = bool(np.abs(d).max() <= tolerance)
            length = max(0.5 * length, SHORTEST) if d @ last < 0.0 else min(1.0, 1.5 * length)  # it swings: shorter
            last = d
            for _ in range(SHORTER):
                trial = robot.integrate(q, length * d)
                trial = np.where(
                    np.isfinite(limits.lower), np.clip(trial, limits.lower, limits.upper), trial
                )  # round-off
                answer = self._answer(trial, command, t, True)
                if not (answer[n + 1 + count :] > np.maximum(past, 0.0) + PASSED).any():
                    break
                length *= 0.5
            q = trial
        errors, missed = (tuple(map(float, x)) for x in np.split(answer[n + 1 :], [count]))
        return Reached(q, max(errors), converged, steps, errors, missed)


def _largest(task: Task, errors: np.ndarray) -> Any:
    """The largest of the errors that count."""
    worst: Any = 0.0
    for w, x in zip(np.broadcast_to(np.asarray(task.weight, float), (len(errors),)), errors, strict=True):
        worst = maximum(worst, maximum(x, -x) if w > 0.0 else 0.0)
    return worst


def inverse_kinematics(
    robot: Robot,
    tasks: Sequence[Task],
    limits: Sequence[Limit] = (),
    *,
    step: float | None = None,
    damping: float = 1e-3,
    command: int = 0,
) -> InverseKinematics:
    """Inverse kinematics by tasks of `whole_body`: `Frame`, `Posture`, `CenterOfMass`, and your own with displacements.

    Lower priorities come first, strictly; weights decide among tasks of one priority. Ranges of joints are never
    passed. step [s]: then neither are speeds, as in a loop that moves a robot, and a call takes as much of each error
    as decays in one step at the task's `frequency`; None: all of it, and only ranges count. Of goals with rates the
    places count. damping: of displacements, beside the weights of the tasks. command: as in `whole_body`.

    limits: `CollisionAvoidance`, `Region`, `JointLimit`, or your own, beside the ranges and speeds of the robot's file.
    They come before all tasks, or with a priority before those of the same priority. Where not all can be kept, as from
    a start beyond them, they are missed as little as possible; `solve(…).beyond` says by how much.
    """
    check_limits("inverse_kinematics", robot, limits, step)
    for task in tasks:
        if not isinstance(task, Task):
            raise DalembertError(f"inverse_kinematics: tasks: expected Tasks, got {type(task).__name__}")
        task.checked(robot)
        _check_taken(task, step)
    if not tasks:
        raise DalembertError("inverse_kinematics: there is no task")
    check_positive("inverse_kinematics: damping", damping)
    if step is not None and not 0.0 < step < np.inf:
        raise DalembertError(f"inverse_kinematics: step is {step!r}, expected above 0 [s]")
    return InverseKinematics(robot, tuple(tasks), tuple(limits), step, float(damping), int(command))


def _check_taken(task: Task, step: float | None) -> None:
    """Refuse what means nothing to places: damping, frequency where no time passes, tasks of velocities and forces."""
    default = {field.name: field.default for field in fields(task)}
    if task.damping != default["damping"]:
        raise DalembertError(
            f"inverse_kinematics: {task.name}: damping={task.damping:g} is of accelerations, and places have none: "
            "leave it out"
        )
    if task.gain is not None and task.frequency != default["frequency"]:
        raise DalembertError(
            f"inverse_kinematics: {task.name}: gain and frequency are both given, expected one of them"
        )
    if step is None and task.frequency != default["frequency"]:
        raise DalembertError(
            f"inverse_kinematics: {task.name}: frequency={task.frequency:g} rad/s is how fast errors decay in time: "
            "give step=… [s], or leave it out"
        )
    if type(task).displacement is Task.displacement:
        raise DalembertError(f"inverse_kinematics: {task.name} does not constrain positions: leave it out")
