"""Where a body's centre of mass can be: inside the convex hull of its shapes, written as half-spaces."""

from __future__ import annotations

from itertools import product

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.solids.properties import solids

_GRID = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
DIRECTIONS = _GRID / np.linalg.norm(_GRID, axis=1)[:, None]  # (26, 3): faces, edges and corners of a cube
MARGIN = 0.25  # of the extent: by how much a centre of mass may lie outside, since shapes are drawn roughly


def hull(robot: Robot, body: int) -> np.ndarray | None:
    """s (26,) [m] with DIRECTIONS @ c ≤ s for every point c of the body's shapes, in its frame; None without shapes."""
    supports = []
    for part in robot.model.bodies[body].parts:
        for geometry in solids(part):
            X = part.placement @ geometry.placement
            d = DIRECTIONS @ X.R  # the directions in the shape's own axes
            try:
                furthest = geometry.shape.reach(d)
            except DalembertError:  # a mesh that cannot be read bounds nothing
                return None
            supports.append(furthest + DIRECTIONS @ X.p)
    return np.max(supports, axis=0) if supports else None


def hull_bounds(robot: Robot, body: int, com: np.ndarray) -> np.ndarray:
    """Rows (k, 4) on (m, m·c) that are ≥ 0 inside the hull, widened to hold `com` (3,); none without shapes."""
    s = hull(robot, body)
    if s is None:
        return np.zeros((0, 4))
    extent = float(np.max(s + s[::-1]))  # DIRECTIONS[::-1] are the opposite ones
    s = np.maximum(s, DIRECTIONS @ com) + MARGIN * extent
    return np.column_stack([s, -DIRECTIONS])
