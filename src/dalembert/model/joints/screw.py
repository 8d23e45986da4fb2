"""A rotation about an axis that advances along it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.spatial import Pose, so3

from ..charts import WINDING
from .joint import LENGTH_FIELD, AxisJoint, Mimic, Step
from .prismatic import Prismatic
from .revolute import Revolute
from .stacked import FIELDS, SHARED


@dataclass(frozen=True, eq=False, kw_only=True)
class Screw(AxisJoint):
    """q = [θ] about the axis [rad], advancing pitch·θ along it [m]; v = θ̇."""

    kind, charts = "screw", (WINDING,)
    keywords = {"sdf": "screw"}

    pitch: Any = field(default=0.0, metadata=LENGTH_FIELD)  # [m/rad]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("pitch", self._vector("pitch", 1)[0])

    def pose(self, q: np.ndarray) -> Pose:
        """Rotation by θ about, and translation by pitch·θ along, the axis."""
        return Pose(so3.about_axis(self.axis, q[0]), self.pitch * self.axis * q[0])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[axis; pitch·axis]"""
        return np.concatenate([self.axis, self.pitch * self.axis])[:, None]

    def row(self) -> tuple[Step, ...]:
        """A hinge, which keeps the name since other joints may follow it, and a slide that follows the hinge."""
        values = {name: getattr(self, name) for name in (*FIELDS, *SHARED)}
        hinge = Step(Revolute(name=self.name, axis=self.axis, **values))
        slide = Step(Prismatic(name=f"{self.name}_2", axis=self.axis), Mimic(self.name, self.pitch))
        return (hinge, slide) if self.pitch else (hinge,)

    def reversed(self) -> Screw:
        """The same about and along the opposite axis."""
        return replace(self, axis=-self.axis)
