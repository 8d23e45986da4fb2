"""As fast as the motors allow.

The shortest time through four points: at every instant some limit of velocity, acceleration or torque is reached, and
none is passed.
"""

import numpy as np

from dalembert import load, motion
from drawing import figure, save

robot = load("ur5")
points = np.array([
    [0.0, -1.2, 1.5, -1.0, -1.5, 0.0],
    [0.8, -0.7, 0.9, -0.6, -1.2, 0.5],
    [0.3, -1.6, 1.9, -1.3, -1.8, 1.0],
    [-0.5, -1.0, 1.2, -1.0, -1.5, 0.0],
])  # fmt: skip
move = motion.time_optimal(points, motion.Limits(robot=robot, acceleration=15.0))
t = np.linspace(0, move.duration, 1001)
state = move.at(t)
use = {
    "velocity": np.abs(state.v) / robot.limits.velocity,
    "acceleration": np.abs(state.a) / 15.0,
    "torque": np.abs(robot.inverse_dynamics(*state)) / robot.limits.effort,
}
picture, axes = figure(7.4, 3.2)
for name, share in use.items():
    axes.plot(t, share.max(axis=1), label=name)
    assert share.max() < 1 + 1e-6
axes.axhline(1, color="black", lw=1, ls="--")
axes.set(xlabel="t [s]", ylabel="share of the limit, worst joint", title=f"{move.duration:.2f} s through four points")
axes.legend()
save(picture, __file__, "webp")
