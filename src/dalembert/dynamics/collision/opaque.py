"""Shapes of which distances know nothing but the farthest point along a direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.shapes import Shape


@dataclass(frozen=True, eq=False)
class Opaque:
    """A convex shape of a class that no kernel is written for; never taken for one that it derives from."""

    shape: Shape

    def support(self, d: np.ndarray) -> np.ndarray:
        """The point farthest along d (3,)."""
        return self.shape.support(d)

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        """The corners of the side across d (3,)."""
        return self.shape.face(d)

    @property
    def extent(self) -> Any:
        """How far it reaches from its origin [m]."""
        return self.shape.extent
