"""No freedom: how a base is held to the world. Other fixed links are merged into the body that carries them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.spatial import Pose

from .joint import Joint


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixed(Joint):
    """q and v are empty."""

    kind, charts = "fixed", ()
    keywords = {"urdf": "fixed", "sdf": "fixed", "usd": ""}

    def pose(self, q: np.ndarray) -> Pose:
        """The identity."""
        return Pose.identity()

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """No columns."""
        return np.zeros((6, 0))

    def reversed(self) -> Fixed:
        """Itself."""
        return self
