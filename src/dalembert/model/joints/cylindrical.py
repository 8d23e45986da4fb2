"""A rotation about an axis and a translation along it, independent of each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.spatial import Pose, so3

from ..charts import ANGLE, LENGTH
from .joint import AxisJoint, Step
from .prismatic import Prismatic
from .revolute import Revolute
from .stacked import stacked


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylindrical(AxisJoint):
    """q = [θ, d] about [rad] and along [m] the axis, v = q̇."""

    kind, charts = "cylindrical", (ANGLE, LENGTH)
    keywords = {"usd": "rotX transX"}

    def pose(self, q: np.ndarray) -> Pose:
        """Rotation by θ about, and translation by d along, the axis."""
        return Pose(so3.about_axis(self.axis, q[0]), self.axis * q[1])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[axis 0; 0 axis]"""
        S = np.zeros((6, 2))
        S[:3, 0] = S[3:, 1] = self.axis
        return S

    def row(self) -> tuple[Step, ...]:
        """A hinge and a slide."""
        return stacked(self, [(Revolute, self.axis), (Prismatic, self.axis)])

    def reversed(self) -> Cylindrical:
        """The same about and along the opposite axis."""
        return replace(self, axis=-self.axis)
