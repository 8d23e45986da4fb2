"""A rotation about an axis that advances along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.spatial import Pose, so3

from .joint import AxisJoint


@dataclass(frozen=True, eq=False, kw_only=True)
class Screw(AxisJoint):
    """q = [θ] about the axis [rad], advancing pitch·θ along it [m]; v = θ̇."""

    kind, nq, nv, reach = "screw", 1, 1, (np.pi,)

    pitch: Any = 0.0  # [m/rad]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("pitch", self._vector("pitch", 1)[0])

    def pose(self, q: np.ndarray) -> Pose:
        """Rotation by θ about, and translation by pitch·θ along, the axis."""
        return Pose(so3.about_axis(self.axis, q[0]), self.pitch * self.axis * q[0])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[axis; pitch·axis]"""
        return np.concatenate([self.axis, self.pitch * self.axis])[:, None]
