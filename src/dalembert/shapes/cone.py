"""Cones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.math import maximum, where
from dalembert.spatial import Inertia

from .drawing import lathe
from .farthest import lowest_rim, rim
from .shape import Shape, Triangles, about_com, lengths_of


@dataclass(frozen=True, eq=False)
class Cone(Shape):
    """A cone along z about the middle of its height, tip up; base radius and full length [m]."""

    symmetry = "z"
    radius: float
    length: float

    def __post_init__(self) -> None:
        self._keep("radius")
        self._keep("length")

    def support(self, d: np.ndarray) -> np.ndarray:
        x, y = rim(self.radius, d)
        tip = d[2] * self.length > x * d[0] + y * d[1]
        half = 0.5 * self.length
        return np.array([where(tip, 0.0, x), where(tip, 0.0, y), where(tip, half, -half)])

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        """Four points of the base, or the line from it to the tip."""
        x, y = lowest_rim(self.radius, d)
        half = 0.5 * self.length
        below = d[2] < -(0.5**0.5)
        base = [np.array([x, y, -half]), np.array([-y, x, -half]), np.array([-x, -y, -half]), np.array([y, -x, -half])]
        tip = np.array([0.0, 0.0, half])
        return [where(below, p, q) for p, q in zip(base, (tip, tip, base[0], base[0]), strict=True)]

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        half = 0.5 * self.length * d[:, 2]
        return maximum(self.radius * lengths_of(d[:, :2]) - half, half)

    @property
    def extent(self) -> Any:
        return self.radius + 0.5 * self.length

    def unit_inertia(self) -> Inertia:
        r, length = self.radius, self.length
        m = np.pi * r * r * length / 3.0
        across = 3.0 / 80.0 * m * (4.0 * r * r + length * length)
        return about_com(m, np.array([across, across, 0.3 * m * r * r]), np.array([0.0, 0.0, -0.25 * length]))

    def surface(self) -> Triangles:
        r, half = self.radius, 0.5 * self.length
        return lathe([(0.0, -half), (r, -half), (0.0, half)])
