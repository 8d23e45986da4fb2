"""Sensors as functions of the state: heights around the robot, inertial units, joints, frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.contact.planes import ground_of
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.kinematics import chain
from dalembert.dynamics.collision import HalfSpace, HeightField
from dalembert.dynamics.collision.pairs import solids
from dalembert.dynamics.collision.rays import NEVER, first_hit
from dalembert.errors import DalembertError
from dalembert.math import minimum, sqrt, where
from dalembert.model import Frame
from dalembert.robot import Robot

from .state import State, base_of

DOWN = np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True, eq=False)
class HeightScan:
    """Depth of the ground below the base around it: see `height_scan`."""

    points: np.ndarray
    body: str | None
    longest: float
    unit: str = "m"

    def bind(self, robot: Robot, contact: Contact | None) -> Callable[[State], np.ndarray]:
        """The sensor of a robot on the ground of a contact."""
        model = robot.model
        index = base_of(model) if self.body is None else model.body(self.body).index
        if contact is None:
            raise DalembertError("height_scan: there is no ground: pass contact=Contact(…)")
        ground = ground_of(model, contact)
        if isinstance(ground, HalfSpace) and not float(ground.normal[2]) > 0.0:
            raise DalembertError("height_scan: the ground is a wall, which has no height")
        standing = tuple(s for s in solids(model) if not any(b.joint.nv for b in chain(model, s.body)))
        return lambda s: self._depths(s, index, ground, standing)

    def _depths(self, s: State, index: int, ground: Any, standing: tuple[Any, ...]) -> np.ndarray:
        """Vertical distances (n,) from the height of the base to what is below or above it."""
        X = s.poses[index]
        x, y = X.R[0, 0], X.R[1, 0]
        length = sqrt(x * x + y * y + 1e-12)
        cos, sin = x / length, y / length
        poses: Any = {solid.body: s.poses[solid.body] for solid in standing}
        depths = []
        for a, b in self.points:
            place = np.array([X.p[0] + cos * a - sin * b, X.p[1] + sin * a + cos * b, X.p[2]])
            depth = place[2] - _height(ground, place[0], place[1])
            if standing:
                depth = minimum(depth, first_hit(standing, poses, place, DOWN).length)
            depths.append(where(depth < self.longest, depth, self.longest))
        return np.array(depths, object)


def height_scan(points: Any, *, body: str | None = None, longest: float = 2.0) -> HeightScan:
    """A sensor of the ground around the base: for each of the points (n, 2) [m] the depth below the base [m].

    points: x forward and y left of the body, in axes that turn with its yaw alone. Rays begin at the height of the
    body, not above it, so that a roof or a table over the robot is not taken for ground; ground that is higher than the
    body gives a negative depth. Beside the ground they meet collision shapes that are fixed to the world. longest:
    what is deeper reads as this [m]. body: default the base.
    """
    rows = np.asarray(points)
    if rows.ndim != 2 or rows.shape[1:] != (2,) or rows.dtype.kind not in "fiu" or not np.isfinite(rows).all():
        raise DalembertError(f"height_scan: points have shape {rows.shape}, expected (n, 2), x and y of each [m]")
    if not len(rows):
        raise DalembertError("height_scan: points are empty, expected (n, 2), x and y of each [m]")
    if not 0.0 < longest < NEVER:
        raise DalembertError(f"height_scan: longest is {longest!r}, expected a length above 0 [m]")
    return HeightScan(rows.astype(float), body, float(longest))


def scan_grid(length: float, width: float, spacing: float) -> np.ndarray:
    """Points (n, 2) of a grid centred on the robot, for `height_scan`: row by row from back to front [m]."""
    if not (0.0 < spacing <= length and spacing <= width):
        raise DalembertError(f"scan_grid: spacing is {spacing!r}, expected above 0 and at most length and width [m]")
    xs, ys = (np.arange(round(x / spacing) + 1) * spacing - 0.5 * x for x in (length, width))
    return np.array([(x, y) for x in xs for y in ys])


def _height(ground: Any, x: Any, y: Any) -> Any:
    """Height of the ground at (x, y) [m]."""
    if ground is None:
        return -NEVER
    if isinstance(ground, HalfSpace):
        n = ground.normal
        return (ground.offset - n[0] * x - n[1] * y) / n[2]
    return ground(x, y) if isinstance(ground, HeightField) else ground.height(x, y)


@dataclass(frozen=True)
class FrameSensor:
    """A quantity of a frame; kind: "imu", "velocity", "position" or "orientation"."""

    kind: str
    frame: str | None
    unit: str

    def bind(self, robot: Robot, contact: Contact | None) -> Callable[[State], np.ndarray]:
        """The sensor of a robot."""
        model = robot.model
        name = model.bodies[base_of(model)].name if self.frame is None else self.frame
        frame = model.frame(name)
        return lambda s: self._measured(s, frame)

    def _measured(self, s: State, frame: Frame) -> np.ndarray:
        X = s.poses[frame.body] @ frame.placement
        if self.kind == "position":
            return X.p
        if self.kind == "orientation":
            return np.concatenate([X.R[:, 0], X.R[:, 2]])
        twist = algorithms.velocity(s.model, s.q, s.v, frame, axes="body")
        if self.kind == "velocity":
            return twist
        rate = algorithms.acceleration(s.model, s.q, s.v, s.acceleration, frame, axes="body")
        return np.concatenate([twist[:3], rate[3:] - X.R.T @ np.asarray(s.model.gravity)])


def imu(frame: str | None = None) -> FrameSensor:
    """An inertial unit: [angular velocity, specific force] (6,) in the axes of a frame [rad/s, m/s²].

    The specific force is the acceleration minus gravity: at rest g upwards. Accelerations are the mean over the last
    step of the physics. frame: default the base.
    """
    return FrameSensor("imu", frame, "rad/s ×3, m/s² ×3")


def frame_velocity(frame: str | None = None) -> FrameSensor:
    """The velocity (6,) of a frame in its own axes: [angular, linear] [rad/s, m/s]; default the base."""
    return FrameSensor("velocity", frame, "rad/s ×3, m/s ×3")


def frame_position(frame: str | None = None) -> FrameSensor:
    """The position (3,) of a frame's origin in the world [m]; default the base."""
    return FrameSensor("position", frame, "m")


