"""A joint that follows another one: one coordinate moves both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dalembert.spatial import Pose

from ..charts import Line
from .derived import Derived
from .joint import RATE_LIMITS, Joint, Mimic


@dataclass(frozen=True, eq=False, kw_only=True)
class Coupled(Derived):
    """A joint of one coordinate, ratio · q + offset, where q is the coordinate of its leader; v and a are the leader's.

    `joint` is the follower by itself, with fields in its own coordinate. The fields of this class are the same things
    felt at the leader's coordinate: rotors, damping and springs with ratio², friction and effort with |ratio|.
    """

    charts = (Line("", 1.0),)  # of the leader

    leader: str
    ratio: float
    offset: float

    def __post_init__(self) -> None:
        joint, ratio, size = self.joint, self.ratio, abs(self.ratio)
        ends = [(end - self.offset) / ratio for end in (joint.lower, joint.upper)]
        felt = {
            "name": joint.name,
            "armature": ratio * (ratio * joint.armature),
            "damping": ratio * (ratio * joint.damping),
            "friction": size * joint.friction,
            "slip_speed": joint.slip_speed / size,
            "stribeck": size * joint.stribeck,
            "stribeck_speed": joint.stribeck_speed / size,
            "stiffness": ratio * (ratio * joint.stiffness),
            "rest": (joint.rest - self.offset) / ratio,
            "lower": np.minimum(*ends),
            "upper": np.maximum(*ends),
            **{limit: getattr(joint, limit) / size for limit in RATE_LIMITS},
            "effort_limit": size * joint.effort_limit,
            "continuous_limit": size * joint.continuous_limit,
            "motor": joint.motor,
        }
        for name, value in felt.items():
            object.__setattr__(self, name, value)

    @property
    def kind(self) -> str:  # type: ignore[override]  # a class constant elsewhere
        """The kind of the follower by itself."""
        return self.joint.kind

    def with_values(self, **values: Any) -> Self:
        """A copy whose follower has other values of some fields, in its own coordinate, unchecked."""
        return replace(self, joint=self.joint.with_values(**values))

    @property
    def stages(self) -> tuple[slice, ...]:  # type: ignore[override]
        """The stages of the follower by itself."""
        return self.joint.stages

    @property
    def mimic(self) -> Mimic:
        """The joint that it follows, with ratio and offset."""
        return Mimic(self.leader, self.ratio, self.offset)

    @property
    def uncoupled(self) -> Joint:
        """The follower by itself."""
        return self.joint

    def coordinate(self, q: np.ndarray) -> np.ndarray:
        """The follower's coordinate (1,)."""
        return self.ratio * q + self.offset

    def pose(self, q: np.ndarray) -> Pose:
        """The follower's at its coordinate."""
        return self.joint.pose(self.coordinate(q))

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """The follower's, moving `ratio` times as fast."""
        return self.ratio * self.joint.subspace(self.coordinate(q))

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The follower's at its coordinate and speed."""
        return self.joint.bias(self.coordinate(q), self.ratio * v)

    def span(self) -> np.ndarray:
        """The follower's."""
        return self.joint.span()
