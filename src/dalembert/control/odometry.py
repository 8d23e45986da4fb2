"""The base of a walking robot as its own sensors tell it: an IMU and its legs, in a compiled loop.

Between samples the gyroscope and the accelerometer are integrated. Feet that stand, by the clock of the gait, do not
move and are on the ground: that corrects velocity and height, with fixed gains. The direction of the mean acceleration
corrects roll and pitch. Position along the ground and yaw are nowhere to be seen, and drift. `base_state` is the filter
with covariances for logs and robots; this one is small enough to be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import maximum
from dalembert.robot import Robot
from dalembert.spatial import so3


class Sensors(NamedTuple):
    """Sensors by which a robot knows its base: an IMU at its origin, along its axes, and its joints.

    gyroscope (3,) [rad/s], accelerometer (3,) [m/s²]: constant errors of both. velocity, height: share of the
    difference to what standing feet tell that a sample corrects; tilt [1/s]: rate at which the accelerometer corrects
    roll and pitch.
    """

    gyroscope: Any = (0.0, 0.0, 0.0)
    accelerometer: Any = (0.0, 0.0, 0.0)
    velocity: float = 0.05
    height: float = 0.05
    tilt: float = 0.2


class Odometry:
    """The state that a robot believes itself in, at a rate.

    soles (k,): heights of the feet's frames above the ground; standing: t → which feet stand (k,), 1 or 0; level:
    (x, y) → height of the ground.
    """

    def __init__(
        self, robot: Robot, feet: Sequence[str], soles: np.ndarray, standing: Callable[[Any], np.ndarray],
        level: Callable[[Any, Any], Any], period: float, sensors: Sensors,
    ) -> None:  # fmt: skip
        self.robot, self.feet, self.soles, self.standing, self.level = robot, tuple(feet), soles, standing, level
        self.period, self.sensors = period, sensors
        self.gravity = np.asarray(robot.model.gravity, float)

    def determinants(self) -> dict[str, Any]:
        """Everything that its results depend on (see `execute.identity`)."""
        return vars(self)

    def start(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """The first estimate, which is true; `before`: the velocity since which the accelerometer counts."""
        velocity = so3.from_quaternion(q[3:7]) @ v[3:6]
        return {"place": q[:3], "attitude": q[3:7], "velocity": velocity, "before": velocity}

    def sense(self, t: Any, q: Any, v: Any, state: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """[q, v] (nq + nv,) that is believed: the base estimated, the joints as they are."""
        h, sensors, g = self.period, self.sensors, float(np.linalg.norm(self.gravity))
        R, moving = so3.from_quaternion(q[3:7]), so3.from_quaternion(q[3:7]) @ v[3:6]
        omega = v[:3] + np.asarray(sensors.gyroscope, float)  # what the IMU shows
        force = R.T @ ((moving - state["before"]) / h - self.gravity) + np.asarray(sensors.accelerometer, float)

        turn = so3.from_quaternion(state["attitude"])
        up = turn @ force / g
        correction = h * sensors.tilt * np.array([up[1], -up[0], 0.0 * up[0]])  # up × z, to where it should point
        turn = so3.exp(correction) @ turn @ so3.exp(h * omega)
        velocity = state["velocity"] + h * (turn @ force + self.gravity)
        place = state["place"] + h * velocity

        believed = self._state(place, turn, velocity, omega, q, v)
        stands, nq = self.standing(t), self.robot.nq
        share = stands / maximum(stands.sum(), 1.0)
        feet = [self.robot.pose(believed[:nq], foot)[:3, 3] for foot in self.feet]
        twists = [self.robot.velocity(believed[:nq], believed[nq:], foot) for foot in self.feet]
        # at the ground, beneath the frame: a round foot rolls
        rates = [V[3:] - sole * np.array([V[1], -V[0], 0.0]) for V, sole in zip(twists, self.soles, strict=True)]
        slip = sum(s * rate for s, rate in zip(share, rates, strict=True))
        sunk = sum(
            s * (foot[2] - self.level(foot[0], foot[1]) - sole)
            for s, foot, sole in zip(share, feet, self.soles, strict=True)
        )
        velocity = velocity - sensors.velocity * slip
        place = place - sensors.height * sunk * np.array([0.0, 0.0, 1.0])
        attitude = so3.to_quaternion(turn)
        after = {"place": place, "attitude": attitude, "velocity": velocity, "before": moving}
        return self._state(place, turn, velocity, omega, q, v), after

    def _state(self, place: Any, turn: Any, velocity: Any, omega: Any, q: Any, v: Any) -> np.ndarray:
        base = np.concatenate([place, so3.to_quaternion(turn)])
        return np.concatenate([base, q[7:], omega, turn.T @ velocity, v[6:]])
