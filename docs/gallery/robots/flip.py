"""The body that turns over.

A wing nut spins about the axis of its middle moment of inertia. Nothing acts on it, and it flips again and again:
energy and angular momentum stay the same all the while.
"""

import numpy as np

from dalembert import ModelBuilder
from dalembert.shapes import Box, Cylinder
from drawing import Scene, animate

builder = ModelBuilder("wing nut", gravity=(0, 0, 0))
builder.add_body("nut", parent="world", joint="free", mass=1.0, inertia=np.diag([1.0, 2.0, 2.8]))
builder.add_geometry(Box([1.9, 0.3, 0.12]), body="nut", color=(0.27, 0.48, 0.70, 1))
builder.add_geometry(
    Cylinder(0.2, 0.7), body="nut", xyz=(0, 0.35, 0), rpy=(np.pi / 2, 0, 0), color=(0.88, 0.48, 0.16, 1)
)
robot = builder.build()
run = robot.simulate(robot.neutral(), [0.02, 4.0, 0.02, 0, 0, 0], duration=12.0, record=0.2, integrator="rk8")
momentum = run.v[:, :3] * [1.0, 2.0, 2.8]
assert np.ptp(np.linalg.norm(momentum, axis=1)) < 1e-6
camera = {"target": (0, 0, 0), "distance": 4.2, "azimuth": -20, "elevation": 15, "size": (360, 300), "ground": None}
animate((Scene(**camera).robot(robot, q).image() for q in run.q), __file__, rate=12)
