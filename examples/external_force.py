"""A force on the tool: the joint torques change by Jᵀ F."""

import numpy as np

from dalembert import Wrench, load

robot = load("ur5")
q = np.array([0.3, -1.2, 1.0, -0.4, 0.9, 0.1])
rest = np.zeros(robot.nv)
frame = robot.joints[-1].child

# 20 N down on the tool, in world axes, and a moment of 1 N·m about its own z axis
push = Wrench(force=(0, 0, -20.0), frame=frame, axes="world")
twist = Wrench(torque=(0, 0, 1.0), frame=frame)

free = robot.inverse_dynamics(q, rest, rest)
pushed = robot.inverse_dynamics(q, rest, rest, external=[push, twist])
print("extra torque [N·m]", (pushed - free).round(3))

R = robot.pose(q, frame)[:3, :3]
F = np.concatenate([R @ [0, 0, 1.0], [0, 0, -20.0]])  # [τ; f] at the tool, world axes
np.testing.assert_allclose(pushed - free, -robot.jacobian(q, frame).T @ F, atol=1e-9)
