"""Tasks of the whole-body program: what accelerations should be. Subclass `Task` and give its rows.

A goal is a number array, a motion, or a function t → … or (t, command) → …, with `command` the numbers that a tick is
given. Errors obey ë + kd ė + kp e = 0, kp = ω², kd = 2 ζ ω, as far as weights, priorities and limits allow.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, check_positive
from dalembert.linear import factor, gram
from dalembert.math import log
from dalembert.quantities.tangent import differentiated, spread
from dalembert.robot import Robot
from dalembert.spatial.vectors import cross

from ..laws.task import ROWS, FrameGoal, Goal
from ..reference import Deviation, deviation, reference


class Situation(NamedTuple):
    """The situation of a task: time t [s], q (nq,), v (nv,), and the numbers `command` of this tick."""

    robot: Robot
    t: Any
    q: np.ndarray
    v: np.ndarray
    command: np.ndarray


class Wanted(NamedTuple):
    """A a = b is what a task asks for: A (k, nv), b (k,)."""

    A: np.ndarray
    b: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """One task. weight: of its squared error, a number or one per row; priority: lower ones come first, strictly.

    frequency ω [rad/s]: how fast errors decay; damping: the ratio ζ of accelerations, of which places have none.
    Of inverse kinematics alone: gain: the share of the error that one step takes, 0 … 1, in the place of the frequency;
    lm_damping: displacements cost lm_damping · (weighted error)², as of Levenberg and Marquardt, so that a task far
    from its goal moves the robot less, and what nothing else determines stays where it is.
    """

    weight: Any = 1.0
    priority: int = 0
    frequency: float = 10.0
    damping: float = 1.0
    gain: float | None = None
    lm_damping: float = 0.0

    def rows(self, s: Situation) -> Wanted:
        """The rows of the task, traced."""
        raise TypeError(f"{type(self).__name__} must define rows(situation)")

    def displacement(self, s: Situation) -> Wanted:
        """A d = e: the displacement d (nv,) that would reach the goal, for inverse kinematics."""
        raise DalembertError(f"inverse_kinematics: {self.name} does not constrain positions")

    @property
    def name(self) -> str:
        """Its name in messages."""
        return type(self).__name__

    def checked(self, robot: Robot) -> None:
        """Raise if it does not fit the robot."""
        for name in ("frequency", "damping"):
            check_positive(f"whole_body: {self.name}: {name}", getattr(self, name), zero=True)
        if self.gain is not None and not 0.0 < self.gain <= 1.0:
            raise DalembertError(f"whole_body: {self.name}: gain is {self.gain!r}, expected above 0, at most 1")
        check_positive(f"whole_body: {self.name}: lm_damping", self.lm_damping, zero=True)
        if not (np.all(np.asarray(self.weight, float) >= 0.0) and np.all(np.isfinite(np.asarray(self.weight, float)))):
            raise DalembertError(f"whole_body: {self.name}: weight is {self.weight!r}, expected 0 or more")

    @property
    def gains(self) -> tuple[float, float]:
        """kp, kd."""
        return self.frequency**2, 2.0 * self.damping * self.frequency


def goal_of(goal: Any, s: Situation) -> Any:
    """A goal now: a function of t, or of t and the command, is asked."""
    if not callable(goal):
        return goal
    return goal(s.t, s.command) if len(inspect.signature(goal).parameters) > 1 else goal(s.t)


def parts_of(value: Any, count: int) -> list[np.ndarray]:
    """(value, velocity, acceleration), with 0 for those that are not given; a tuple of numbers is a value."""
    rates = isinstance(value, tuple) and all(np.ndim(part) > 0 for part in value)
    parts = [np.asarray(part) for part in (value if rates else [value])]
    return parts + [np.zeros(count)] * (3 - len(parts))


def check_goal(task: Task, goal: Any, count: int) -> None:
    """Raise if a goal that is no function, or a rate of it, is not an array of so many finite numbers."""
    for part in [] if callable(goal) else parts_of(goal, count):
        if part.shape != (count,) or not np.all(np.isfinite(part.astype(float))):
            raise DalembertError(f"whole_body: {task.name}: goal is {goal!r}, expected ({count},) of finite numbers")


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame(Task):
    """A frame at a goal: pose (4, 4) or point (3,) in the world, or with rates (pose or point, velocity, acceleration).

    rows_of: "pose", "position" or "orientation"; default what the goal is. root: a frame in whose place and axes the
    goal and its rates are meant, instead of the world's.
    """

    frame: str
    goal: Any
    rows_of: str | None = None
    root: str | None = None

    @property
    def name(self) -> str:
        return f"Frame({self.frame})" if self.root is None else f"Frame({self.frame} in {self.root})"

    def _goal(self, s: Situation) -> tuple[FrameGoal, Goal]:
        now = goal_of(self.goal, s)
        task = FrameGoal(f"whole_body: {self.name}", s.robot, self.frame, lambda t: now, self.rows_of)
        return task, task.at(s.t)

    def checked(self, robot: Robot) -> None:
        super().checked(robot)
        for frame in (self.frame, *(() if self.root is None else (self.root,))):
            robot.frame(frame)
        if self.rows_of is not None and self.rows_of not in ROWS:
            raise DalembertError(
                f"whole_body: {self.name}: rows_of is {self.rows_of!r}, expected one of {', '.join(ROWS)}"
            )

    def _motion(self, s: Situation) -> tuple[np.ndarray, np.ndarray]:
        """The frame's pose (4, 4) and Jacobian (6, nv), in the world or in the root."""
        X, J = s.robot.pose(s.q, self.frame), s.robot.jacobian(s.q, self.frame)
        if self.root is None:
            return X, J
        X_root, of_root = s.robot.pose(s.q, self.root), s.robot.jacobian(s.q, self.root)
        R, arm = X_root[:3, :3], X[:3, 3] - X_root[:3, 3]
        carried = np.array([cross(w, arm) for w in of_root[:3].T]).reshape(-1, 3).T
        J = np.concatenate([R.T @ (J[:3] - of_root[:3]), R.T @ (J[3:] - of_root[3:] - carried)])
        place = np.array(np.eye(4), object)
        place[:3, :3], place[:3, 3] = R.T @ X[:3, :3], R.T @ arm
        return place, J

    def _drift(self, s: Situation) -> np.ndarray:
        """J̇ v (6,)."""
        still, frame, v = np.zeros(s.robot.nv), self.frame, s.v
        if self.root is None:
            return s.robot.acceleration(s.q, v, still, frame)
        X, X_root = (s.robot.pose(s.q, each) for each in (frame, self.root))
        (w, u), (w_root, u_root) = (np.split(s.robot.velocity(s.q, v, each), 2) for each in (frame, self.root))
        (e, a), (e_root, a_root) = (
            np.split(s.robot.acceleration(s.q, v, still, each), 2) for each in (frame, self.root)
        )
        R, arm = X_root[:3, :3], X[:3, 3] - X_root[:3, 3]
        past = u - u_root - cross(w_root, arm)
        turning = e - e_root - cross(w_root, w - w_root)
        moving = a - a_root - cross(e_root, arm) - cross(w_root, cross(w_root, arm)) - 2.0 * cross(w_root, past)
        return np.concatenate([R.T @ turning, R.T @ moving])

    def rows(self, s: Situation) -> Wanted:
        task, goal = self._goal(s)
        kp, kd = self.gains
        X, J = self._motion(s)
        J, drift = J[task.chosen], self._drift(s)[task.chosen]
        e, rate = task.error(X, goal), goal.velocity[task.chosen] - J @ s.v
        return Wanted(J, goal.acceleration[task.chosen] + kp * e + kd * rate - drift)

    def displacement(self, s: Situation) -> Wanted:
        task, goal = self._goal(s)
        X, J = self._motion(s)
        return Wanted(J[task.chosen], task.error(X, goal))


