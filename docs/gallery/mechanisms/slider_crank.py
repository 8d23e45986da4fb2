"""A slider-crank and the force in its pin.

At 30 rad/s inertia rules the wrist pin. The sensor is part of the mechanism and comes back with the run.
"""

import numpy as np
from matplotlib.patches import Rectangle

from dalembert import Mechanism
from drawing import BLUE, GREEN, GREY, RED, animate, film

m = Mechanism("press", gravity=(0, -9.81, 0))
m.ground(A=(0, 0))
m.body("crank", 0.6, 0.001, com=(0.075, 0), points={"pin": (0.15, 0)})
m.body("rod", 0.9, 0.012, com=(0.2, 0), points={"wrist": (0.4, 0)})
m.body("slider", 1.0, 0.002)
m.joint("revolute", "ground.A", "crank.origin", name="pivot", start=0.0, rate=30.0)
m.joint("revolute", "crank.pin", "rod.origin", name="pin")
m.joint("revolute", "rod.wrist", "slider.origin", name="wrist")
m.joint("prismatic", "ground.A", "slider.origin", name="guide", axis=(1, 0, 0))
m.sensor("force", "wrist", name="force")
robot = m.build()
run = robot.simulate(*robot.start, 0.4, record=0.01)
pin, wrist = (robot.pose(run.q, name)[:, :2, 3] for name in ("crank.pin", "rod.wrist"))
force = np.linalg.norm(np.asarray(run.readings["force"])[:, :3], axis=1)


def draw(panels, k):
    above, below = panels
    above.plot([0, pin[k, 0]], [0, pin[k, 1]], color=BLUE, lw=5)
    above.plot([pin[k, 0], wrist[k, 0]], [pin[k, 1], wrist[k, 1]], color=GREEN, lw=4)
    above.add_patch(Rectangle(wrist[k] - [0.06, 0.045], 0.12, 0.09, fc="#d9dde1", ec="black"))
    above.axhline(-0.05, color=GREY)
    above.set(xlim=(-0.2, 0.7), ylim=(-0.2, 0.2), aspect="equal", xlabel="x [m]")
    below.plot(run.t, force, color="#f0c4ca")
    below.plot(run.t[: k + 1], force[: k + 1], color=RED)
    below.set(xlabel="t [s]", ylabel="force in the wrist [N]")


animate(film(draw, len(run.t), 5.2, 4.4, nrows=2, height_ratios=[1.3, 1]), __file__, hold=0)
