"""What each term of the model is worth.

A UR5 follows the same motion at four speeds under the same PD, with more and more of the model fed forward. Bars are
the largest error on the way.
"""

import numpy as np

from dalembert import control, load, motion
from drawing import figure, save

robot = load("ur5").without("friction", "damping")
q0 = np.array([0.0, -1.4, 1.5, -1.0, -1.5, 0.0])
speeds, errors = (0.15, 0.3, 0.6, 1.2), {}
for peak in speeds:
    move = motion.quintic(q0, q0 + [1.2, 0.5, -0.8, 0.5, 0.6, 0.4], duration=1.875 * 1.2 / peak, robot=robot)
    laws = {
        "gravity": control.gravity_pd(robot, move, frequency=10.0),
        "M a + g, no C": control.feedforward(robot, move, 10.0, coriolis=False),
        "all of it": control.feedforward(robot, move, 10.0),
    }
    for name, law in laws.items():
        run = robot.simulate(q0, np.zeros(6), move.duration, law, "rk4", 1e-3, record=0.02)
        errors.setdefault(name, []).append(1e3 * np.abs(run.q - move.q(run.t)).max())
assert max(errors["all of it"]) < 1e-3 * min(errors["gravity"])
picture, axes = figure(7, 3.2)
x = np.arange(len(speeds))
for k, (name, values) in enumerate(errors.items()):
    axes.bar(x + 0.27 * (k - 1), values, 0.25, label=name)
axes.set(xlabel="peak speed [rad/s]", ylabel="largest error [mrad]", yscale="log")
axes.set_xticks(x, speeds)
axes.set_ylim(top=1e6)
axes.legend(ncols=3, loc="upper center")
save(picture, __file__, "webp")
