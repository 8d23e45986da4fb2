"""Small bodies to touch the ground with."""

from __future__ import annotations

from functools import cache

import numpy as np

from dalembert import ModelBuilder, Robot
from dalembert.model.geometry import Box, Sphere

G = 9.81
SIDE = 0.2


@cache
def box(slope: float = 0.0, mass: float = 1.0) -> Robot:
    """A cube with an edge of 0.2 m on a slope: gravity leans by that angle towards x."""
    builder = ModelBuilder("box", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    builder.add_body("box", parent="world", joint="free", mass=mass, inertia=np.eye(3) * mass * SIDE**2 / 6.0)
    builder.add_geometry(Box([SIDE] * 3), body="box", role="collision")
    return builder.build()


@cache
def ball(radius: float = 0.1, mass: float = 1.0) -> Robot:
    builder = ModelBuilder("ball", gravity=(0.0, 0.0, -G))
    builder.add_body("ball", parent="world", joint="free", mass=mass, inertia=np.eye(3) * 0.4 * mass * radius**2)
    builder.add_geometry(Sphere(radius), body="ball", role="collision")
    return builder.build()


@cache
def table(legs: int = 4) -> Robot:
    """A top of 12 kg on spherical feet of 2 cm, 0.3 m below."""
    places = {4: [(0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)], 2: [(0.3, 0.0), (-0.3, 0.0)]}[legs]
    builder = ModelBuilder("table", gravity=(0.0, 0.0, -G))
    builder.add_body("top", parent="world", joint="free", mass=12.0, inertia=np.diag([0.3, 0.4, 0.5]))
    for k, (x, y) in enumerate(places):
        builder.add_geometry(Sphere(0.02), body="top", xyz=(x, y, -0.3), role="collision", name=f"foot{k}")
    return builder.build()


def standing(height: float, *velocity: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of a free body upright at a height, with a velocity [m/s]."""
    return np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, *(velocity or (0.0, 0.0, 0.0))])
