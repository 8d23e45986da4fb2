"""Motions of a frame in space, and the motions of a robot whose frame follows them.

A pose that moves is the motion of a body of its own: of one that slides and turns (straight lines, shortest rotations),
or of a free one (screws). So splines, laws in time and traced times are those of any motion.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.errors import DalembertError
from dalembert.loading import ModelBuilder
from dalembert.robot import Robot
from dalembert.spatial import se3, so3
from dalembert.spatial.vectors import cross

from .motion import Motion, PolynomialMotion
from .moves import quintic
from .splines import smooth_through, spline

FEWEST, MOST = 8, 1024  # pieces of a followed path
JUMP = 0.5  # change of a coordinate [rad or m] between neighbours of the finest division that counts as a jump


@cache
def _carrier(screw: bool) -> Robot:
    """A body without mass that carries a pose: q = [position, quaternion]."""
    builder = ModelBuilder("screwing frame" if screw else "sliding frame")
    if screw:
        builder.add_body("frame", parent="world", joint="free", mass=0.0)
        return builder.build()
    parent = "world"
    for axis in "xyz":
        builder.add_body(axis, parent=parent, joint="prismatic", axis=np.eye(3)["xyz".index(axis)], mass=0.0)
        parent = axis
    builder.add_body("frame", parent=parent, joint="ball", mass=0.0)
    return builder.build()


class FrameMotion:
    """A pose in time: pose(t) (…, 4, 4) in the world; velocity(t), acceleration(t) (…, 6), [ω; v] in world axes.

    As `robot.pose`, `robot.velocity` and `robot.acceleration` of a frame give them. t may be a traced number.
    """

    def __init__(self, carrier: PolynomialMotion, screw: bool, title: str) -> None:
        self.carrier, self._screw, self.title = carrier, screw, title
        self.duration = carrier.duration

    def __repr__(self) -> str:
        return f"<FrameMotion {self.title!r}: {self.duration:.6g} s>"

    def pose(self, t: Any) -> np.ndarray:
        """The pose (…, 4, 4) at t (…) [s]."""
        q = np.asarray(self.carrier.q(t))
        X = np.zeros((*q.shape[:-1], 4, 4), q.dtype)
        X[..., :3, :3], X[..., :3, 3], X[..., 3, 3] = so3.from_quaternion(q[..., 3:]), q[..., :3], 1.0
        return X

    def velocity(self, t: Any) -> np.ndarray:
        """The twist (…, 6), [ω; v] in world axes [rad/s, m/s], at t (…) [s]."""
        return self._twists(t)[0]

    def acceleration(self, t: Any) -> np.ndarray:
        """Its rate (…, 6), [ω̇; v̇] in world axes [rad/s², m/s²], at t (…) [s]."""
        return self._twists(t)[1]

    def _twists(self, t: Any) -> tuple[np.ndarray, np.ndarray]:
        q, v, a = (np.asarray(x) for x in self.carrier.at(t))
        R = so3.from_quaternion(q[..., 3:])
        if not self._screw:
            turning, bending = _rotated(R, v[..., 3:]), _rotated(R, a[..., 3:])
            return np.concatenate([turning, v[..., :3]], -1), np.concatenate([bending, a[..., :3]], -1)
        w, u = v[..., :3], v[..., 3:]
        rising = a[..., 3:] + cross(w, u)
        first = np.concatenate([_rotated(R, w), _rotated(R, u)], -1)
        return first, np.concatenate([_rotated(R, a[..., :3]), _rotated(R, rising)], -1)


def slerp(X0: Any, X1: Any, duration: float = 1.0) -> FrameMotion:
    """From pose X0 to X1 (4, 4), rest to rest: the origin on a straight line, turning by the shortest rotation."""
    start, end = (_coordinates("slerp", name, X) for name, X in (("X0", X0), ("X1", X1)))
    return FrameMotion(quintic(start, end, duration, robot=_carrier(False)), False, "slerp")


def screw(X0: Any, X1: Any, duration: float = 1.0) -> FrameMotion:
    """From pose X0 to X1 (4, 4), rest to rest, by turning about and sliding along one axis."""
    start, end = (_coordinates("screw", name, X) for name, X in (("X0", X0), ("X1", X1)))
    return FrameMotion(quintic(start, end, duration, robot=_carrier(True)), True, "screw")


def poses(X: Any, times: Any = None, *, duration: float | None = None) -> FrameMotion:
    """Through poses (k, 4, 4) at times (k,) [s], rest to rest, smooth: of least jerk, as `spline`."""
    points = np.array([_coordinates("poses", f"X[{k}]", each) for k, each in enumerate(X)])
    return FrameMotion(spline(points, times, duration=duration, robot=_carrier(False)), False, "poses")


def follow(
    robot: Robot,
    path: FrameMotion | Any,
    frame: str,
    start: Any = None,
    *,
    rows: Any = None,
    joints: Any = None,
    tolerance: float = 1e-6,
) -> PolynomialMotion:
    """The motion of the robot whose `frame` follows a path in space, by inverse kinematics.

    path: of `slerp`, `screw` or `poses`. start (nq,): a configuration near the first one; default any that reaches it.
    rows, joints: as of `inverse_kinematics`, for less than a whole pose, or to move only some joints. tolerance [m] and
    [rad]: the path is divided until the frame keeps to it, also between the configurations that were solved for.
    A pose that cannot be reached, and a place where the robot would have to jump, are errors that name the time.
    """
    if not isinstance(path, FrameMotion):
        raise DalembertError("follow: path is not the motion of a frame: make one with motion.slerp, screw or poses")
    options = {"rows": rows, "joints": joints, "limits": True, "check": False, "tolerance": 0.01 * tolerance}
    first = robot.inverse_kinematics(path.pose(0.0), frame, start=start, **options)
    if not first.success:
        raise _unreached(robot, frame, 0.0, first)
    t, q = np.zeros(1), first.q[None]
    count = FEWEST
    while True:
        t, q = _solved(robot, path, frame, np.linspace(0.0, path.duration, count + 1), t, q, options)
        motion = smooth_through("follow", q, t, _end_rates(robot, path, frame, t, q, rows), robot)
        error = _deviation(robot, motion, path, frame, rows)
        if error <= tolerance:
            return motion
        if 2 * count > MOST:
            raise DalembertError(
                f"follow: frame {frame!r} still leaves the path by {error:.2g} m or rad between {count} solved poses: "
                "a path with corners is followed in parts, from stop to stop, or pass a larger tolerance"
            )
        count *= 2


def _solved(
    robot: Robot, path: FrameMotion, frame: str, times: np.ndarray, known_times: np.ndarray, known: np.ndarray,
    options: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Configurations (k, nq) at times (k,), each solved from the one before; those that are known are kept."""
    stored = {round(float(t), 12): q for t, q in zip(known_times, known, strict=True)}
    solved = [known[0]]
    for before, t in pairwise(times):
        q = stored.get(round(float(t), 12))
        if q is None:
            result = robot.inverse_kinematics(path.pose(t), frame, start=solved[-1], starts=1, **options)
            if not result.success:
                raise _unreached(robot, frame, float(t), result)
            q = result.q
        jump = np.abs(robot.difference(solved[-1], q))
        if len(times) > 64 and jump.max() > JUMP:
            k = int(np.argmax(jump))
            raise DalembertError(
                f"follow: between {before:.6g} and {t:.6g} s {robot.model.freedom_names[k]} would have to jump by "
                f"{jump[k]:.3g}: the path passes a singular place or the end of a range; try another start"
            )
        solved.append(q)
    return times, np.array(solved)


