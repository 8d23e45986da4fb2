"""Configurations for given poses: one, a thousand at once, only a position, and one that is out of reach."""

import numpy as np

from dalembert import DalembertError, load

robot, tool = load("ur5"), "tool0"
rng = np.random.default_rng(0)

target = robot.pose(robot.random(rng), tool)
found = robot.inverse_kinematics(target, tool)
print("q [rad]", found.q.round(4), " away from the limits by", round(found.limit_distance, 2), "rad")
np.testing.assert_allclose(robot.pose(found.q, tool), target, atol=2e-8)

targets = robot.pose(robot.random(rng, 1000), tool)
many = robot.inverse_kinematics(targets, tool)
print(f"{many.success.sum()} of 1000 poses reached, in {many.iterations.mean():.0f} steps on average")
np.testing.assert_allclose(robot.pose(many.q[many.success], tool), targets[many.success], atol=2e-8)
assert many.success.mean() > 0.99

point = robot.inverse_kinematics((0.4, 0.2, 0.5), tool)  # any orientation
np.testing.assert_allclose(robot.pose(point.q, tool)[:3, 3], (0.4, 0.2, 0.5), atol=2e-8)

try:
    robot.inverse_kinematics((2.0, 0.0, 0.0), tool)
except DalembertError as error:
    print(error)
nearest = robot.inverse_kinematics((2.0, 0.0, 0.0), tool, check=False)
assert not nearest.success and nearest.position_error > 1.0
