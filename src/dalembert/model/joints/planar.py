"""Sliding in a plane and turning about its normal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.math import cos, sin
from dalembert.spatial import Pose, so3

from .joint import AxisJoint, snapped


@dataclass(frozen=True, eq=False, kw_only=True)
class Planar(AxisJoint):
    """q = [x, y, θ]: position in the plane perpendicular to `axis` [m], angle about it [rad]; v = q̇.

    x runs along the joint-frame axis that follows, cyclically, the one nearest to `axis` (made perpendicular to it),
    y along axis × x. For axis z that is x, y of the joint frame; for axis x it is y, z.
    """

    kind, nq, nv, reach = "planar", 3, 3, (1.0, 1.0, np.pi)
    turns = (2,)
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
