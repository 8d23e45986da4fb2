"""Points and segments: the cores of balls and capsules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.math import where


@dataclass(frozen=True, eq=False)
class Segment:
    """The line from −half to +half along z [m], which may be traced."""

    half: Any
    is_point = False
    middle = np.zeros(3)

    def support(self, d: np.ndarray) -> np.ndarray:
        """The point farthest along d (3,)."""
        return np.array([0.0, 0.0, where(d[2] < 0.0, -self.half, self.half)])

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        """Its two ends, each twice."""
        ends = np.array([0.0, 0.0, self.half]), np.array([0.0, 0.0, -self.half])
        return [ends[0], ends[0], ends[1], ends[1]]

    @property
    def extent(self) -> Any:
        """How far it reaches from its origin [m]."""
        return self.half

    def capsule(self) -> tuple[np.ndarray, np.ndarray, float]:
        """A capsule around it."""
        return np.zeros(3), np.array([0.0, 0.0, self.half]), 0.0


@dataclass(frozen=True, eq=False)
class Point(Segment):
    """A segment without length."""

    half: Any = 0.0
    is_point = True

    def support(self, d: np.ndarray) -> np.ndarray:
        return np.zeros(3)


POINT = Point()
