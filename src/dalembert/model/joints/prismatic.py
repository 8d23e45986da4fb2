"""One translation along an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.spatial import Pose

from .joint import AxisJoint


@dataclass(frozen=True, eq=False, kw_only=True)
class Prismatic(AxisJoint):
    """q = [d] along the axis [m], v = ḋ."""

    kind, nq, nv, reach = "prismatic", 1, 1, (1.0,)

    def pose(self, q: np.ndarray) -> Pose:
        """Translation by d along the axis."""
        return Pose(np.eye(3), self.axis * q[0])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[0; axis]"""
        return np.concatenate([np.zeros(3), self.axis])[:, None]