@dataclass(frozen=True, eq=False, kw_only=True)
class Posture(Task):
    """All joints at a configuration (nq,) or on a motion; weight: a number or one for each freedom (nv,)."""

    goal: Any

    def _off(self, s: Situation) -> Deviation:
        target: Any
        if callable(self.goal):
            target = _Moment(*parts_of(goal_of(self.goal, s), s.robot.nv))
        else:
            target = reference("whole_body: Posture", s.robot, self.goal)
        return deviation(s.robot.model, target, s.t, s.q, s.v)

    def rows(self, s: Situation) -> Wanted:
        kp, kd = self.gains
        off = self._off(s)
        return Wanted(np.eye(s.robot.nv), off.a + kp * off.e + kd * (off.v - s.v))

    def displacement(self, s: Situation) -> Wanted:
        return Wanted(np.eye(s.robot.nv), self._off(s).e)


class _Moment:
    """A motion at one time."""

    def __init__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        self._q, self._v, self._a = q, v, a

    def q(self, t: Any) -> np.ndarray:
        return self._q

    def v(self, t: Any) -> np.ndarray:
        return self._v

    def a(self, t: Any) -> np.ndarray:
        return self._a


@dataclass(frozen=True, eq=False, kw_only=True)
class CenterOfMass(Task):
    """The centre of mass at a point (3,) in the world, or (point, velocity, acceleration) as a function."""

    goal: Any

    def checked(self, robot: Robot) -> None:
        super().checked(robot)
        check_goal(self, self.goal, 3)

    def rows(self, s: Situation) -> Wanted:
        kp, kd = self.gains
        point, velocity, acceleration = parts_of(goal_of(self.goal, s), 3)
        J = s.robot.center_of_mass_jacobian(s.q)
        drift = s.robot.centroidal_momentum_rate(s.q, s.v, np.zeros(s.robot.nv))[3:] / s.robot.total_mass
        b = acceleration + kp * (point - s.robot.center_of_mass(s.q)) + kd * (velocity - J @ s.v)
        return Wanted(J, b - drift)

    def displacement(self, s: Situation) -> Wanted:
        point = parts_of(goal_of(self.goal, s), 3)[0]
        return Wanted(s.robot.center_of_mass_jacobian(s.q), point - s.robot.center_of_mass(s.q))


@dataclass(frozen=True, eq=False, kw_only=True)
class Momentum(Task):
    """Angular momentum about the centre of mass at a value (3,) [N·m·s], default 0; the error decays at `frequency`."""

    goal: Any = (0.0, 0.0, 0.0)

    def checked(self, robot: Robot) -> None:
        super().checked(robot)
        check_goal(self, self.goal, 3)

    def rows(self, s: Situation) -> Wanted:
        wanted, rate, _ = parts_of(goal_of(self.goal, s), 3)
        A = s.robot.centroidal_momentum_matrix(s.q)[:3]
        drift = s.robot.centroidal_momentum_rate(s.q, s.v, np.zeros(s.robot.nv))[:3]
        return Wanted(A, rate + self.frequency * (wanted - A @ s.v) - drift)


@dataclass(frozen=True, eq=False, kw_only=True)
class Force(Task):
    """The force of a support at a value (3,) [N] along world axes, or (6,) [torque; force] of one with a size."""

    frame: str
    goal: Any

    @property
    def name(self) -> str:
        return f"Force({self.frame})"


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
