"""Friction from slow sweeps.

Each joint moves at constant speeds both ways; gravity cancels, and what is left is the friction curve with its
Stribeck dip.
"""

import numpy as np

from dalembert import Log, identify, load
from drawing import BLUE, ORANGE, figure, save

robot = load("2r")
rng = np.random.default_rng(1)
speeds = np.concatenate([s * np.geomspace(0.02, 1.5, 10) for s in (1, -1)])
rows, rate = [], 200.0
for speed in speeds:
    t = np.arange(0, 2.0, 1 / rate)
    position = speed * (t - 1.0)
    rows.append(np.column_stack([position, 0.5 * position, np.full_like(t, speed), np.full_like(t, 0.5 * speed)]))
samples = np.concatenate(rows)
q, v = samples[:, :2], samples[:, 2:]


def truth(v):
    return np.sign(v) * (0.8 + 0.5 * np.exp(-((v / 0.1) ** 2))) + 0.4 * v


tau = robot.inverse_dynamics(q, v, 0 * v) + truth(v) + rng.normal(0, 0.05, v.shape)
log = Log(robot, np.arange(len(q)) / rate, q, v, 0 * v, tau)
found = identify.friction_sweep(robot, log)
curve = found.joints[0]
assert abs(curve.coulomb - 0.8) < 0.1 and abs(curve.viscous - 0.4) < 0.1
picture, axes = figure(6.4, 3.6)
left = (tau - robot.inverse_dynamics(q, v, 0 * v))[:, 0]
means = [left[v[:, 0] == speed].mean() for speed in speeds]
axes.plot(v[::20, 0], left[::20], ".", color="#d5dbe1", ms=2)
axes.plot(speeds, means, "o", color=BLUE, label="mean of each sweep")
fine = np.linspace(-1.6, 1.6, 400)
axes.plot(fine, truth(fine), color=ORANGE, label="the friction behind the data")
axes.set(xlabel="joint speed [rad/s]", ylabel="friction [N·m]")
axes.legend()
save(picture, __file__, "webp")
