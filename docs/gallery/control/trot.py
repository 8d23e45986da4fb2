"""A quadruped trots.

Gait clock, footsteps, planned forces and the whole-body program run as one sampled controller inside the compiled
step, on rigid ground.
"""

import numpy as np

from dalembert import Contact, control, load
from drawing import Scene, animate

robot = load("quadruped")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
q = robot.neutral()
q[7:] = np.tile([0.0, 0.8, -1.6], 4)
q[2] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02
law = control.legs(robot, feet, q, velocity=(0.5, 0.0, 0.0))
contact = Contact(friction=0.6)
run = robot.simulate(q, np.zeros(robot.nv), 1.5, law, step=1e-3, contact=contact, record=0.03)
assert run.q[-1, 0] > 0.4 and run.q[-1, 2] > 0.2


def frame(k):
    scene = Scene((run.q[k, 0], 0, 0.15), 1.6, azimuth=-65, elevation=14, size=(420, 280)).robot(robot, run.q[k])
    for place, force in zip(run.contacts.position[k], run.contacts.force[k], strict=True):
        if force[2] > 5.0:
            scene.arrow(place, 2e-3 * force, 0.006)
    return scene.image()


animate((frame(k) for k in range(len(run.t))), __file__, rate=15)
