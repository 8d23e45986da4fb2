"""A ball into a bin.

Thrown, bounced off the floor, caught between five boards, at rest: one run, and its energy ends as heat in named
accounts.
"""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Box, Sphere
from drawing import Scene, animate

builder = ModelBuilder("ball and bin")
builder.add_body("bin", parent="world", joint="fixed", mass=1.0, inertia=np.eye(3))
boards = (
    ([0.5, 0.5, 0.02], (2.0, 0.0, 0.01)),
    ([0.02, 0.5, 0.2], (1.76, 0.0, 0.1)),
    ([0.02, 0.5, 0.6], (2.24, 0.0, 0.3)),
    ([0.5, 0.02, 0.3], (2.0, 0.24, 0.15)),
    ([0.5, 0.02, 0.12], (2.0, -0.24, 0.06)),  # low in front, so that the ball is seen
)
for size, place in boards:
    builder.add_geometry(Box(size), body="bin", xyz=place, role="collision")
builder.add_body("ball", parent="world", joint="free", mass=0.2, inertia=np.eye(3) * 2e-4)
builder.add_geometry(Sphere(0.05), body="ball", role="collision")
robot = builder.build()
contact = Contact(ground=0.0, pairs="all", friction=0.4, restitution=0.6, rolling=0.002, torsion=0.002)
throw = [0, 0, 0, 2.6, 0.05, 0.0]
run = robot.simulate([0, 0, 1.0, 1, 0, 0, 0], throw, 2.8, step=2e-3, contact=contact, record=0.05)
assert 1.77 < run.q[-1, 0] < 2.23


def frame(k):
    scene = Scene((1.15, 0, 0.4), 3.5, azimuth=-72, elevation=32, size=(460, 280))
    scene.robot(robot, run.q[k]).path(run.q[: k + 1, :3], 0.006)
    return scene.ball(run.q[k, :3], 0.052).image()


animate((frame(k) for k in range(len(run.t))), __file__)
