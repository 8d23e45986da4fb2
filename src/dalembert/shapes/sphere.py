"""Balls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.spatial import Inertia

from .drawing import ball
from .farthest import unit
from .segment import POINT
from .shape import Shape, Triangles, about_com, lengths_of


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A ball about its centre; radius [m]."""

    symmetry = "all"
    radius: float

    def __post_init__(self) -> None:
        self._keep("radius")

    def support(self, d: np.ndarray) -> np.ndarray:
        return self.radius * unit(d)

    def core(self) -> tuple[Any, Any]:
        return POINT, self.radius

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return self.radius * (lengths_of(d) if lengths is None else lengths)

    def thickness(self) -> float:
        return 2.0 * self.radius

    def depth(self, point: np.ndarray) -> float:
        return float(self.radius - np.linalg.norm(point))

    def unit_inertia(self) -> Inertia:
        r = self.radius
        m = 4.0 / 3.0 * np.pi * r**3
        return about_com(m, np.full(3, 0.4 * m * r * r))

    def surface(self) -> Triangles:
        return ball(np.full(3, self.radius))