def frame_orientation(frame: str | None = None) -> FrameSensor:
    """The first and third axis (6,) of a frame in the world; default the base."""
    return FrameSensor("orientation", frame, "")


@dataclass(frozen=True)
class JointSensor:
    """Positions from the start and rates of the joints that the action drives: see `joint_encoders`."""

    unit: str = "rad, rad/s"

    def bind(self, robot: Robot, contact: Contact | None) -> Callable[[State], np.ndarray]:
        """The sensor of a robot."""
        return lambda s: np.concatenate([s.joints, s.joint_rates])


def joint_encoders() -> JointSensor:
    """Positions from where they start, then rates, of the n joints that the action drives (2 n,) [rad, rad/s]."""
    return JointSensor()


def bound(where: str, sensors: Any, robot: Robot, contact: Contact | None) -> dict[str, Callable[[State], Any]]:
    """The sensors of a robot by name; a function of the state is one, too."""
    functions: dict[str, Callable[[State], Any]] = {}
    for name, sensor in dict(sensors or {}).items():
        if hasattr(sensor, "bind"):
            functions[str(name)] = sensor.bind(robot, contact)
        elif callable(sensor):
            functions[str(name)] = sensor
        else:
            raise DalembertError(
                f"{where}: sensors: {name} is {sensor!r}, expected a sensor such as learn.height_scan(points), or a "
                "function of the state s"
            )
    return functions
