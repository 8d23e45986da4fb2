"""Pinocchio, simulation-contact-dynamics: a humanoid on two welded soles follows a posture (pin 4.1.0).

The original, for this library's humanoid: 65 statements, 110 us a step in a loop of Python. This: 22, 4.8 us, the law
with its least squares compiled. One step agrees to rounding. After 5 s the states are 1.5e-4 apart, since nothing holds
the original's soles where they were welded: they drift by the errors of its steps.
"""

import numpy as np
from port import picture, seconds

from dalembert import load
from dalembert.spatial import Pose

STEP = [
    1.8927881362937649,
    -8.481896066863069,
    5.091258414709045,
]  # of pin: speeds after one step along two directions, and their norm
END = [
    -0.156155204992,
    -0.005286598518,
    0.956017668639,
    0.982589318491,
    -0.016645355187,
    -0.184560772423,
    -0.013359813612,
]  # of pin: the pelvis after 5 s
robot = load("humanoid").without("friction", "damping")
start = robot.neutral()
start[2] = 1.0
for name, angle in (("hip_pitch", -0.4), ("knee_pitch", 0.8), ("ankle_pitch", -0.4)):
    for side in ("left", "right"):
        start[robot.joint(f"{side}_{name}").q] = angle
goal = robot.integrate(start, np.r_[np.zeros(6), 0.05 * (1.0 + np.sin(np.arange(30)))])
edit = robot.edit()
soles = ("left_sole", "right_sole")
for sole in soles:
    edit = edit.add_closure(sole, "weld", a=sole, b="world", placement_b=Pose.from_matrix(robot.pose(start, sole)))
welded = edit.done()


def law(t, q, v):
    rows = [np.eye(36)[6:]] + [robot.jacobian(q, sole) for sole in soles]
    torque = np.linalg.lstsq(np.concatenate(rows).T, robot.bias(q, v))[0][:30]
    return np.concatenate([np.zeros(6), torque - 30.0 * (q[7:] - goal[7:]) - 0.05 * np.sqrt(30.0) * v[6:]])


run = welded.rollout(start, np.zeros(36), law, step=5e-3, steps=1000, every=1)
k = np.arange(36)
directions = np.array([np.sin(k + 1), np.cos(k + 1)])
np.testing.assert_allclose([*directions @ run.v[0], np.linalg.norm(run.v[0])], STEP, rtol=1e-12)
np.testing.assert_allclose(run.q[-1, :7], END, atol=3e-4)
elapsed = seconds(lambda: welded.rollout(start, np.zeros(36), law, step=5e-3, steps=1000), 5)
print(f"the pelvis after 5 s: {run.q[-1, :3]}; {1e3 * elapsed:.1f} us a step, pin and NumPy 110 us")
picture(lambda path: robot.render(run.q[-1], path))
