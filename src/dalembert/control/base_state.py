"""The state of a legged robot's base from its IMU and its legs: an extended Kalman filter.   Bloesch et al. 2012.

State: position p, velocity u and attitude R of the IMU in the world, where each foot stands, and the biases of the
gyroscope and the accelerometer. The IMU predicts; a foot that stands measures Rᵀ (foot − p), which the joint angles
tell. Position and yaw are not observable, and drift slowly; height above the feet, velocity, roll and pitch are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.robot import Robot
from dalembert.spatial import so3

from .kalman import sample

LIFTED = 1e3  # m: standard deviation of where a foot is that stands nowhere


class Noise(NamedTuple):
    """Standard deviations of what is measured.

    Densities of gyroscope [rad/s/√Hz] and accelerometer [m/s²/√Hz], of their biases' drift [rad/s²/√Hz, m/s³/√Hz], of a
    standing foot's slip [m/s/√Hz]; kinematics [m]: of where the joint angles say that a foot is.
    """

    gyroscope: float = 1e-3
    accelerometer: float = 1e-2
    gyroscope_bias: float = 1e-4
    accelerometer_bias: float = 1e-3
    slip: float = 1e-3
    kinematics: float = 3e-3


class BaseEstimate(NamedTuple):
    """The base of a robot.

    position (3,) [m], rotation (3, 3) and velocity (3,) [m/s] in the world; omega (3,) in body axes [rad/s]; q (7,) and
    v (6,) as of a free joint; covariance (9, 9) of [position, velocity, rotation vector].
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    omega: np.ndarray
    q: np.ndarray
    v: np.ndarray
    covariance: np.ndarray


