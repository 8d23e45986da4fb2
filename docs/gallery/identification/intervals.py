"""What the log tells, and what it does not.

Identified base parameters of a SCARA arm with their 95 % intervals, beside the true ones. Wide bars are parameters
that the motion hardly shows.
"""

import numpy as np

from dalembert import Log, identify, load
from drawing import BLUE, ORANGE, figure, save

robot = load("scara")
rng = np.random.default_rng(0)
motion = identify.excitation(robot, 10.0, rate=100.0, starts=1)
noise = (
    rng.normal(0, 1, motion.v.shape) * 0.02 * np.abs(robot.inverse_dynamics(motion.q, motion.v, motion.a)).max(axis=0)
)
tau = robot.inverse_dynamics(motion.q, motion.v, motion.a) + noise
fit = identify.fit(robot, Log(robot, motion.t, motion.q, motion.v, motion.a, tau), method="weighted", friction=())
values, wide = fit.base_values, 1.96 * np.sqrt(np.diag(fit.covariance))
true = fit.base.matrix @ np.concatenate([robot.live_values("inertia").reshape(-1, 10)[1:].ravel()])
assert np.mean(np.abs(values - true) <= 1.5 * wide) > 0.9
picture, axes = figure(7.2, 3.2)
k = np.arange(len(values))
axes.errorbar(k, values, wide, fmt="o", color=BLUE, capsize=3, label="identified, 95 %")
axes.plot(k, true, "_", color=ORANGE, ms=14, mew=2, label="true")
axes.set(xlabel="base parameter", ylabel="value [kg, kg·m, kg·m²]")
axes.set_yscale("symlog", linthresh=1e-2)
axes.set_xticks(k)
axes.legend()
save(picture, __file__, "webp")
