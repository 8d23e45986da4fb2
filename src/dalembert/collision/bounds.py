"""Capsules around shapes: two shapes whose capsules are apart do not touch, which is found out quickly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.model.geometry import Box, Capsule, Cylinder, Sphere
from dalembert.solids.primitives import reach
from dalembert.spatial import Pose

from .hulls import Hull


class Bound(NamedTuple):
    """The capsule about the segment from centre − half to centre + half, (3,) each, with a radius [m]."""

    centre: np.ndarray
    half: np.ndarray
    radius: float

    def placed(self, X: Pose) -> Bound:
        """The same capsule, from the frame X into that in which X is given."""
        return Bound(X.R @ self.centre + X.p, X.R @ self.half, self.radius)


def bound(shape: Any) -> Bound:
    """A capsule around a shape that ends somewhere, in the shape's frame."""
    match shape:
        case Sphere():
            return Bound(np.zeros(3), np.zeros(3), float(shape.radius))
        case Capsule() | Cylinder():
            return Bound(np.zeros(3), np.array([0.0, 0.0, 0.5 * shape.length]), float(shape.radius))
        case Box():
            return _along(np.zeros(3), 0.5 * np.asarray(shape.size, float))
        case Hull():
            lower, upper = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        case _:
            lower, upper = -reach(shape, -np.eye(3)), reach(shape, np.eye(3))
    return _along(0.5 * (lower + upper), 0.5 * (upper - lower))


def _along(centre: np.ndarray, extent: np.ndarray) -> Bound:
    """Around a box, along its longest side; extent (3,): half of its sides."""
    longest = int(np.argmax(extent))
    across = np.delete(extent, longest)
    return Bound(centre, extent[longest] * np.eye(3)[longest], float(np.hypot(*across)))
