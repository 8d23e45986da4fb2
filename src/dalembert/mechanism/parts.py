"""Parts of a mechanism, as stated: bodies, points, joints, and relations between coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.model.geometry import Shape
from dalembert.spatial import Inertia, Pose

GROUND = "ground"
ORIGIN, COM = "origin", "com"  # points that every body has


@dataclass(frozen=True, eq=False)
class BodyPart:
    """A body: its inertia about the origin of its frame, where it roughly is, and how it roughly moves.

    pose: X_WB, None where the joints that carry it decide; velocity (3,) of its origin [m/s] and spin (3,) [rad/s],
    in the world, None likewise.
    """

    name: str
    inertia: Inertia
    points: dict[str, Pose] = field(default_factory=dict)  # X_BP of each named point
    pose: Pose | None = None
    velocity: np.ndarray | None = None
    spin: np.ndarray | None = None


class End(NamedTuple):
    """A point of a body, as in "crank.tip"."""

    body: str
    point: str

    @property
    def name(self) -> str:
        """The name of its frame."""
        return f"{self.body}.{self.point}"


@dataclass(frozen=True, eq=False)
class JointPart:
    """A joint of a kind between two points. shape: axis (3,), axis2 (3,), pitch, length, as the kind needs.

    start: its coordinate when it is put together, rate: its speed then, None where they follow; values: fields of the
    joint in a tree (lower, upper, friction, armature); springs: (stiffness, damping) by which it is held in the
    place of
    multipliers, each None where the step decides; compliance: [m/N, rad/(N·m)] (linear, angular) or None.
    """

    name: str
    kind: str
    a: End
    b: End
    shape: dict[str, Any]
    start: float | None = None
    rate: float | None = None
    values: dict[str, Any] = field(default_factory=dict)
    springs: tuple[float | None, float | None] | None = None
    compliance: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Mesh:
    """Two bodies on a carrier whose motions relative to it are tied: factor_a · x_a + factor_b · x_b stays constant."""

    name: str
    kind: str  # gear, rack, belt
    a: str
    b: str
    carrier: str
    factor_a: float
    factor_b: float


@dataclass(frozen=True, eq=False)
class CamPart:
    """A joint that follows the angle of another one: lift (n,) at n equal parts of a turn."""

    name: str
    cam: str
    follower: str
    lift: np.ndarray


@dataclass(frozen=True, eq=False)
class ShapePart:
    """A shape to be seen and touched, at a point of a body; kind and sizes: as they were stated."""

    name: str
    at: End
    kind: str
    sizes: dict[str, Any]
    shape: Shape


Relation = Mesh | CamPart
