"""A quadruped trots up a step of 5 cm: planner at 40 Hz, whole-body program at 500 Hz, torques at 1 kHz.

`python step.py view` shows it in the browser.
"""

import sys

import numpy as np

from dalembert import Contact, control, load
from dalembert.math import where

robot = load("quadruped")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
q = robot.neutral()
q[7:] = np.tile([0.0, 0.8, -1.6], 4)
q[2] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02  # feet of 2 cm radius on the ground


def ground(x, y):
    return where(x < 0.6, 0.0, 0.05)  # [m]


law = control.legs(robot, feet, q, velocity=(0.5, 0.0, 0.0), ground=ground, clearance=0.1)
run = robot.simulate(q, np.zeros(robot.nv), 3.0, law, step=1e-3, contact=Contact(terrain=ground, friction=0.6))
contacts = run.contacts
print(f"after {run.t[-1]:g} s: {run.q[-1, 0]:.2f} m on, {1e2 * (run.q[-1, 2] - q[2]):.1f} cm up")
print(f"speed in the last second: {run.q[-1, 0] - run.q[-101, 0]:.3f} m/s, 0.5 m/s was asked for")
print(f"largest force of a foot: {contacts.normal_force.max():.0f} N; it weighs {9.81 * robot.total_mass:.0f} N")
assert min(robot.pose(run.q[-1], foot)[0, 3] for foot in feet) > 0.6  # all feet are on the step
assert abs(run.q[-1, 0] - run.q[-101, 0] - 0.5) < 0.05
assert abs(run.q[-1, 2] - q[2] - 0.05) < 0.02 and contacts.unsettled == 0
if "view" in sys.argv:
    run.view()
