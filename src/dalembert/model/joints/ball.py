"""Any rotation about a point."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.spatial import Pose, so3

from ..charts import ROTATION
from .joint import Joint
from .turning import check_isotropic


@dataclass(frozen=True, eq=False, kw_only=True)
class Ball(Joint):
    """q = unit quaternion w x y z of B in J, v = angular velocity in B's axes [rad/s]."""

    kind, charts = "ball", (ROTATION,)
    keywords = {"mjcf": "ball", "sdf": "ball", "usd": "rotX rotY rotZ"}
    keeps_coordinates = False

    def pose(self, q: np.ndarray) -> Pose:
        """The rotation of the quaternion."""
        return Pose(so3.from_quaternion(q), np.zeros(3))

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[1; 0]"""
        return np.eye(6, 3)

    def reversed(self) -> Ball:
        """A ball joint that rests at the inverse rotation."""
        check_isotropic(self)
        return replace(self, rest=so3.quaternion_conjugate(self.rest))

    def reversed_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse rotation; the opposite velocity in the other body's axes."""
        return so3.quaternion_conjugate(q), -(self.pose(q).R @ v)
