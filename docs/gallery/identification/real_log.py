"""A real robot, before and after.

Torques of a KUKA LWR4 along a motion that was not fitted: measured, of the file, and of the model identified from
another log.
"""

from pathlib import Path

import numpy as np

from dalembert import identify, load
from drawing import figure, save

data = Path(__file__).parents[3] / "tests" / "refs" / "data"
robot = load(data / "lwr4.urdf")
log, other = (identify.read_log(data / f"lwr4_log_{k}.npz", robot) for k in (1, 2))
fit = identify.fit(robot, log)
verdict = fit.validate(other)
assert verdict.calibrated_percent < 3
q, v, a = (np.asarray(x) for x in (other.q, other.v, other.a))
before, after = robot.inverse_dynamics(q, v, a), fit.robot.inverse_dynamics(q, v, a)
picture, panels = figure(8, 5.0, nrows=3, sharex=True)
for axes, k in zip(panels, (1, 3, 2), strict=True):
    axes.plot(other.t, other.tau[:, k], color="#b9c0c7", lw=3, label="measured")
    axes.plot(other.t, before[:, k], lw=1, label="file")
    axes.plot(other.t, after[:, k], lw=1, label="identified")
    axes.set(ylabel=f"joint {k + 1} [N·m]")
panels[0].legend(fontsize=8, ncols=3)
title = f"{verdict.total_percent:.1f} % of the torque is left over"
panels[0].set_title(f"{title}, {verdict.calibrated_percent:.1f} % without sensor offsets")
panels[-1].set_xlabel("t [s]")
save(picture, __file__, "webp", dpi=90)
