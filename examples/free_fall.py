"""A robot on a free base without torques or contact falls with g, and its joints do not move."""

import numpy as np

from dalembert import load

robot = load("quadruped").without("damping", "friction", "springs")
q = robot.random(np.random.default_rng(1))
rest = np.zeros(robot.nv)
a = robot.forward_dynamics(q, rest, rest)

base = robot.joints[0]
R = robot.pose(q, base.child)[:3, :3]
linear = R @ a[base.v][3:]  # body axes to world axes
print("acceleration of the base [m/s²]", linear.round(6), " joints [rad/s²] at most", np.abs(a[6:]).max().round(9))
np.testing.assert_allclose(linear, [0, 0, -9.81], atol=1e-8)
np.testing.assert_allclose(a[6:], 0, atol=1e-7)
np.testing.assert_allclose(a[:3], 0, atol=1e-7)
