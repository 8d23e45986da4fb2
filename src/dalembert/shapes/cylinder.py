"""Cylinders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import where
from dalembert.spatial import Inertia

from .drawing import lathe
from .farthest import lowest_rim, rim, signed
from .shape import Shape, Triangles, about_com, lengths_of


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A cylinder about its centre, along z; radius and full length [m]."""

    symmetry = "z"
    radius: float
    length: float

    def __post_init__(self) -> None:
        self._keep("radius")
        self._keep("length")

    def support(self, d: np.ndarray) -> np.ndarray:
        x, y = rim(self.radius, d)
        return np.array([x, y, signed(d[2], 0.5 * self.length)])

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        """Four points of a flat end, the lowest one first, or the line along its side."""
        x, y = lowest_rim(self.radius, d)
        half = 0.5 * self.length
        end = signed(d[2], half)
        lying = d[2] * d[2] < 0.5
        around = [np.array([x, y, end]), np.array([-y, x, end]), np.array([-x, -y, end]), np.array([y, -x, end])]
        top, bottom = np.array([x, y, half]), np.array([x, y, -half])
        return [where(lying, p, q) for p, q in zip((top, top, bottom, bottom), around, strict=True)]

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return self.radius * lengths_of(d[:, :2]) + 0.5 * self.length * absolute(d[:, 2])

    @property
    def extent(self) -> Any:
        return self.radius + 0.5 * self.length

    def capsule(self) -> tuple[np.ndarray, np.ndarray, float]:
        return np.zeros(3), np.array([0.0, 0.0, 0.5 * self.length]), self.radius

    def thickness(self) -> float:
        return min(2.0 * self.radius, self.length)

    def depth(self, point: np.ndarray) -> float:
        x, y, z = point
        return float(min(self.radius - np.hypot(x, y), 0.5 * self.length - abs(z)))

    def unit_inertia(self) -> Inertia:
        r, length = self.radius, self.length
        m = np.pi * r * r * length
        across = m * (3.0 * r * r + length * length) / 12.0
        return about_com(m, np.array([across, across, 0.5 * m * r * r]))

    def surface(self) -> Triangles:
        r, half = self.radius, 0.5 * self.length
        return lathe([(0.0, -half), (r, -half), (r, half), (0.0, half)])
