"""Torques for a planned motion of a UR5: positions, velocities and accelerations in, one batch call, torques out."""

import numpy as np

from dalembert import load

robot = load("ur5")
start = np.array([0, -np.pi / 2, np.pi / 2, 0, np.pi / 2, 0])
t = np.linspace(0, 1, 501)[:, None]  # s
ones = np.ones(robot.nv)

# 0.5 rad on each joint, at rest at both ends
q = start + 0.5 * (10 * t**3 - 15 * t**4 + 6 * t**5)
v = 0.5 * (30 * t**2 - 60 * t**3 + 30 * t**4) * ones
a = 0.5 * (60 * t - 180 * t**2 + 120 * t**3) * ones

tau = robot.inverse_dynamics(q, v, a)
for joint in robot.joints:
    print(f"{joint.name:20s} peak torque {np.abs(tau[:, joint.v]).max():7.3f} N·m")

# The torques do what they are for: they give the planned accelerations.
np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-9)

# Work of the joints = change of energy.
power = (tau * v).sum(axis=1)
work = ((power[1:] + power[:-1]) / 2 * np.diff(t[:, 0])).sum()
gain = robot.energy(q[-1], v[-1]) - robot.energy(q[0], v[0])
print(f"work {work:.4f} J, gain of energy {gain:.4f} J")
np.testing.assert_allclose(work, gain, atol=1e-3)
