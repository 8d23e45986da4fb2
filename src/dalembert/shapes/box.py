"""Cuboids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import maximum, sqrt, where
from dalembert.spatial import Inertia
from dalembert.spatial.vectors import dot
from dalembert.typing import ArrayLike

from .drawing import box
from .farthest import AROUND, signed
from .shape import Shape, Triangles, about_com


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A cuboid about its centre; size (3,): full edge lengths [m]."""

    size: np.ndarray

    if TYPE_CHECKING:  # numbers of any kind come in

        def __init__(self, size: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        self._keep("size", (3,))

    def support(self, d: np.ndarray) -> np.ndarray:
        return np.array([signed(x, 0.5 * size) for x, size in zip(d, self.size, strict=True)])

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        """The corners of the face that looks along d most, however much it is tilted."""
        x, y, z = (absolute(c) for c in d)
        along_x, along_y = x >= maximum(y, z), y >= z
        outward = self.support(d)
        half = 0.5 * self.size
        corners = []
        for s, t in AROUND:
            of_x = np.array([outward[0], s * half[1], t * half[2]])
            of_y = np.array([t * half[0], outward[1], s * half[2]])
            of_z = np.array([s * half[0], t * half[1], outward[2]])
            corners.append(where(along_x, of_x, where(along_y, of_y, of_z)))
        return corners

    def corners(self) -> list[np.ndarray]:
        """The corners (3,) [m]."""
        half = 0.5 * self.size
        return [half * np.array([sx, sy, sz]) for sx in (1.0, -1.0) for sy in (1.0, -1.0) for sz in (1.0, -1.0)]

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return absolute(d) @ (0.5 * self.size)

    @property
    def extent(self) -> Any:
        return 0.5 * sqrt(dot(self.size, self.size))

    def thickness(self) -> float:
        return float(np.min(self.size))

    def depth(self, point: np.ndarray) -> float:
        return float(np.min(0.5 * self.size - np.abs(point)))

    def unit_inertia(self) -> Inertia:
        x, y, z = self.size
        m = x * y * z
        return about_com(m, np.array([y * y + z * z, z * z + x * x, x * x + y * y]) * (m / 12.0))

    def surface(self) -> Triangles:
        return box(self.size)
