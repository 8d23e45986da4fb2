"""MuJoCo, LQR notebook: a humanoid balances on one leg, on MuJoCo's soft contacts (mujoco 4.0.0).

The original searches the height at which the feet carry the weight, solves for the torques, linearises by differences
and solves the Riccati equation: 144 statements, here for this library's humanoid. This: 19. MuJoCo finds the same
torques at rest, and with this regulator the same motion after a push. A step of the rollout takes 13 us, of mj_step
alone 26, with its Python 35.
"""

import numpy as np
from port import picture, seconds

from dalembert import Contact, control, load
from dalembert.pictures import Camera

TORQUES = [
    -3.796059903078189,
    62.92634210398179,
    11.026522062981172,
    -57.1014992755709,
    -47.65369677250835,
    -7.8861241691170205,
]  # of mj_inverse, left leg, at rest
AFTER = [-0.0034135903, -0.0302860561, 0.9723107030, 0.9996960738, 0.0097612644, 0.0204334903, -0.0097442403]

robot, soft = load("humanoid").without("friction"), Contact(model="mujoco", pairs="ground", friction=1.0)
q = robot.neutral()
POSE = {"right_hip_pitch": -0.6, "right_knee_pitch": 1.0, "left_hip_roll": -0.115, "left_ankle_roll": 0.115}
POSE |= {"left_hip_pitch": -0.15, "left_knee_pitch": 0.3, "left_ankle_pitch": -0.15, "left_elbow_pitch": -0.3}
POSE |= {"right_elbow_pitch": -0.3, "left_shoulder_roll": 0.2, "right_shoulder_roll": -0.2}
for name, angle in POSE.items():
    q[robot.joint(name).q] = angle
rest = robot.equilibrium(q, contact=soft)
balance = robot.center_of_mass_jacobian(rest.q) - robot.jacobian(rest.q, "left_foot")[3:]
weights = np.zeros((72, 72))
weights[:36, :36] = 1e3 * balance.T @ balance + np.diag(np.r_[np.zeros(6), np.full(30, 100.0)])
law = control.lqr(robot, rest.q, weights, R=1e-2, contact=soft, tau=rest.tau)
push = np.zeros(36)
push[[3, 4, 7]] = 0.05, 0.05, 0.1
end = robot.rollout(rest.q, push, law, 2e-3, 500, contact=soft)
late = robot.rollout(rest.q, push, law, 2e-3, 2500, contact=soft)

np.testing.assert_allclose(rest.tau[24:30], TORQUES, rtol=1e-7)
np.testing.assert_allclose(end.q[:7], AFTER, atol=1e-9)
assert np.abs(robot.difference(rest.q, late.q)).max() < 0.01, "it stands"
elapsed = seconds(lambda: robot.rollout(rest.q, push, law, 2e-3, 500, contact=soft))
print(f"the pelvis after 1 s {end.q[:3]}; {2e3 * elapsed:.0f} us a step, mj_step alone 26 us, with its Python 35 us")
picture(lambda path: robot.render(rest.q, path, camera=Camera(azimuth=40, elevation=10)))