def _end_rates(robot: Robot, path: FrameMotion, frame: str, t: np.ndarray, q: np.ndarray, rows: Any) -> np.ndarray:
    """Velocities and accelerations (2, 2, nv) at both ends of the path: the smallest that move the frame along it."""
    chosen = _rows(rows)
    rates = []
    for time, place in ((t[0], q[0]), (t[-1], q[-1])):
        J = robot.jacobian(place, frame)[chosen]
        v = np.linalg.pinv(J) @ path.velocity(time)[chosen]
        drift = robot.acceleration(place, v, np.zeros(robot.nv), frame)[chosen]
        rates.append([v, np.linalg.pinv(J) @ (path.acceleration(time)[chosen] - drift)])
    return np.array(rates)


def _deviation(robot: Robot, motion: Motion, path: FrameMotion, frame: str, rows: Any) -> float:
    """How far [m or rad] the frame is from the path, at most, half way between solved configurations and elsewhere."""
    assert isinstance(motion, PolynomialMotion)
    knots = motion.curves.times
    t = np.concatenate([knots[:-1] + share * np.diff(knots) for share in (0.25, 0.5, 0.75)])
    X, wanted = robot.pose(motion.q(t), frame), path.pose(t)
    turned = so3.log(np.swapaxes(wanted[:, :3, :3], 1, 2) @ X[:, :3, :3])
    error = np.concatenate([turned, X[:, :3, 3] - wanted[:, :3, 3]], axis=1)
    if rows is not None and set(_rows(rows)) <= {3, 4, 5}:
        error[:, :3] = 0.0
    return float(np.abs(error[:, _rows(rows)]).max())


def _rows(rows: Any) -> list[int]:
    if rows is None:
        return list(range(6))
    if isinstance(rows, str):
        return {"position": [3, 4, 5], "orientation": [0, 1, 2]}.get(rows, list(range(6)))
    return [int(row) for row in rows]


def _unreached(robot: Robot, frame: str, t: float, result: Any) -> DalembertError:
    return DalembertError(
        f"follow: at {t:.6g} s the pose cannot be reached within the limits of robot {robot.name!r}: frame {frame!r} "
        f"comes no nearer than {result.position_error:.3g} m and {result.orientation_error:.3g} rad"
    )


def _coordinates(where: str, name: str, X: Any) -> np.ndarray:
    """[position, quaternion] (7,) of a pose (4, 4), checked."""
    X = real_array(f"{where}: {name}", X, "expected a pose (4, 4)").astype(float)
    if X.shape != (4, 4) or not np.all(np.isfinite(X)):
        raise DalembertError(f"{where}: {name} has shape {X.shape}, expected a pose (4, 4) of finite numbers")
    if not se3.is_pose(X):
        raise DalembertError(
            f"{where}: {name} is not a pose: expected a rotation matrix, a position, and the last row 0 0 0 1"
        )
    return np.concatenate([X[:3, 3], so3.to_quaternion(X[:3, :3])])


def _rotated(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (R @ x[..., None])[..., 0]
