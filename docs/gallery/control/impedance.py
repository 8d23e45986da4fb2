"""A tool that gives way.

Cartesian impedance: pushed with 40 N for half a second, a Panda's tool behaves like a mass on a spring of 400 N/m and
comes back.
"""

import numpy as np

from dalembert import control, load
from dalembert.math import where
from drawing import Scene, animate, beside, film

robot = load("panda").without("friction", "damping")
q0 = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
frame_name = "panda_hand_tcp" if any(f.name == "panda_hand_tcp" for f in robot.frames) else robot.joints[-1].child
X = robot.pose(q0, frame_name)
soft = control.impedance(robot, frame_name, X, stiffness=(50.0, 400.0))


def pushed(t, q, v):
    force = where(t > 0.3, where(t < 0.8, -40.0, 0.0), 0.0)
    return soft(t, q, v) + force * robot.jacobian(q, frame_name)[5]


run = robot.simulate(q0, np.zeros(7), 2.0, pushed, "rk4", 1e-3, record=0.05)
sink = 1e3 * (robot.pose(run.q, frame_name)[:, 2, 3] - X[2, 3])
assert abs(sink[np.argmin(np.abs(run.t - 0.79))] + 100) < 15 and abs(sink[-1]) < 5  # 40 N / 400 N/m = 100 mm


def plot(axes, k):
    axes.plot(run.t, sink, color="#c9d8ea")
    axes.plot(run.t[: k + 1], sink[: k + 1])
    axes.axvspan(0.3, 0.8, color="#f7e3d3")
    axes.set(xlabel="t [s], pushed while shaded", ylabel="tool moves [mm]")


def picture(k):
    scene = Scene((0.2, 0, 0.45), 2.1, azimuth=-70, size=(330, 290)).robot(robot, run.q[k])
    if 0.3 < run.t[k] < 0.8:
        tip = robot.pose(run.q[k], frame_name)[:3, 3]
        scene.arrow(tip + [0.06, 0, 0.3], [0, 0, -0.22], 0.01)
    return scene.image()


plots = film(plot, len(run.t), 3.6, 3.6)
animate((beside(picture(k), graph) for k, graph in enumerate(plots)), __file__)
