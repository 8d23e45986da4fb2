"""A gripper whose right finger mimics the left one: one coordinate drives both."""

import numpy as np

from dalembert import ModelBuilder

box = {"mass": 0.2, "com": (0, 0, 0.05), "inertia": np.diag([2e-4, 2e-4, 1e-5])}
finger = {"joint": "prismatic", "axis": (0, 1, 0), "lower": 0.0, "upper": 0.04, "damping": 2.0, **box}


def gripper(coupled):
    builder = ModelBuilder("gripper")
    builder.add_body("hand", parent="world", joint="revolute", axis=(1, 0, 0), **box)
    builder.add_body("left", parent="hand", joint_name="left_slide", xyz=(0, 0, 0.1), **finger)
    mimic = ("left_slide", 1.0, 0.0) if coupled else None
    turned = {"xyz": (0, 0, 0.1), "rpy": (0, 0, np.pi)}
    builder.add_body("right", parent="hand", joint_name="right_slide", mimic=mimic, **turned, **finger)
    return builder.build()


robot, free = gripper(coupled=True), gripper(coupled=False)
for joint in robot.joints:
    print(f"{joint.name:12} q[{joint.q.start}]", f"follows {joint.leader}" if joint.leader else "")
assert (robot.nv, free.nv) == (2, 3)

# the right finger's row of the free gripper is added to the left one's
q, v, a = np.array([0.3, 0.02]), np.array([1.0, -0.1]), np.array([0.5, 2.0])
G = np.array([[1, 0], [0, 1], [0, 1]])
tau = robot.inverse_dynamics(q, v, a)
print("tau", tau.round(4))
np.testing.assert_allclose(tau, G.T @ free.inverse_dynamics(G @ q, G @ v, G @ a), atol=1e-12)
np.testing.assert_allclose(robot.mass_matrix(q), G.T @ free.mass_matrix(G @ q) @ G, atol=1e-12)
np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-9)
