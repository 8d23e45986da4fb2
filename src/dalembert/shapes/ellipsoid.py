"""Ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.math import maximum
from dalembert.spatial import Inertia
from dalembert.typing import ArrayLike

from .drawing import ball
from .farthest import unit
from .shape import Shape, Triangles, about_com, lengths_of


@dataclass(frozen=True, eq=False)
class Ellipsoid(Shape):
    """radii (3,): half axes along x, y, z [m]."""

    radii: np.ndarray

    if TYPE_CHECKING:  # numbers of any kind come in

        def __init__(self, radii: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        self._keep("radii", (3,))

    def support(self, d: np.ndarray) -> np.ndarray:
        return self.radii * unit(self.radii * d)

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        return [self.support(d)] * 4

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return lengths_of(d * self.radii)

    @property
    def extent(self) -> Any:
        return maximum(maximum(self.radii[0], self.radii[1]), self.radii[2])

    @property
    def symmetry(self) -> str:  # type: ignore[override]
        return "z" if self.radii[0] == self.radii[1] else ""

    def thickness(self) -> float:
        return 2.0 * float(np.min(self.radii))

    def depth(self, point: np.ndarray) -> float:
        """A lower bound."""
        return float(np.min(self.radii) - np.linalg.norm(point))

    def unit_inertia(self) -> Inertia:
        x, y, z = self.radii
        m = 4.0 / 3.0 * np.pi * x * y * z
        return about_com(m, np.array([y * y + z * z, z * z + x * x, x * x + y * y]) * (m / 5.0))

    def surface(self) -> Triangles:
        return ball(self.radii)
