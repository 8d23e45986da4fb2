"""Denavit-Hartenberg frames of a chain: from the lines of the axes to a, α, d, θ, in the modified convention.

Frame i has z along axis i and x along the common normal of axes i and i + 1 (Craig 1989, §3.4). The remaining freedom
(the sense of x; the origin, where axes are parallel) is taken from the link's frame, so that a robot whose frames
are those of a table keeps them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dalembert.model.joints.joint import snapped
from dalembert.spatial import Pose, so3

PARALLEL = 1e-12  # sine of the angle below which axes are parallel
TOUCHING = 1e-13  # distance, of the size of the robot, below which axes meet
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Line:
    """An axis in the robot's zero position, in the world: a point of it and its unit direction (3,).

    x (3,) is the direction that a frame on it would best have for its x axis.
    """

    point: np.ndarray
    direction: np.ndarray
    x: np.ndarray


@dataclass(frozen=True)
class Row:
    """Rx(alpha) Tx(a) Rz(theta) Tz(d): lengths [m], angles [rad]."""

    a: float
    alpha: float
    theta: float
    d: float

    def pose(self) -> Pose:
        """The frame of this row in the one before, at q = 0."""
        across = Pose(so3.about_axis(X, self.alpha), np.array([self.a, 0.0, 0.0]))
        return across @ Pose(so3.about_axis(Z, self.theta), np.array([0.0, 0.0, self.d]))


def frames(base: Pose, lines: list[Line], size: float) -> list[Pose]:
    """X_WF of frame 0 and of one frame on each axis. Frame 0 is `base` if axis 1 can be reached from it."""
    poses = [base if reaches(base, lines[0], size) else _on(lines[0], lines[0].x, lines[0].point)]
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        poses.append(_on(line, line.x, line.point) if after is None else _towards(line, after, size))
    return poses


def reaches(frame: Pose, line: Line, size: float) -> bool:
    """Whether x of the frame is perpendicular to the line and meets it, so that Rx(α) Tx(a) can reach it."""
    x, apart = frame.R[:, 0], line.point - frame.p
    normal = apart - (apart @ x) * x
    miss = normal - (normal @ line.direction) * line.direction
    return bool(abs(x @ line.direction) <= PARALLEL and np.max(np.abs(miss)) <= TOUCHING * size)


def row(X_before: Pose, X_frame: Pose) -> Row:
    """The parameters that lead from one frame to the next."""
    between = X_before.inverse() @ X_frame
    R, p = snapped(between.R), between.p
    alpha = math.atan2(-R[1, 2], R[2, 2])
    theta = math.atan2(-R[0, 1], R[0, 0])
    z = np.array([0.0, -math.sin(alpha), math.cos(alpha)])
    return Row(float(p[0]), alpha, theta, float(z @ p))


def _towards(line: Line, after: Line, size: float) -> Pose:
    """The frame on `line` whose x runs along the common normal with the line after."""
    normal = np.cross(line.direction, after.direction)
    sine, apart = float(np.linalg.norm(normal)), after.point - line.point
    if sine >= PARALLEL:
        along = float(np.cross(apart, after.direction) @ normal) / sine**2
        return _on(line, normal if normal @ line.x >= 0.0 else -normal, line.point + along * line.direction)
    across = apart - (apart @ line.direction) * line.direction
    if np.linalg.norm(across) <= TOUCHING * size:
        return _on(line, line.x, line.point)
    return _on(line, across if across @ line.x >= 0.0 else -across, line.point)


def _on(line: Line, x: np.ndarray, origin: np.ndarray) -> Pose:
    """A frame with z along the line and x as close as possible to `x`."""
    z = line.direction
    x = x - (x @ z) * z
    if np.linalg.norm(x) < 1e-6:
        x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x = x / np.linalg.norm(x)
    return Pose(snapped(np.stack([x, np.cross(z, x), z], axis=1)), origin)
