"""Where a body's centre of mass can be: inside the convex hull of its shapes, written as half-spaces."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model.solids.properties import solids
from dalembert.robot import Robot
from dalembert.shapes.hull import hull

_GRID = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
DIRECTIONS = _GRID / np.linalg.norm(_GRID, axis=1)[:, None]  # (26, 3): faces, edges and corners of a cube
INSIDE = 1e-3  # of the extent: by how much the file's centre of mass is within the bounds, where a fit starts


class Extent(NamedTuple):
    """Half-spaces normals (k, 3) @ c ≤ offsets (k,) [m] that bound a body's shapes, in its frame."""

    normals: np.ndarray
    offsets: np.ndarray

    def outside(self, point: np.ndarray) -> float:
        """How far a point (3,) is beyond the half-space that it violates most [m]; below 0 inside."""
        return float(np.max(self.normals @ point - self.offsets))


def extent(robot: Robot, body: int) -> Extent | None:
    """The hull of a body's shapes; None without shapes, or where one is a mesh that cannot be read.

    Its faces are those of the hull; without scipy, planes in 26 directions and along the axes of each shape touch it.
    """
    shapes = [
        (geometry.shape, part.placement @ geometry.placement)
        for part in robot.model.bodies[body].parts
        for geometry in solids(part)
    ]
    if not shapes:
        return None
    try:
        corners = np.concatenate([shape.surface()[0] @ X.R.T + X.p for shape, X in shapes])
        axes = [sign * X.R.T for _, X in shapes for sign in (1.0, -1.0)]
        normals = np.concatenate([DIRECTIONS, *axes, _faces(corners)])
        offsets = np.max([shape.reach(normals @ X.R) + normals @ X.p for shape, X in shapes], axis=0)
    except DalembertError:  # a mesh that cannot be read bounds nothing
        return None
    return Extent(normals, offsets)


def _faces(corners: np.ndarray) -> np.ndarray:
    """Outward normals (k, 3) of the hull of points; none where it has no volume, or without scipy."""
    try:
        return hull(corners).faces[0]
    except DalembertError:
        return np.zeros((0, 3))


def hull_bounds(bounds: Extent, com: np.ndarray) -> np.ndarray:
    """Rows (k, 4) on (m, m·c) that are ≥ 0 inside the hull, or as far outside as the file's `com` (3,) is."""
    grid = bounds.offsets[: len(DIRECTIONS)]
    size = float(np.max(grid + grid[::-1]))  # DIRECTIONS[::-1] are the opposite ones
    offsets = np.maximum(bounds.offsets, bounds.normals @ com + INSIDE * size)
    return np.column_stack([offsets, -bounds.normals])
