"""How far shapes are above plane ground at least: what is out of reach needs no candidates in a step.

Over a plane, gap + s · speed is linear in the point x of a rigid shape, d·x + e with d = n + s n × ω. Its least value
over the shape is what the shape's reach along −d says: one number for a shape, however many points it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.dynamics.collision import HalfSpace
from dalembert.math import sqrt
from dalembert.spatial import Pose, cross
from dalembert.spatial.vectors import dot

from .candidates import WORLD, Patch
from .gathering import Motions


def is_bounded(patch: Patch) -> bool:
    """Whether a patch is a shape over plane ground."""
    return patch.second == WORLD and isinstance(patch.ground, HalfSpace)


class Clearance:
    """Bounds for patches over plane ground, with the bodies at X."""

    def __init__(self, patches: Sequence[Patch], X: Sequence[Pose], motions: Motions) -> None:
        self.patches, self.X, self.motions = patches, X, motions

    def least(self, time: Any, v: np.ndarray) -> list[Any]:
        """For each patch a lower bound of gap + time · speed over its points, in a step's time [s] at v (nv,) [m]."""
        twists, lowest = self.motions.twists(v), []
        for patch in self.patches:
            ground, X, twist = patch.ground, self.X[patch.first], twists[patch.first]
            assert isinstance(ground, HalfSpace)
            lever = cross(ground.normal, twist[:3])
            direction = ground.normal + time * lever
            drift = dot(ground.normal, twist[3:]) - dot(lever, self.motions.reference)
            shape, centre = patch.shape.simple()
            in_body = X.R.T @ direction
            down = -(patch.placement.R.T @ in_body)
            place = patch.placement.p + patch.placement.R @ centre
            height = dot(direction, X.p) + dot(in_body, place) + time * drift - ground.offset
            length = sqrt(dot(direction, direction))
            lowest.append(height - shape.reach(down[None], np.array([length]))[0])
        return lowest
