"""Denavit-Hartenberg frames of a chain: from the lines of the axes to a, α, d, θ, in the modified convention.

Frame i has z along axis i and x along the common normal towards axis i + 1 (Craig 1989, §3.4). Where that is not
unique, the parameters that are free are made zero.
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
    """An axis in the robot's zero position: a point (3,) and a unit direction (3,), in the world."""

    point: np.ndarray
    direction: np.ndarray


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
    first = base if reaches(base, lines[0], size) else _on(lines[0], base.R[:, 0], lines[0].point)
    made = [first]
    for i, line in enumerate(lines):
        before = made[-1]
        foot = _foot(line, Line(before.p, before.R[:, 0])) if i or first is base else line.point  # where d is 0
        after = lines[i + 1] if i + 1 < len(lines) else None
        made.append(_frame(line, after, before.R[:, 0], foot, size))
    return made


def reaches(frame: Pose, line: Line, size: float) -> bool:
    """Whether x of the frame is perpendicular to the line and meets it: what Rx(α) Tx(a) can reach."""
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


def _frame(line: Line, after: Line | None, x: np.ndarray, foot: np.ndarray, size: float) -> Pose:
    """The frame on `line`, whose x points to the line after; `x` and `foot` are those of the frame before."""
    if after is None:
        return _on(line, x, foot)
    normal = np.cross(line.direction, after.direction)
    sine = float(np.linalg.norm(normal))
    if sine < PARALLEL:
        apart = after.point - foot
        apart = apart - (apart @ line.direction) * line.direction
        return _on(line, apart if np.linalg.norm(apart) > TOUCHING * size else x, foot)
    apart = after.point - line.point
    along = float(np.cross(apart, after.direction) @ normal) / sine**2
    distance = float(apart @ normal) / sine
    if abs(distance) <= TOUCHING * size:  # the axes meet: either direction will do, the one nearer to x is taken
        normal = normal if normal @ x >= 0.0 else -normal
    elif distance < 0.0:
        normal = -normal
    return _on(line, normal, line.point + along * line.direction)


def _on(line: Line, x: np.ndarray, origin: np.ndarray) -> Pose:
    """A frame with z along the line and x as near as can be to the one given."""
    z = line.direction
    x = x - (x @ z) * z
    if np.linalg.norm(x) < 1e-6:
        x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x = x / np.linalg.norm(x)
    return Pose(snapped(np.stack([x, np.cross(z, x), z], axis=1)), origin)


def _foot(line: Line, other: Line) -> np.ndarray:
    """The point of `line` nearest to `other`; its own point if they are parallel."""
    normal = np.cross(line.direction, other.direction)
    square = float(normal @ normal)
    if square < PARALLEL**2:
        return line.point
    along = float(np.cross(other.point - line.point, other.direction) @ normal) / square
    return line.point + along * line.direction
