"""Small robots with collision shapes."""

from __future__ import annotations

import numpy as np

import dalembert
from dalembert.model import Surface
from dalembert.model.geometry import Box, Capsule, Cylinder, Plane, Sphere

THIN = np.diag([0.01, 0.01, 0.01])


def arm(links: int = 4, shapes: bool = True) -> dalembert.Robot:
    """Capsules one behind the other, each joint turning across the last."""
    b = dalembert.ModelBuilder("arm")
    b.add_body("base", parent="world", mass=1.0, inertia=THIN)
    b.add_geometry(Cylinder(0.1, 0.1), body="base", role="collision")
    for k in range(links):
        parent = f"link{k}" if k else "base"
        axis = (0, 1, 0) if k % 2 else (1, 0, 0)
        b.add_body(
            f"link{k + 1}", parent=parent, joint="revolute", axis=axis, xyz=(0, 0, 0.3 if k else 0.1), mass=1.0,
            com=(0, 0, 0.15), inertia=THIN, lower=-2.5, upper=2.5,
        )  # fmt: skip
        if shapes:
            b.add_geometry(Capsule(0.04, 0.3), body=f"link{k + 1}", xyz=(0, 0, 0.15), role="collision")
    b.add_frame("tool", body=f"link{links}", xyz=(0, 0, 0.3))
    return b.build()


def toys() -> dalembert.Robot:
    """Loose bodies over a floor: a box, two balls on layers that do not meet, and a wall."""
    b = dalembert.ModelBuilder("toys")
    b.add_body("world", parent="world")
    b.add_geometry(Plane([0, 0, 1]), body="world", role="collision", name="floor")
    b.add_geometry(Box([0.1, 2.0, 1.0]), body="world", xyz=(1.0, 0, 0.5), role="collision", name="wall")
    shapes = {
        "crate": (Box([0.2, 0.3, 0.4]), None),
        "red": (Sphere(0.1), Surface(layers=(1, 1))),
        "blue": (Sphere(0.2), Surface(layers=(2, 2))),
    }
    for name, (shape, surface) in shapes.items():
        b.add_body(name, parent="world", joint="free", mass=1.0, inertia=THIN)
        b.add_geometry(shape, body=name, role="collision", surface=surface)
    return b.build()
