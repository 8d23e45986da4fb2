"""Laws for a frame of the robot: operational space, Cartesian impedance, resolved rate.

With the task's Jacobian J, its inertia Λ = (J M⁻¹ Jᵀ + λ² 1)⁻¹, and the null space Nᵀ = 1 − Jᵀ J̄ᵀ:

    operational space   tau = Jᵀ Λ (ẍ_d + kd ė + kp e − J̇ v) + C v + g + Nᵀ M (posture)
    impedance           tau = Jᵀ (K e + D ė) + g + Nᵀ M (posture),   D = 2 ζ √(K Λ) by row
    resolved rate       v_c = J⁺ (ẋ_d + k e) + (1 − J⁺ J) (posture),   tau = M kd (v_c − v) + C v + g

λ damps the task where J loses rank, so that torques stay bounded there; gravity and Coriolis forces are compensated in
joint space, and stay exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import is_single, real_array
from dalembert.errors import DalembertError, check_positive, renamed
from dalembert.linear import solve_semidefinite
from dalembert.math import maximum, sqrt
from dalembert.model import tool_frame
from dalembert.robot import Robot
from dalembert.spatial import se3, so3

from ..gains import Gains, gains, refuse_passive
from ..reference import Reference, deviation, reference
from .joint import WHOLE_BODY
from .law import Law

STIFFEST = {"m": 5000.0, "rad": 300.0}  # N/m and N·m/rad that torque-controlled arms can show
ROWS = {"pose": (0, 1, 2, 3, 4, 5), "position": (3, 4, 5), "orientation": (0, 1, 2)}


class Goal(NamedTuple):
    """Where a frame should be: pose (4, 4), and its velocity and acceleration [ω; v] (6,), along world axes."""

    pose: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class FrameGoal:
    """A frame that follows a goal: a pose (4, 4), a point (3,), or a function t → (pose or point, velocity, …).

    rows: of [ω; v] that count: "pose", "position" or "orientation". Rates that are not given are 0.
    """

    def __init__(self, where: str, robot: Robot, frame: str | None, goal: Any, rows: str | None) -> None:
        self.robot, self.goal = robot, goal
        self.frame = tool_frame(robot.model, frame).name
        pose = self._parts(0.0, where)[0]
        self.rows = rows or ("pose" if np.shape(pose) == (4, 4) else "position")
        if self.rows not in ROWS:
            raise DalembertError(f"{where}: rows is {rows!r}, expected one of {', '.join(map(repr, ROWS))}")
        if np.shape(pose) == (3,) and self.rows != "position":
            raise DalembertError(f"{where}: the goal is a point (3,), but rows is {rows!r}: give a pose (4, 4)")
        self.chosen = list(ROWS[self.rows])

    def _parts(self, t: Any, where: str) -> list[Any]:
        goal = self.goal(t) if callable(self.goal) else self.goal
        parts = list(goal) if isinstance(goal, tuple) else [goal]
        expected = "expected a pose (4, 4), a point (3,), or a function t → (pose or point, velocity (6,), …)"
        parts[0] = np.asarray(parts[0])
        if np.shape(parts[0]) not in ((4, 4), (3,)) or len(parts) > 3:
            raise DalembertError(f"{where}: the goal has shape {np.shape(parts[0])}, {expected}")
        if parts[0].dtype != object:
            place = real_array(f"{where}: the goal", parts[0], expected)
            slack = (100 if is_single(place) else 1) * se3.ORTHONORMAL
            if not np.all(np.isfinite(place)) or (place.shape == (4, 4) and not se3.is_pose(place, slack)):
                raise DalembertError(
                    f"{where}: the goal is not a pose or point: expected finite numbers, in a pose a rotation "
                    f"(orthonormal to {slack:g}, right-handed), a position, and the last row 0 0 0 1"
                )
        for rate in parts[1:]:
            if np.shape(rate) not in ((6,), (3,)):
                raise DalembertError(f"{where}: a rate of the goal has shape {np.shape(rate)}, expected (6,) or (3,)")
        return parts

    def at(self, t: Any) -> Goal:
        """The goal at a time."""
        place, *rates = self._parts(t, "goal")
        if place.shape == (3,):
            turned = np.array(np.eye(4), place.dtype if place.dtype == object else float)
            turned[:3, 3] = place
            place = turned
        full = [np.concatenate([np.zeros(6 - np.size(rate)), rate]) for rate in rates]
        return Goal(place, *full, *[np.zeros(6)] * (2 - len(rates)))

    def error(self, X: np.ndarray, goal: Goal) -> np.ndarray:
        """[rotation vector; displacement] from a pose X (4, 4) to the goal, along world axes, its chosen rows."""
        e = []
        if self.rows != "position":
            e += list(so3.log(goal.pose[:3, :3] @ X[:3, :3].T))
        if self.rows != "orientation":
            e += list(goal.pose[:3, 3] - X[:3, 3])
        return np.array(e)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """J (k, nv)."""
        return self.robot.jacobian(q, self.frame)[self.chosen]

    @property
    def units(self) -> list[str]:
        """ "rad" or "m" of each row."""
        return ["rad" if k < 3 else "m" for k in self.chosen]


class _TaskLaw(Law):
    def __init__(self, where: str, robot: Robot, frame: Any, goal: Any, rows: Any, posture: Any, singular: Any) -> None:
        refuse_passive(where, robot, WHOLE_BODY)
        self.robot, self.task = robot, FrameGoal(where, robot, frame, goal, rows)
        self.posture: Reference | None = None if posture is None else reference(where, robot, posture)
        check_positive(f"{where}: singular_damping", singular, zero=True)
        self.singular_damping = float(singular)
        if singular == 0.0 and len(self.task.chosen) > robot.nv:
            raise DalembertError(
                f"{where}: {len(self.task.chosen)} rows of the task for {robot.nv} freedoms of robot {robot.name!r} "
                "need singular_damping above 0, or fewer rows"
            )
        self.posture_gains = Gains(np.full(robot.nv, 2.0), np.ones(robot.nv))

    def _inertia(self, q: np.ndarray) -> np.ndarray:
        rows = None if self.task.rows == "pose" else self.task.rows
        options: dict[str, Any] = {} if rows is None else {"rows": rows}
        return self.robot.operational_inertia(q, self.task.frame, damping=self.singular_damping, **options)

    def _null_torque(self, t: Any, q: np.ndarray, v: np.ndarray, J: np.ndarray, inertia: np.ndarray) -> np.ndarray:
        """Nᵀ M (kp e − kd v) of the posture, and −kd v of what is free without one: the null space is damped."""
        gains = self.posture_gains
        a = -gains.kd * v
        if self.posture is not None:
            off = deviation(self.robot.model, self.posture, t, q, v)
            a = gains.kp * off.e + gains.kd * (off.v - v)
        tau = self.robot.mass_matrix(q) @ a
        return tau - J.T @ (inertia @ (J @ a))  # Nᵀ M a, as M⁻¹ M a = a


class OperationalSpace(_TaskLaw):
    """tau = Jᵀ Λ (ẍ_d + kd ė + kp e − J̇ v) + C v + g + Nᵀ M (posture)."""

    kp = kd = 0.0

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        task, robot = self.task, self.robot
        goal, J, inertia = task.at(t), task.jacobian(q), self._inertia(q)
        drift = robot.acceleration(q, v, np.zeros(robot.nv), task.frame)[task.chosen]
        e, rate = task.error(robot.pose(q, task.frame), goal), goal.velocity[task.chosen] - J @ v
        wanted = goal.acceleration[task.chosen] + self.kd * rate + self.kp * e - drift
        return J.T @ (inertia @ wanted) + robot.bias(q, v) + self._null_torque(t, q, v, J, inertia)


class Impedance(_TaskLaw):
    """tau = Jᵀ (Λ ẍ_d + K e + D ė) + C v + g + Nᵀ M (posture)."""

    stiffness: np.ndarray
    damping = 1.0

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        task, robot = self.task, self.robot
        goal, J, inertia = task.at(t), task.jacobian(q), self._inertia(q)
        e, rate = task.error(robot.pose(q, task.frame), goal), goal.velocity[task.chosen] - J @ v
        D = 2.0 * self.damping * sqrt(self.stiffness * np.diagonal(inertia))
        force = inertia @ goal.acceleration[task.chosen] + self.stiffness * e + D * rate
        return J.T @ force + robot.bias(q, v) + self._null_torque(t, q, v, J, inertia)


class ResolvedRate(_TaskLaw):
    """v_c = J⁺ (ẋ_d + k e) + (1 − J⁺ J) (posture); tau = M kd (v_c − v) + C v + g."""

    gain = servo = 0.0
    speed_limit: np.ndarray

    def velocity(self, t: Any, q: np.ndarray) -> np.ndarray:
        """The joint velocities v_c (nv,) that are asked for; all are slowed down alike where one is too fast."""
        task, robot = self.task, self.robot
        goal, J = task.at(t), task.jacobian(q)
        free = np.zeros(robot.nv)
        if self.posture is not None:
            off = deviation(robot.model, self.posture, t, q, free)
            free = self.posture_gains.frequency * off.e
        wanted = goal.velocity[task.chosen] + self.gain * task.error(robot.pose(q, task.frame), goal) - J @ free
        damped = J @ J.T + self.singular_damping**2 * np.eye(len(J))
        v = free + J.T @ solve_semidefinite(damped, wanted)
        bounded = np.isfinite(self.speed_limit)
        scale: Any = 1.0
        for k in np.flatnonzero(bounded):
            scale = maximum(scale, maximum(v[k], -v[k]) / self.speed_limit[k])
        return v / scale

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        a = self.servo * (self.velocity(t, q) - v)
        return self.robot.mass_matrix(q) @ a + self.robot.bias(q, v)


@renamed(damping="damping_ratio")
def operational_space(
    robot: Robot,
    frame: str | None,
    goal: Any,
    frequency: float = 20.0,
    damping_ratio: float = 1.0,
    *,
    rows: str | None = None,
    posture: Any = None,
    singular_damping: float = 0.05,
    resonance: Any = None,
) -> OperationalSpace:
    """Operational-space control (Khatib 1987): the frame's error obeys ë + kd ė + kp e = 0.

    frame: None is the tool. goal: pose (4, 4), point (3,), or a function t → (pose or point, velocity, acceleration),
    [ω; v] (6,) along world axes. frequency ω [rad/s], damping_ratio ζ. rows: "pose", "position", "orientation"; default
    what the goal is. posture: a configuration or motion that the null space follows, at 2 rad/s. singular_damping λ
    [1/√kg, 1/√(kg·m²)]: keeps torques bounded where the task is singular. resonance: see `gravity_pd`.
    """
    law = OperationalSpace("operational_space", robot, frame, goal, rows, posture, singular_damping)
    chosen = gains("operational_space", robot, frequency, damping_ratio, resonance)
    law.kp, law.kd, law.notes = float(chosen.kp[0]), float(chosen.kd[0]), chosen.notes
    return law


@renamed(damping="damping_ratio")
def impedance(
    robot: Robot,
    frame: str | None,
    goal: Any,
    stiffness: Any = None,
    damping_ratio: float = 1.0,
    *,
    rows: str | None = None,
    posture: Any = None,
    singular_damping: float = 0.05,
) -> Impedance:
    """Cartesian impedance: the frame is held by springs, K e + D ė, and everything else is compensated.

    stiffness: (N·m/rad, N/m) for rotations and displacements, or one for each row; default (100, 1000). At most 300
    N·m/rad and 5000 N/m. damping_ratio: ζ, from which D = 2 ζ √(K Λ) with the inertia Λ of the frame. Others: see
    `operational_space`.
    """
    law = Impedance("impedance", robot, frame, goal, rows, posture, singular_damping)
    law.stiffness = _stiffness(law.task, (100.0, 1000.0) if stiffness is None else stiffness)
    if not 0.0 < damping_ratio < np.inf:
        raise DalembertError(f"impedance: damping_ratio is {damping_ratio!r}, expected a ratio above 0")
    law.damping = float(damping_ratio)
    return law


def _stiffness(task: FrameGoal, stiffness: Any) -> np.ndarray:
    K = real_array("impedance: stiffness", stiffness, "expected (N·m/rad, N/m), or one for each row").astype(float)
    rows = len(task.chosen)
    if K.shape == (2,) and rows != 2:
        K = np.array([K[0 if unit == "rad" else 1] for unit in task.units])
    if K.shape != (rows,):
        raise DalembertError(f"impedance: stiffness has shape {K.shape}, expected (2,) or ({rows},)")
    for k, unit in enumerate(task.units):
        if not 0.0 <= K[k] <= STIFFEST[unit]:
            name = "N·m/rad" if unit == "rad" else "N/m"
            raise DalembertError(
                f"impedance: stiffness of row {k} is {K[k]:g} {name}, expected 0 to {STIFFEST[unit]:g}: stiffer "
                "than arms with torque control can show: use operational_space"
            )
    return K


def resolved_rate(
    robot: Robot,
    frame: str | None,
    goal: Any,
    gain: float = 5.0,
    *,
    rows: str | None = None,
    posture: Any = None,
    singular_damping: float = 0.05,
    servo: float = 50.0,
) -> ResolvedRate:
    """Resolved-rate control: joint velocities by the damped pseudo-inverse, for slow motions that need no dynamics.

    gain [1/s]: of the frame's error; servo [1/s]: of the velocity loop that turns velocities into torques;
    `law.velocity(t, q)` gives the velocities themselves. singular_damping [m or rad per rad]. Others: see
    `operational_space`.
    """
    law = ResolvedRate("resolved_rate", robot, frame, goal, rows, posture, singular_damping)
    for name, value in (("gain", gain), ("servo", servo)):
        check_positive(f"resolved_rate: {name}", value, "1/s")
    law.gain, law.servo, law.speed_limit = float(gain), float(servo), robot.limits.velocity
    return law
