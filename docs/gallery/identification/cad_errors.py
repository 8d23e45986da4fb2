"""What CAD errors do to a torque.

Two thousand UR5s whose masses are off by −10 to +30 % and whose inertias by ±35 %, as drawings often are: the peak
torque of a move, all in one batched call with live parameters.
"""

import numpy as np

from dalembert import load, motion
from drawing import figure, save

robot = load("ur5")
rng = np.random.default_rng(0)
q0 = np.array([0, -np.pi / 2, np.pi / 2, 0, np.pi / 2, 0])
samples = motion.quintic(q0, q0 + 0.5, duration=1.0).sample(0.02)
torque = robot.compile("inverse_dynamics", live=("inertia",))
parameters = robot.live_values("inertia").reshape(-1, 10)
mass = 1 + rng.uniform(-0.1, 0.3, (2000, len(parameters), 1))
inertia = 1 + rng.uniform(-0.35, 0.35, (2000, len(parameters), 1))
sets = np.concatenate([mass * parameters[:, :4], inertia * parameters[:, 4:]], axis=-1).reshape(2000, 1, -1)
tau = torque(samples.q, samples.v, samples.a, sets)  # (2000, n, 6)
peaks = np.abs(tau).max(axis=1)
nominal = np.abs(robot.inverse_dynamics(samples.q, samples.v, samples.a)).max(axis=0)
picture, panels = figure(8.4, 2.7, ncols=3)
for axes, k in zip(panels, (1, 2, 3), strict=True):
    axes.hist(100 * (peaks[:, k] / nominal[k] - 1), bins=40)
    axes.axvline(0, color="black", lw=1)
    axes.set(xlabel="peak torque off by [%]", title=robot.joints[k].name.removesuffix("_joint"))
panels[0].set_ylabel("robots")
assert 0.0 < np.median(peaks[:, 1] / nominal[1] - 1) < 0.2  # masses are mostly too small in drawings
save(picture, __file__, "webp")