class BaseState:
    """Estimates the free base of a robot at a rate; made by `base_state`. The IMU is at the base's origin, in its axes.

    Errors are x = [δp, δu, δθ, δfeet, δb_g, δb_a] with R = exp(δθ) R̂ in the world.
    """

    def __init__(self, robot: Robot, feet: Sequence[str], period: float, noise: Noise) -> None:
        self.robot, self.feet, self.period, self.noise = robot, tuple(feet), period, noise
        self._gravity = np.asarray(robot.model.gravity, float)
        self._joints = slice(7, robot.nq)
        self._ready = False

    def __repr__(self) -> str:
        return f"<BaseState of {self.robot.name!r}: feet {', '.join(self.feet)}>"

    def reset(self, q: Any, v: Any = None, tilt: float = 0.02, velocity: float = 0.1) -> None:
        """Begin at q (nq,), v (nv,), with standard deviations of the tilt [rad] and velocity [m/s]."""
        q = np.asarray(q, float)
        v = np.zeros(self.robot.nv) if v is None else np.asarray(v, float)
        self.R, self.p = so3.from_quaternion(q[3:7]), q[:3].copy()
        self.u = self.R @ v[3:6]
        self.places = self._feet(q[self._joints]) @ self.R.T + self.p
        self.gyro_bias, self.acc_bias = np.zeros(3), np.zeros(3)
        n = 15 + 3 * len(self.feet)
        self.P = np.zeros((n, n))
        deviations = np.concatenate([
            np.full(3, 1e-4), np.full(3, velocity), [tilt, tilt, 1e-4], np.full(3 * len(self.feet), LIFTED),
            np.full(3, 0.01), np.full(3, 0.1),
        ])  # fmt: skip
        self.P[np.diag_indices(n)] = deviations**2
        self.standing = np.zeros(len(self.feet), bool)
        self._ready = True

    def update(self, omega: Any, acceleration: Any, joints: Any, contacts: Any) -> BaseEstimate:
        """The estimate after a sample.

        omega (3,) [rad/s] and acceleration (3,) [m/s²] of the IMU, gravity included (at rest it shows +g along z);
        joints (nq − 7,): angles of the legs; contacts: whether each foot stands, (k,) of booleans.
        """
        if not self._ready:
            raise DalembertError("base_state: call reset(q) first, with the robot's initial configuration")
        stands = np.asarray(contacts, bool)
        if stands.shape != (len(self.feet),):
            raise DalembertError(f"base_state: contacts has shape {stands.shape}, expected ({len(self.feet)},)")
        rate = sample("base_state: omega", omega, 3) - self.gyro_bias
        force = sample("base_state: acceleration", acceleration, 3) - self.acc_bias
        angles = sample("base_state: joints", joints, self.robot.nq - 7)
        self._predict(rate, force, stands)
        self._correct(self._feet(angles), stands)
        q = np.concatenate([self.p, so3.to_quaternion(self.R)])
        v = np.concatenate([rate, self.R.T @ self.u])
        return BaseEstimate(self.p.copy(), self.R.copy(), self.u.copy(), rate, q, v, self.P[:9, :9].copy())

    def _feet(self, joints: np.ndarray) -> np.ndarray:
        """Positions (k, 3) of the feet in the base."""
        q = np.concatenate([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], joints])
        return np.array([self.robot.pose(q, foot)[:3, 3] for foot in self.feet])

    def _predict(self, rate: np.ndarray, force: np.ndarray, stands: np.ndarray) -> None:
        h, k, noise = self.period, len(self.feet), self.noise
        push = self.R @ force
        a = push + self._gravity
        self.p = self.p + h * self.u + 0.5 * h * h * a
        self.u = self.u + h * a
        n = len(self.P)
        gyro, acc = slice(9 + 3 * k, 12 + 3 * k), slice(12 + 3 * k, n)
        F = np.eye(n)
        F[0:3, 3:6] = h * np.eye(3)
        F[0:3, 6:9], F[3:6, 6:9] = -0.5 * h * h * so3.skew(push), -h * so3.skew(push)
        F[0:3, acc], F[3:6, acc], F[6:9, gyro] = -0.5 * h * h * self.R, -h * self.R, -h * self.R
        self.R = self.R @ so3.exp(h * rate)
        variances = np.zeros(n)
        variances[3:6], variances[6:9] = noise.accelerometer**2, noise.gyroscope**2
        variances[gyro], variances[acc] = noise.gyroscope_bias**2, noise.accelerometer_bias**2
        slip = np.repeat(np.where(stands, noise.slip**2 * h, LIFTED**2), 3)
        self.P = F @ self.P @ F.T + np.diag(h * variances)
        self.P[np.arange(9, 9 + 3 * k), np.arange(9, 9 + 3 * k)] += slip

    def _correct(self, feet: np.ndarray, stands: np.ndarray) -> None:
        for i in np.flatnonzero(stands & ~self.standing):  # a foot that has just come down: where it is, is new
            place = slice(9 + 3 * i, 12 + 3 * i)
            self.places[i] = self.p + self.R @ feet[i]
            self.P[place, :] = self.P[:, place] = 0.0
            self.P[place, place] = LIFTED**2 * np.eye(3)
        self.standing = stands
        chosen = np.flatnonzero(stands)
        if not len(chosen):
            return
        H, y = np.zeros((3 * len(chosen), len(self.P))), np.zeros(3 * len(chosen))
        for row, i in enumerate(chosen):
            rows, away = slice(3 * row, 3 * row + 3), self.places[i] - self.p
            y[rows] = feet[i] - self.R.T @ away
            H[rows, 0:3], H[rows, 9 + 3 * i : 12 + 3 * i] = -self.R.T, self.R.T
            H[rows, 6:9] = self.R.T @ so3.skew(away)
        S = H @ self.P @ H.T + self.noise.kinematics**2 * np.eye(len(y))
        K = np.linalg.solve(S, H @ self.P).T
        x, k = K @ y, len(self.feet)
        self.p, self.u = self.p + x[:3], self.u + x[3:6]
        self.R = so3.exp(x[6:9]) @ self.R
        self.places = self.places + x[9 : 9 + 3 * k].reshape(k, 3)
        self.gyro_bias, self.acc_bias = self.gyro_bias + x[9 + 3 * k : 12 + 3 * k], self.acc_bias + x[12 + 3 * k :]
        keep = np.eye(len(self.P)) - K @ H
        self.P = keep @ self.P @ keep.T + self.noise.kinematics**2 * K @ K.T


def base_state(robot: Robot, feet: Sequence[str], *, period: float = 2e-3, noise: Noise | None = None) -> BaseState:
    """A filter for the base of a legged robot, from IMU, joint angles and which feet stand.

    feet: names of the frames at the feet; period [s] between samples; noise: standard deviations of the sensors.
    """
    if not robot.model.floating or robot.model.base.joint.kind != "free":
        raise DalembertError(f"base_state: robot {robot.name!r} has no free base: load it with base='free'")
    if not feet:
        raise DalembertError("base_state: name the frames of the feet")
    for foot in feet:
        robot.frame(foot)
    if not (is_number(period) and 0.0 < period < np.inf):
        raise DalembertError(f"base_state: period is {period!r}, expected a time above 0 [s]")
    noise = Noise() if noise is None else noise
    for name, deviation in zip(Noise._fields, noise, strict=True):
        if not (0.0 <= deviation < np.inf and (deviation or name != "kinematics")):
            expected = "above 0" if name == "kinematics" else "0 or more"
            raise DalembertError(f"base_state: noise: {name} is {deviation!r}, expected {expected}")
    return BaseState(robot, feet, float(period), noise)
