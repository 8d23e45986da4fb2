"""A gyroscope: precession and nutation.

Let go level, it does not fall: it precesses about the vertical and nods. The tip of its axis draws a cycloid.
"""

import numpy as np

from dalembert import ModelBuilder
from dalembert.shapes import Cylinder, Sphere
from drawing import Scene, animate

builder = ModelBuilder("gyroscope")
builder.add_body(
    "wheel", parent="world", joint="ball", mass=1.0, com=(0, 0, 0.2), inertia=np.diag([0.0025, 0.0025, 0.005])
)
builder.add_geometry(Cylinder(0.09, 0.02), body="wheel", xyz=(0, 0, 0.2), color=(0.27, 0.48, 0.70, 1))
builder.add_geometry(Cylinder(0.006, 0.28), body="wheel", xyz=(0, 0, 0.14), color=(0.5, 0.5, 0.5, 1))
builder.add_geometry(Sphere(0.015), body="wheel", xyz=(0.07, 0, 0.212), color=(0.88, 0.48, 0.16, 1))
robot = builder.build()
level = np.array([np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0])
run = robot.simulate(level, [0, 0, 70.0], duration=1.5, record=0.025)
tips = robot.pose(run.q, "wheel")[:, :3, :] @ [0, 0, 0.28, 1]
momentum = np.einsum("tij,tj->ti", robot.pose(run.q, "wheel")[:, :3, :3], robot.generalized_momentum(run.q, run.v))
assert np.abs(momentum[:, 2]).max() < 1e-6  # about the vertical nothing turns it: 0 as at the start
turned = np.unwrap(np.arctan2(tips[:, 1], tips[:, 0]))
assert np.all(np.diff(turned) > -1e-9) and tips[:, 2].max() < 1e-9  # it goes round one way, and never rises above level
print(
    f"nods by {np.degrees(np.arcsin(-tips[:, 2].min() / 0.28)):.0f}°, goes round by {np.degrees(np.ptp(turned)):.0f}°"
)


def frame(k):
    scene = Scene((0, 0, 0), 1.15, azimuth=-50, elevation=25, size=(380, 320), ground=-0.3)
    scene.robot(robot, run.q[k]).path(tips[: k + 1], 0.003)
    return scene.rod((0, 0, -0.3), (0, 0, 0), 0.006).image()


animate((frame(k) for k in range(len(run.t))), __file__, rate=15)
