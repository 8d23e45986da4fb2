"""Planes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Inertia

from .drawing import ground
from .shape import Shape, Triangles


@dataclass(frozen=True, eq=False)
class Plane(Shape):
    """A flat ground through the origin; `normal` (3,) points out of it."""

    is_bounded = False
    normal: np.ndarray

    def __post_init__(self) -> None:
        self._keep("normal", (3,), "any")
        if not np.any(self.normal):
            raise DalembertError("Plane: normal is [0, 0, 0], expected a direction, as [0, 0, 1]")

    def support(self, d: np.ndarray) -> np.ndarray:
        raise DalembertError("a Plane has no farthest point along a direction: it has no end")

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return np.full(len(d), np.inf)

    def thickness(self) -> float:
        return np.inf

    def depth(self, point: np.ndarray) -> float:
        return np.inf

    def unit_inertia(self) -> Inertia:
        raise DalembertError("mass_properties: a plane has no volume: give a box")

    def surface(self) -> Triangles:
        return ground(self.normal)
