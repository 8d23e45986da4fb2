"""What a move costs, term by term.

The torque of a UR5's joints along a one-second quintic: inertia, Coriolis and gravity. Gravity is most of it.
"""

import numpy as np

from dalembert import load, motion
from drawing import figure, save

robot = load("ur5").edit().payload(5.0, frame="tool0").done()
q0 = np.array([0, -np.pi / 2, np.pi / 2, 0, np.pi / 2, 0])
samples = motion.quintic(q0, q0 + 0.5, duration=1.0).sample(1e-2)
q, v, a = samples.q, samples.v, samples.a
gravity = robot.gravity(q)
parts = {
    "gravity": gravity,
    "inertia M a": np.einsum("tij,tj->ti", robot.mass_matrix(q), a),
    "Coriolis C v": robot.bias(q, v) - gravity,
    "all": robot.inverse_dynamics(q, v, a),
}
assert np.allclose(sum(list(parts.values())[:3]), parts["all"], atol=1e-9)
picture, panels = figure(8.4, 2.9, ncols=3)
for axes, k in zip(panels, (1, 2, 3), strict=True):
    for name, tau in parts.items():
        axes.plot(samples.t, tau[:, k], label=name, lw=2.5 if name == "all" else 1.3)
    axes.set(xlabel="t [s]", title=robot.joints[k].name.removesuffix("_joint"))
panels[0].set_ylabel("N·m")
panels[0].legend(fontsize=7)
save(picture, __file__, "webp")
