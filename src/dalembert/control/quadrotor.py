"""Quadrotors: a geometric controller, the lag of the motors.   Lee, Leok & McClamroch 2010.

The wanted force F = m (p̈_d + kd ė + kp e + g) gives the thrust along the body's z axis and, with the yaw, the wanted
attitude; the torque turns the body there, I (α_d + kω e_ω + kR e_R) + ω × I ω, with e_R = ½ (Rᵀ R_d − R_dᵀ R)^∨ on the
rotations themselves: no angles, no place where it fails but the attitude upside down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import DalembertError, is_number, renamed
from dalembert.math import clip, sqrt, where
from dalembert.model import Model
from dalembert.motion import FlightMotion, PolynomialMotion, Polynomials, Rotors
from dalembert.motion import rotors as rotors_of
from dalembert.robot import Robot
from dalembert.sim.elements import Action, Element, Situation
from dalembert.spatial import so3
from dalembert.spatial.vectors import cross

from .laws.law import Law

LEAST = 1e-9  # of the wanted force [N]: below it the attitude is kept


class Quadrotor(Law):
    """tau (6,) [N·m, N], in body axes, that lets a flying body follow a flight; made by `quadrotor`."""

    def __init__(
        self, robot: Robot, flight: FlightMotion, position: tuple[float, float], attitude: tuple[float, float]
    ):
        self.robot, self.flight, self.position, self.attitude = robot, flight, position, attitude
        self.notes = ()

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The wrench of the rotors on the base, each within its limits, about the base's origin."""
        drives = self.flight.rotors
        thrusts = clip(drives.inverse @ self.wanted(t, q, v), drives.least, drives.most)
        return wrench(self.robot, drives, thrusts)

    def wanted(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Thrust and torque (4,) about the centre of mass that the law asks for."""
        aim = self.flight.flight(t)
        body = self.robot.bodies[0]
        R = so3.from_quaternion(q[3:])
        omega = v[:3]
        kp, kd = self.position
        place = q[:3] + R @ body.com
        speed = R @ (v[3:] + cross(omega, body.com))
        path = self.flight.path
        e = np.asarray(path.q(t))[:3] - place
        de = np.asarray(path.v(t))[:3] - speed
        gravity = -np.asarray(self.robot.model.gravity, float)
        force = body.mass * (np.asarray(path.a(t))[:3] + kp * e + kd * de + gravity)
        R_d = self._attitude(force, aim.rotation)
        turn = R.T @ R_d
        e_R = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        # ω_d and its rate as the body's own axes see them
        seen = turn @ aim.omega
        bent = turn @ aim.alpha - cross(omega, seen)
        kR, kw = self.attitude
        alpha = bent + kR * e_R + kw * (seen - omega)
        torque = body.inertia @ alpha + cross(omega, body.inertia @ omega)
        return np.concatenate([np.atleast_1d(force @ R[:, 2]), torque])

    @staticmethod
    def _attitude(force: np.ndarray, aim: np.ndarray) -> np.ndarray:
        """The attitude with z along the wanted force and the heading of the flight."""
        size = sqrt(force @ force)
        known = size > LEAST
        z = np.array([where(known, f / where(known, size, 1.0), a) for f, a in zip(force, aim[:, 2], strict=True)])
        y = cross(z, aim[:, 0])
        y = y / sqrt(y @ y)
        return np.stack([cross(y, z), y, z], axis=-1)


@renamed(flight="goal", damping="damping_ratio", attitude_damping="attitude_damping_ratio")
def quadrotor(
    robot: Robot,
    goal: Any,
    *,
    frequency: float = 6.0,
    damping_ratio: float = 0.8,
    attitude_frequency: float = 60.0,
    attitude_damping_ratio: float = 0.8,
    rotors: Rotors | None = None,
) -> Quadrotor:
    """A law for a flying body. goal: a flight (`motion.fly`), or a place (3,) [m], (4,) with its yaw, to hover at.

    frequency, damping_ratio: of the position's error, ω [rad/s] and ζ; attitude_…: of the attitude's, at least some
    five times as fast. Thrusts of the rotors stay within their limits.
    """
    flight = goal if isinstance(goal, FlightMotion) else _hover(robot, goal, rotors)
    for name, value in (
        ("frequency", frequency),
        ("damping_ratio", damping_ratio),
        ("attitude_frequency", attitude_frequency),
        ("attitude_damping_ratio", attitude_damping_ratio),
    ):
        if not (is_number(value) and 0.0 < value < np.inf):
            raise DalembertError(f"quadrotor: {name} is {value!r}, expected a number above 0")
    position, attitude = (frequency, damping_ratio), (attitude_frequency, attitude_damping_ratio)
    gains = [(w * w, 2.0 * z * w) for w, z in (position, attitude)]
    return Quadrotor(robot, flight, gains[0], gains[1])


def _hover(robot: Robot, place: Any, drives: Rotors | None) -> FlightMotion:
    target = np.asarray(place, float)
    if target.shape not in ((3,), (4,)) or not np.isfinite(target).all():
        raise DalembertError(
            f"quadrotor: expected a flight, or a place (3,) or (4,) with its yaw to hover at, got {place!r}"
        )
    outputs = np.zeros((1, 1, 4))
    outputs[0, 0, : len(target)] = target
    still = PolynomialMotion(Polynomials(np.array([0.0, 1.0]), outputs), title="hover")
    return FlightMotion(robot, still, rotors_of(robot) if drives is None else drives)


def wrench(robot: Robot, drives: Rotors, thrusts: np.ndarray) -> np.ndarray:
    """The generalised force (6,) of thrusts (k,) on the free base: about its origin, in its axes."""
    total = drives.map @ thrusts
    force = np.array([0.0 * total[0], 0.0 * total[0], total[0]])
    return np.concatenate([total[1:] + cross(robot.bodies[0].com, force), force])


@dataclass(frozen=True)
class RotorLag(Element):
    """Rotors that follow their commands with a lag: each thrust f has ḟ = (command − f) / time.

    joint: of the free body; map (4, k) and inverse (k, 4) of the rotors, by rows; com (3,): of the body. time [s]. Made
    by `rotor_lag`.
    """

    gives: ClassVar[bool] = True

    joint: str
    map: tuple[float, ...]
    inverse: tuple[float, ...]
    com: tuple[float, ...]
    time: float

    @property
    def _maps(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.map).reshape(4, -1), np.array(self.inverse).reshape(-1, 4)

    def size(self, model: Model) -> int:
        """The thrusts."""
        return len(self.map) // 4

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Thrusts that carry the body."""
        inverse = self._maps[1]
        weight = sum(body.inertia.mass for body in model.bodies) * float(np.linalg.norm(model.gravity))
        return inverse @ np.array([weight, 0.0, 0.0, 0.0])

    def act(self, s: Situation) -> Action:
        """The thrusts instead of the command."""
        A, inverse = self._maps
        body = s.model.joint(self.joint)
        command, v = s.tau[body.v], s.v[body.v]
        com = np.array(self.com)
        thrusts = inverse @ np.concatenate([command[5:], command[:3] - cross(com, command[3:])])
        total = A @ s.z
        force = np.array([0.0 * total[0], 0.0 * total[0], total[0]])
        missing = np.concatenate([total[1:] + cross(com, force), force]) - command
        return Action({body.index: missing}, rate=(thrusts - s.z) / self.time, given=missing @ v)


def rotor_lag(robot: Robot, time: float, drives: Rotors | None = None) -> RotorLag:
    """The lag of a quadrotor's rotors, time constant [s], as an element of `simulate`; it begins at hover."""
    if not (is_number(time) and 0.0 < time < np.inf):
        raise DalembertError(f"rotor_lag: time is {time!r}, expected a time constant above 0 [s]")
    drives = rotors_of(robot) if drives is None else drives
    joint = robot.model.bodies[0].joint.name
    return RotorLag(
        joint, tuple(drives.map.ravel()), tuple(drives.inverse.ravel()), tuple(robot.bodies[0].com), float(time)
    )
