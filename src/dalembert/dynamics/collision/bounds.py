"""Capsules around shapes: two shapes whose capsules are apart do not touch, which is found out quickly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.spatial import Pose


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
    return Bound(*shape.capsule())
