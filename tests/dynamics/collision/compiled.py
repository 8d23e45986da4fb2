"""Distances of pairs of shapes as compiled functions of two placements (7,): position and quaternion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import dalembert
from dalembert.compiler.graph import jacobian
from dalembert.dynamics.collision import distance, pair_points
from dalembert.spatial import Pose, so3
from dynamics.collision.shapes import SHAPES

ROBOT = dalembert.load("2r")  # functions are compiled for some robot; these do not use it


def pose(x: np.ndarray) -> Pose:
    return Pose(so3.from_quaternion(so3.quaternion_normalize(x[3:])), x[:3])


def placements(rng: np.random.Generator, count: int, spread: float) -> np.ndarray:
    """Random positions and orientations (count, 7)."""
    x = rng.normal(size=(count, 7))
    x[:, :3] *= spread
    x[:, 3:] /= np.linalg.norm(x[:, 3:], axis=1)[:, None]
    return x


@cache
def compiled_distance(a: str, b: str) -> Callable[..., np.ndarray]:
    """[distance, a, b, normal] (…, 10)."""

    def compute(x, y):
        w = distance(SHAPES[a], pose(x), SHAPES[b], pose(y))
        return np.array([w.distance, *w.a, *w.b, *w.normal])

    return dalembert.function(compute, ROBOT, x=7, y=7)


@cache
def compiled_slope(a: str, b: str) -> Callable[..., np.ndarray]:
    """Derivatives (…, 14) of the distance in both placements."""

    def compute(x, y):
        w = distance(SHAPES[a], pose(x), SHAPES[b], pose(y))
        return jacobian(np.array([w.distance]), np.concatenate([x, y]))[0]

    return dalembert.function(compute, ROBOT, x=7, y=7)


@cache
def compiled_points(a: str, b: str) -> Callable[..., np.ndarray]:
    """[gap, a, b, normal] (…, n, 10) of the candidates."""

    def compute(x, y):
        points = pair_points(SHAPES[a], pose(x), SHAPES[b], pose(y))
        return np.array([[w.distance, *w.a, *w.b, *w.normal] for w in points])

    return dalembert.function(compute, ROBOT, x=7, y=7)
