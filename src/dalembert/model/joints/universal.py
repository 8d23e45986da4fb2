"""Two rotations in sequence about two axes through one point: a Cardan joint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.spatial import Pose, cross, so3

from ..charts import ANGLE
from .joint import AxisJoint, Step
from .revolute import Revolute
from .stacked import FIELDS, stacked

PARALLEL = 1e-6  # sine of the least angle between the axes; below it the joint has lost a freedom


@dataclass(frozen=True, eq=False, kw_only=True)
class Universal(AxisJoint):
    """q = [q1, q2] [rad]: about `axis`, fixed in J, then about `axis2`, fixed in B; v = q̇."""

    kind, charts = "universal", (ANGLE, ANGLE)
    keywords = {"sdf": "universal", "usd": "rotX rotY"}
    keeps_coordinates = False
    stages = (slice(0, 1), slice(1, 2))

    axis2: Any = (1.0, 0.0, 0.0)  # (3,) normalised

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("axis2", self._unit("axis2"))
        if np.linalg.norm(np.cross(self.axis, self.axis2)) < PARALLEL:
            raise self._error(f"axis {self.axis} and axis2 {self.axis2} are parallel, expected two directions")

    def pose(self, q: np.ndarray) -> Pose:
        """Rotation R1(q1) R2(q2)."""
        return Pose(so3.about_axis(self.axis, q[0]) @ so3.about_axis(self.axis2, q[1]), np.zeros(3))

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[R2ᵀ axis, axis2; 0 0]"""
        angular = np.stack([self._first(q), self.axis2], axis=1)
        return np.concatenate([angular, np.zeros((3, 2))])

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The first axis turns in B with -v2·axis2."""
        return np.concatenate([cross(self._first(q), self.axis2) * (v[0] * v[1]), np.zeros(3)])

    def span(self) -> np.ndarray:
        """All rotations."""
        return np.eye(6, 3)

    def _first(self, q: np.ndarray) -> np.ndarray:
        """The first axis in B's axes."""
        return so3.about_axis(self.axis2, q[1]).T @ self.axis

    def row(self) -> tuple[Step, ...]:
        """Two hinges."""
        return stacked(self, [(Revolute, self.axis), (Revolute, self.axis2)])

    def reversed(self) -> Universal:
        """The axes in the opposite order and direction."""
        values = {name: getattr(self, name)[::-1] for name in FIELDS}
        return replace(self, axis=-self.axis2, axis2=-self.axis, **values)

    def reversed_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In the opposite order."""
        return q[::-1], v[::-1]
