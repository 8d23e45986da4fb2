"""A quadruped trots without knowing where it is: its base is estimated from an IMU with constant errors and its legs.

`python estimated.py view` shows it in the browser.
"""

import sys

import numpy as np

from dalembert import Contact, control, load

robot = load("quadruped")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
q = robot.neutral()
q[7:] = np.tile([0.0, 0.8, -1.6], 4)
q[2] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02  # feet of 2 cm radius on the ground

sensors = control.Sensors(gyroscope=(2e-3, -2e-3, 1e-3), accelerometer=(0.05, -0.05, 0.05))  # rad/s, m/s²
law = control.legs(robot, feet, q, velocity=(0.5, 0.0, 0.0), sensors=sensors)
run = robot.simulate(q, np.zeros(robot.nv), 4.0, law, step=1e-3, contact=Contact(friction=0.6))
speed = (run.q[-1, 0] - run.q[-201, 0]) / (run.t[-1] - run.t[-201])
print(f"after {run.t[-1]:g} s: {run.q[-1, 0]:.2f} m on, and {1e2 * run.q[-1, 1]:.1f} cm to the left of its line")
print(f"speed in the end: {speed:.3f} m/s, 0.5 m/s was asked for")
assert abs(speed - 0.5) < 0.05 and abs(run.q[-1, 1]) < 0.1
assert abs(run.q[-1, 2] - q[2]) < 0.02 and np.abs(run.q[-1, 4:6]).max() < 0.05
if "view" in sys.argv:
    run.view()
