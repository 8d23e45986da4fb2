"""A joint run through backwards: parent and child exchanged, coordinates as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from dalembert.spatial import Pose

from .derived import Derived
from .joint import Joint, traits

COMMON = tuple(field.name for field in fields(Joint))


@dataclass(frozen=True, eq=False, kw_only=True)
class Reversed(Derived):
    """`joint` with parent and child exchanged, for types that have no reversed joint of the same type.

    The pose is the inverse; q, v and all parameters are those of `joint`.
    """

    def __post_init__(self) -> None:
        for name in (*COMMON, "charts", *traits(self.joint.charts)):
            object.__setattr__(self, name, getattr(self.joint, name))
        object.__setattr__(self, "kind", f"reversed {self.joint.kind}")

    def with_values(self, **values: Any) -> Self:
        """A copy whose joint has other values of some fields, unchecked."""
        return replace(self, joint=self.joint.with_values(**values))

    def changed(self, change: Callable[[Joint], Joint]) -> Joint:
        """The reverse of the changed joint."""
        return change(self.joint).reversed()

    def pose(self, q: np.ndarray) -> Pose:
        """The inverse."""
        return self.joint.pose(q).inverse()

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """−Ad(X) S: the body here is the joint frame of the original."""
        return -(self.joint.pose(q).adjoint() @ self.joint.subspace(q))

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """−Ad(X) Ṡ v; the rate of Ad(X) adds V × V = 0."""
        return -self.joint.pose(q).motion(self.joint.bias(q, v))

    def reversed(self) -> Joint:
        """The joint itself."""
        return self.joint
