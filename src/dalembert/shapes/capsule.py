"""Capsules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.spatial import Inertia

from .drawing import capsule
from .farthest import signed, unit
from .segment import POINT, Segment
from .shape import Shape, Triangles, about_com, lengths_of
from .sphere import Sphere


@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """A cylinder along z about its centre with half balls on its ends; `length` [m] is that of the cylinder alone."""

    symmetry = "z"
    radius: float
    length: float

    def __post_init__(self) -> None:
        self._keep("radius")
        self._keep("length", (), "from")

    def support(self, d: np.ndarray) -> np.ndarray:
        return self.radius * unit(d) + np.array([0.0, 0.0, signed(d[2], 0.5 * self.length)])

    def core(self) -> tuple[Any, Any]:
        has_length = not (isinstance(self.length, float) and self.length == 0.0)
        return Segment(0.5 * self.length) if has_length else POINT, self.radius

    def convex(self) -> Shape:
        return self if self.core()[0] is not POINT else Sphere(self.radius)

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        ends = self.radius * (lengths_of(d) if lengths is None else lengths)
        return ends + 0.5 * self.length * absolute(d[:, 2])

    def thickness(self) -> float:
        return 2.0 * self.radius

    def depth(self, point: np.ndarray) -> float:
        x, y, z = point
        return float(self.radius - np.hypot(np.hypot(x, y), max(abs(z) - 0.5 * self.length, 0.0)))

    def unit_inertia(self) -> Inertia:
        r, length = self.radius, self.length
        tube, ball = np.pi * r * r * length, 4.0 / 3.0 * np.pi * r**3
        # each half ball has its centre of mass 3/8 r beyond the tube's end
        across = tube * (3.0 * r * r + length * length) / 12.0
        across += ball * (0.4 * r * r + 0.25 * length * length + 0.375 * length * r)
        return about_com(tube + ball, np.array([across, across, (0.5 * tube + 0.4 * ball) * r * r]))

    def surface(self) -> Triangles:
        return capsule(self.radius, self.length)
