"""Six degrees of freedom: a floating base or a loose body."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.spatial import Pose, so3

from ..charts import MOTION
from .joint import Joint
from .turning import check_isotropic


@dataclass(frozen=True, eq=False, kw_only=True)
class Free(Joint):
    """q = [position (3) in J [m], unit quaternion w x y z of B in J], v = twist [ω; v] in B's axes [rad/s, m/s]."""

    kind, charts = "free", (MOTION,)
    keywords = {"urdf": "floating", "mjcf": "free", "usd": "rotX rotY rotZ transX transY transZ"}
    keeps_coordinates = False

    def pose(self, q: np.ndarray) -> Pose:
        """The position and the rotation of the quaternion."""
        return Pose(so3.from_quaternion(q[3:]), q[:3])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """The identity."""
        return np.eye(6)

    def reversed(self) -> Free:
        """A free joint that rests at the inverse pose."""
        check_isotropic(self)
        return replace(self, rest=self.reversed_state(self.rest, np.zeros(6))[0])

    def reversed_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse pose; the opposite twist at and along the other body's frame."""
        X = self.pose(q)
        return np.concatenate([X.inverse().p, so3.quaternion_conjugate(q[3:])]), -X.motion(v)
