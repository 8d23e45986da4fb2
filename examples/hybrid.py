"""A quadruped whose legs follow a plan while its trunk flies freely: some accelerations are known, some forces."""

import numpy as np

from dalembert import Wrench, load

robot = load("quadruped")
rng = np.random.default_rng(0)
q, v = robot.random(rng), 0.1 * rng.standard_normal(robot.nv)
trunk, *legs = robot.joints
push = [Wrench(force=(0, 0, 30.0), frame=robot.frames[-1].name, axes="world")]

known = np.zeros(robot.nv)  # no force moves the trunk but the push on a foot
known[6:] = rng.standard_normal(robot.nv - 6)  # the legs' accelerations
a, tau = robot.hybrid_dynamics(q, v, known, accelerations=[joint.name for joint in legs], external=push)
print("trunk accelerates by", a[trunk.v].round(2))
print("largest joint torque [N·m]", np.abs(tau).max().round(2))

np.testing.assert_allclose(a[6:], known[6:])
np.testing.assert_allclose(tau[:6], 0.0)
np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, external=push), tau, atol=1e-8)
