"""One angle about an axis."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.spatial import Pose, so3

from ..charts import ANGLE
from .joint import AxisJoint


@dataclass(frozen=True, eq=False, kw_only=True)
class Revolute(AxisJoint):
    """q = [θ] about the axis [rad], v = θ̇."""

    kind, charts = "revolute", (ANGLE,)
    keywords = {"urdf": "revolute", "mjcf": "hinge", "sdf": "revolute", "dh": "revolute", "usd": "rotX"}

    def pose(self, q: np.ndarray) -> Pose:
        """Rotation by θ about the axis."""
        return Pose(so3.about_axis(self.axis, q[0]), np.zeros(3))

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[axis; 0]"""
        return np.concatenate([self.axis, np.zeros(3)])[:, None]

    def reversed(self) -> Revolute:
        """The same about the opposite axis."""
        return replace(self, axis=-self.axis)
