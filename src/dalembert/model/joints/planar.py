"""Sliding in a plane and turning about its normal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.math import cos, sin
from dalembert.spatial import Pose, so3

from ..charts import ANGLE, LENGTH
from .joint import LIMITS, AxisJoint, Step, snapped
from .prismatic import Prismatic
from .revolute import Revolute
from .stacked import EFFECTS, stacked


@dataclass(frozen=True, eq=False, kw_only=True)
class Planar(AxisJoint):
    """q = [x, y, θ]: position in the plane perpendicular to `axis` [m], angle about it [rad]; v = q̇.

    x runs along the joint-frame axis that follows, cyclically, the one nearest to `axis` (made perpendicular to it),
    y along axis × x. For axis z that is x, y of the joint frame; for axis x it is y, z.
    """

    kind, charts = "planar", (LENGTH, LENGTH, ANGLE)
    keywords = {"urdf": "planar", "usd": "transY transZ rotX"}
    keeps_coordinates = False
    stages = (slice(0, 2), slice(2, 3))

    def basis(self) -> tuple[np.ndarray, np.ndarray]:
        """Directions of x and y (3,) in the joint frame."""
        following = np.eye(3)[(np.argmax(np.abs(self.axis)) + 1) % 3]
        x = following - (following @ self.axis) * self.axis
        x = snapped(x / np.linalg.norm(x))
        return x, snapped(np.cross(self.axis, x))

    def pose(self, q: np.ndarray) -> Pose:
        """Translation by (x, y), then rotation by θ."""
        x, y = self.basis()
        return Pose(so3.about_axis(self.axis, q[2]), x * q[0] + y * q[1])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[0 0 axis; Rᵀx Rᵀy 0]"""
        x, y = self.basis()
        s, c = sin(q[2]), cos(q[2])
        top = np.stack([np.zeros(3), np.zeros(3), self.axis], axis=1)
        return np.concatenate([top, np.stack([x * c - y * s, x * s + y * c, np.zeros(3)], axis=1)])

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The plane's directions turn in B with -θ̇."""
        x, y = self.basis()
        s, c = sin(q[2]), cos(q[2])
        return np.concatenate([np.zeros(3), (x * (c * v[1] - s * v[0]) - y * (s * v[1] + c * v[0])) * v[2]])

    def span(self) -> np.ndarray:
        """The same plane at any q."""
        return self.subspace(np.zeros(3))

    def row(self) -> tuple[Step, ...]:
        """Two slides and a hinge."""
        x, y = self.basis()
        return stacked(self, [(Prismatic, x), (Prismatic, y), (Revolute, self.axis)])

    def reversed(self) -> Planar:
        """The same about the opposite axis, sliding in axes of the other body."""
        sliding = [getattr(self, name)[:2] for name in EFFECTS]
        limits = [getattr(self, name)[:2] for name in ("lower", "upper", *LIMITS)]
        if np.any(sliding) or np.any(np.isfinite(limits)):
            raise self._not_reversible("armature, damping, friction, springs or limits along x and y")
        return replace(self, axis=-self.axis, rest=self.reversed_state(self.rest, np.zeros(3))[0])

    def reversed_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same angle; the position of the one body in the other."""
        x, y = self.basis()
        back = replace(self, axis=-self.axis, lower=None, upper=None, rest=None)
        B = np.stack(back.basis())  # x as it was, y turned over
        R = self.pose(q).R
        slide = x * q[0] + y * q[1]
        rate = x * v[0] + y * v[1] - v[2] * np.cross(self.axis, slide)
        return np.array([*(-B @ (R.T @ slide)), q[2]]), np.array([*(-B @ (R.T @ rate)), v[2]])
