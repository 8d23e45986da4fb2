"""mink, humanoid_g1: seven tasks for feet, hands, pelvis, posture and the centre of mass (mink 1.3.0, daqp 0.11.0).

The original, with this library's humanoid saved as MJCF: 47 statements, 107 us a tick. This: 20, 13 us. The pelvis
comes to the same place to 5 um, the joints to 1.2 mrad: the error of position in mink's tasks for the hands turns with
the hands, whose orientation is free.
"""

import numpy as np
from port import picture, seconds

from dalembert import control, load

PELVIS = [0.030117211, 0.032590547, 0.841221609]
JOINTS = [
    -0.2400, -0.3470, -0.0000, 0.0191, 0.1222, 0.0712, 0.0507, -0.9464, -0.0000, -0.0993,
    0.0179, 0.1193, -0.0790, -0.0819, -1.2161, -0.0001, -0.1822, -0.0251, 0.0000, -0.0449,
    -0.5079, 1.0956, -0.5875, 0.0450, 0.0000, -0.0449, -0.5079, 1.0955, -0.5875, 0.0450,
]  # fmt: skip

edit = load("humanoid").edit()
for joint in load("humanoid").joints[1:]:
    edit = edit.set_joint(joint.name, velocity_limit=1e4)  # MJCF has no limits of speed
robot = edit.done()
q = robot.neutral()
q[2] = 0.9
for side in ("left", "right"):
    for joint, angle in (("hip_pitch", -0.4), ("knee_pitch", 0.8), ("ankle_pitch", -0.4), ("elbow_pitch", -0.6)):
        q[robot.joint(f"{side}_{joint}").q] = angle

tasks = [
    control.Frame(frame="pelvis", goal=robot.pose(q, "pelvis"), weight=[100.0] * 3 + [0.0] * 3, gain=1.0),
    control.Posture(goal=q, weight=[0.0] * 6 + [0.01] * 30, gain=1.0),
    control.CenterOfMass(goal=robot.center_of_mass(q) + np.array([0.02, 0.03, -0.05]), weight=200.0**2, gain=1.0),
]
for side, move in (("right", [0.1, -0.1, 0.2]), ("left", [0.2, 0.0, 0.1])):
    sole, palm = robot.pose(q, f"{side}_sole"), robot.pose(q, f"{side}_palm")[:3, 3] + move
    weight = [100.0] * 3 + [200.0**2] * 3
    tasks.append(control.Frame(frame=f"{side}_sole", goal=sole, weight=weight, gain=1.0, lm_damping=1.0))
    tasks.append(control.Frame(frame=f"{side}_palm", goal=palm, weight=16.0, gain=1.0, lm_damping=1.0))
tick = control.inverse_kinematics(robot, tasks, step=2e-3, damping=np.sqrt(0.1))
for _ in range(500):
    q = robot.integrate(q, tick(q))

np.testing.assert_allclose(q[:3], PELVIS, atol=1e-5)
np.testing.assert_allclose(q[7:], JOINTS, atol=2e-3)
print(f"the pelvis at rest {q[:3]}; {1e6 * seconds(lambda: tick(q), 500):.0f} us a tick, mink 107 us")
picture(lambda path: robot.render(q, path))
