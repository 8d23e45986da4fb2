"""A quadruped trots.

Gait clock, footsteps, planned forces and the whole-body program run as one sampled controller inside the compiled
step, on rigid ground.
"""

from pathlib import Path

import numpy as np

from dalembert import Contact, control, load
from dalembert.pictures import Camera

robot = load("quadruped")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
q = robot.neutral()
q[7:] = np.tile([0.0, 0.8, -1.6], 4)
q[2] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02
law = control.legs(robot, feet, q, velocity=(0.5, 0.0, 0.0))
contact = Contact(friction=0.6)
run = robot.simulate(q, np.zeros(robot.nv), 1.5, law, step=1e-3, contact=contact, record=0.03)
assert run.q[-1, 0] > 0.4 and run.q[-1, 2] > 0.2


camera = Camera(-65, 14, distance=1.5, target=(0, 0, 0.18), follow="trunk")
run.video(Path(__file__).with_suffix(".webp"), fps=15, size=(420, 280), camera=camera)
