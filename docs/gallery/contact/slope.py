"""Boxes on a slope.

Three boxes with different friction on the same slope: below tan 25° = 0.47 they slide, above it they stick and do not
creep.
"""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Box
from drawing import Scene, animate

SLOPE = np.radians(25)
builder = ModelBuilder("box", gravity=(9.81 * np.sin(SLOPE), 0, -9.81 * np.cos(SLOPE)))
builder.add_body("box", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.04 / 6)
builder.add_geometry(Box([0.2, 0.2, 0.2]), body="box", role="collision")
robot = builder.build()
start, runs = [-0.8, 0, 0.1, 1, 0, 0, 0], {}
for friction in (0.3, 0.42, 0.5):
    runs[friction] = robot.simulate(start, np.zeros(6), 1.2, step=2e-3, contact=Contact(friction=friction), record=0.04)
assert np.ptp(runs[0.5].q[:, 0]) < 1e-7 < 0.1 < np.ptp(runs[0.42].q[:, 0])

tilt = np.eye(4)
tilt[:3, :3] = [[np.cos(SLOPE), 0, np.sin(SLOPE)], [0, 1, 0], [-np.sin(SLOPE), 0, np.cos(SLOPE)]]


def frame(k):
    scene = Scene((0, 0, 0.1), 4.6, azimuth=-45, elevation=30, size=(460, 300), ground=-0.75)
    scene.shape(Box([3.2, 1.6, 0.05]), tilt @ _at((0, 0, -0.025)), (0.85, 0.86, 0.88))
    for (friction, run), y, colour in zip(runs.items(), (-0.5, 0, 0.5), ("#c63c4f", "#e07b28", "#3a9160"), strict=True):
        pose = tilt @ _at((0, y, 0)) @ robot.pose(run.q[k], "box")
        scene.shape(Box([0.2, 0.2, 0.2]), pose, colour).text(pose[:3, 3] + [0.12, 0.12, 0.18], f"µ = {friction}")
    return scene.image()


def _at(place):
    X = np.eye(4)
    X[:3, 3] = place
    return X


animate((frame(k) for k in range(len(runs[0.3].t))), __file__)
