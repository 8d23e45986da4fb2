"""Watt's straight line.

Two rockers guide a coupler whose middle runs nearly straight, without a slide. How nearly, a sweep tells.
"""

import numpy as np

from dalembert import Mechanism
from drawing import BLUE, GREEN, ORANGE, figure, save

m = Mechanism("watt", gravity=(0, -9.81, 0))
m.ground(A=(-1, 0.25), D=(1, -0.25))
m.body("left", 1.0, 0.1, com=(0.5, 0), points={"B": (1, 0)}, xyz=(-1, 0.25))
m.body("coupler", 0.5, 0.02, com=(0, -0.25), points={"P": (0, -0.25), "C": (0, -0.5)}, xyz=(0, 0.25))
m.body("right", 1.0, 0.1, com=(-0.5, 0), points={"C": (-1, 0)}, xyz=(1, -0.25))
m.joint("revolute", "ground.A", "left.origin", name="left", start=0.0)
m.joint("revolute", "left.B", "coupler.origin", name="pin")
m.joint("revolute", "ground.D", "right.origin", name="right")
m.joint("revolute", "coupler.C", "right.C", name="joint")
robot = m.build()
up, down = (robot.sweep("left", np.linspace(0, end, 40)) for end in (0.5, -0.5))
path = np.concatenate([down.path("coupler.P")[::-1], up.path("coupler.P")])[:, :2]
assert np.abs(path[np.abs(path[:, 1]) < 0.3, 0]).max() < 5e-3

picture, (drawing, error) = figure(7.4, 3.4, ncols=2)
for sweep, k in ((down, 25), (up, 0), (up, 25)):
    B, C = (sweep.path(name)[k, :2] for name in ("left.B", "coupler.C"))
    shade = 1.0 if k == 0 else 0.3
    drawing.plot([-1, B[0]], [0.25, B[1]], color=BLUE, lw=3, alpha=shade)
    drawing.plot([B[0], C[0]], [B[1], C[1]], color=GREEN, lw=3, alpha=shade)
    drawing.plot([1, C[0]], [-0.25, C[1]], color=BLUE, lw=3, alpha=shade)
drawing.plot(*path.T, color=ORANGE, lw=2)
drawing.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
error.plot(1e3 * path[:, 0], path[:, 1], color=ORANGE)
error.set(xlabel="off the straight line [mm]", ylabel="y [m]")
save(picture, __file__, "webp")
