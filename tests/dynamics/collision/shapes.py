"""Shapes, poses, and points on their surfaces, for the tests of distances."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.collision import Hull, hull
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere
from dalembert.spatial import Pose, so3

ROCK = hull(np.random.default_rng(7).normal(size=(40, 3)) * [0.2, 0.15, 0.1])
WEDGE = hull(np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0.3, 0.2, 0], [0, 0, 0.15], [0, 0.2, 0.15]], float) - 0.1)
SHAPES = {
    "sphere": Sphere(0.12),
    "capsule": Capsule(0.05, 0.3),
    "box": Box([0.2, 0.3, 0.1]),
    "cylinder": Cylinder(0.1, 0.25),
    "ellipsoid": Ellipsoid([0.2, 0.1, 0.06]),
    "cone": Cone(0.12, 0.2),
    "wedge": WEDGE,
    "rock": ROCK,
}


def random_pose(rng: np.random.Generator, spread: float = 1.0) -> Pose:
    return Pose(so3.exp(rng.normal(size=3) * 2.0), spread * rng.normal(size=3))


def directions(count: int, seed: int = 0) -> np.ndarray:
    d = np.random.default_rng(seed).normal(size=(count, 3))
    return d / np.linalg.norm(d, axis=1)[:, None]


def reach(shape: Shape, X: Pose, d: np.ndarray) -> float:
    """The largest d·x of all points of a placed shape."""
    return float(d @ X.point(shape.support(X.R.T @ d)))


__all__ = ["ROCK", "SHAPES", "WEDGE", "Hull", "directions", "random_pose", "reach"]
