"""A quadruped is pushed and stands again.

Whole-body control as one quadratic program per tick, at 500 Hz, and contact with the ground, in one compiled loop.
"""

import numpy as np

from dalembert import Contact, Sampled, control, load
from drawing import Scene, animate

robot = load("quadruped")
q = robot.neutral()
q[7:] = np.tile([0.0, 0.8, -1.6], 4)
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
q[2] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02
tasks = [control.Frame(frame="trunk", goal=robot.pose(q, "trunk"), weight=100.0), control.Posture(goal=q)]
law = control.whole_body(robot, tasks, [control.Support(frame=foot, friction=0.6) for foot in feet])
push = np.zeros(18)
push[4] = 0.5  # m/s to the side
contact = Contact(ground=0.0, friction=0.8)
run = robot.rollout(q, push, Sampled(law, 2e-3), 1e-3, 1000, contact=contact, every=25)
states = np.asarray(run.q)
assert abs(states[-1, 1]) < 0.02 and states[-1, 2] > 0.2


def frame(k):
    scene = Scene((0, 0, 0.18), 1.5, azimuth=-35, elevation=15, size=(400, 300)).robot(robot, states[k])
    if k < 8:
        scene.arrow(states[k, :3] + [0, -0.45, 0.02], [0, 0.28, 0], 0.012)
    return scene.image()


animate((frame(k) for k in range(len(states))), __file__, rate=15)
