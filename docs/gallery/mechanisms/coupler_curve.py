"""A coupler curve.

A point on the coupler of a four-bar draws a closed curve while the crank turns. `robot.sweep` follows the branch on
which the mechanism was put together and knows where it is singular.
"""

import numpy as np

from dalembert import Mechanism
from drawing import BLUE, GREEN, GREY, ORANGE, animate, film

m = Mechanism("four-bar", gravity=(0, -9.81, 0))
m.ground(A=(0, 0), D=(0.4, 0))
m.body("crank", 1.0, 0.01, com=(0.07, 0), points={"B": (0.14, 0)})
m.body("coupler", 1.0, 0.01, com=(0.17, 0), points={"C": (0.35, 0), "P": (0.2, 0.2)})
m.body("rocker", 1.0, 0.01, com=(0.14, 0), points={"C": (0.28, 0)}, xyz=(0.4, 0), angle=1.5)
m.joint("revolute", "ground.A", "crank.origin", name="crank", start=0.6)
m.joint("revolute", "crank.B", "coupler.origin", name="pin")
m.joint("revolute", "ground.D", "rocker.origin", name="rocker")
m.joint("revolute", "coupler.C", "rocker.C", name="joint")
robot = m.build()
sweep = robot.sweep("crank", np.linspace(0.6, 0.6 + 2 * np.pi, 61))
B, C, P = (sweep.path(name)[:, :2] for name in ("crank.B", "coupler.C", "coupler.P"))
assert np.allclose(P[0], P[-1], atol=1e-9)  # the curve closes


def draw(axes, k):
    axes.plot(*P.T, color="#f3cda7")
    axes.plot(*P[: k + 1].T, color=ORANGE, lw=2)
    axes.fill(*np.array([B[k], C[k], P[k]]).T, color="#d6eadf", ec=GREEN, lw=2)
    axes.plot([0, B[k, 0]], [0, B[k, 1]], color=BLUE, lw=4)
    axes.plot([0.4, C[k, 0]], [0, C[k, 1]], color=GREY, lw=4)
    axes.set(xlim=(-0.25, 0.65), ylim=(-0.2, 0.5), aspect="equal", xlabel="x [m]", ylabel="y [m]")


animate(film(draw, 60), __file__, hold=0)
