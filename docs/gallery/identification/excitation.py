"""A motion that shows the parameters.

A Fourier series for each joint of a UR5e, within ranges, speeds and torques, optimised so that the parameters can be
told apart.
"""

import numpy as np

from dalembert import identify, load
from drawing import figure, save

robot = load("ur5e")
motion = identify.excitation(robot, duration=10.0, starts=1, rate=100.0)
assert np.all(np.abs(motion.v) <= robot.limits.velocity + 1e-9)
picture, (angles, speeds) = figure(7.6, 4.0, nrows=2, sharex=True)
for k, joint in enumerate(robot.joints):
    angles.plot(motion.t, motion.q[:, k], label=joint.name.removesuffix("_joint"))
    speeds.plot(motion.t, motion.v[:, k])
angles.set(ylabel="q [rad]", title=f"condition number of the base regressor {motion.condition:.0f}")
speeds.set(xlabel="t [s]", ylabel="v [rad/s]")
angles.legend(fontsize=7, ncols=3)
save(picture, __file__, "webp")
