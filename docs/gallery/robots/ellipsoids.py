"""Inertia you can see.

Each link of a Panda as the solid ellipsoid that has its mass properties: a slip in a tensor shows at once. `dalembert
view` has the same behind a switch.
"""

import numpy as np

from dalembert import load
from dalembert.shapes import Ellipsoid
from drawing import Scene, beside

robot = load("panda")
q = np.array([0.4, -0.5, 0.2, -2.0, 0.1, 1.7, 0.5])
camera = {"target": (0.15, 0, 0.45), "distance": 2.1, "azimuth": -65, "size": (380, 380)}
shapes, ellipsoids = Scene(**camera), Scene(**camera)
shapes.robot(robot, q)
for body, pose in zip(robot.model.bodies, robot.poses(q), strict=False):
    inertia = body.inertia
    if inertia.mass <= 0 or inertia.problems():
        continue
    moments, axes = np.linalg.eigh(inertia.about_com())
    radii = np.sqrt(2.5 * (moments.sum() - 2 * moments) / inertia.mass)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = axes * np.linalg.det(axes), inertia.com
    ellipsoids.shape(Ellipsoid(radii), pose @ X, (0.35, 0.65, 0.45))
image = beside(shapes.text((10, 8), "shapes").image(), ellipsoids.text((10, 8), "ellipsoids of inertia").image())
image.save(__file__.replace(".py", ".webp"), quality=80)
