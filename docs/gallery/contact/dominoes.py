"""Dominoes.

Eight boards hand a push on from one to the next: contact between bodies and with the ground, friction everywhere, one
complementarity problem a step.
"""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Box
from drawing import Scene, animate

COUNT, SIZE, GAP = 6, np.array([0.04, 0.16, 0.32]), 0.17
builder = ModelBuilder("dominoes")
moments = 0.5 / 12 * (np.sum(SIZE**2) - SIZE**2)
for k in range(COUNT):
    builder.add_body(f"board{k}", parent="world", joint="free", mass=0.5, inertia=np.diag(moments))
    builder.add_geometry(Box(SIZE), body=f"board{k}", role="collision")
robot = builder.build()
start = np.concatenate([[GAP * k, 0, SIZE[2] / 2, 1, 0, 0, 0] for k in range(COUNT)])
push = np.zeros(robot.nv)
push[[1, 3]] = 1.6, 1.6 * SIZE[2] / 2  # the first one tips about its lower edge
pairs = [(f"board{k}", "ground") for k in range(COUNT)] + [(f"board{k}", f"board{k + 1}") for k in range(COUNT - 1)]
run = robot.simulate(start, push, 1.6, step=2e-3, contact=Contact(pairs=pairs, friction=0.5), record=0.04)
tilt = [robot.pose(run.q[-1], f"board{k}")[2, 2] for k in range(COUNT)]
assert max(tilt) < 0.7  # all of them fell


def frame(q):
    scene = Scene((0.5, 0, 0.1), 2.4, azimuth=-62, elevation=18, size=(440, 280))
    return scene.robot(robot, q).image()


animate((frame(q) for q in run.q), __file__)
