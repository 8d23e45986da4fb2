"""One translation along an axis."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.spatial import Pose

from ..charts import LENGTH
from .joint import AxisJoint


@dataclass(frozen=True, eq=False, kw_only=True)
class Prismatic(AxisJoint):
    """q = [d] along the axis [m], v = ḋ."""

    kind, charts = "prismatic", (LENGTH,)
    keywords = {"urdf": "prismatic", "mjcf": "slide", "sdf": "prismatic", "dh": "prismatic", "usd": "transX"}

    def pose(self, q: np.ndarray) -> Pose:
        """Translation by d along the axis."""
        return Pose(np.eye(3), self.axis * q[0])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[0; axis]"""
        return np.concatenate([np.zeros(3), self.axis])[:, None]

    def reversed(self) -> Prismatic:
        """The same along the opposite axis."""
        return replace(self, axis=-self.axis)
