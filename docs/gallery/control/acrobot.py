"""An acrobot swings itself up.

One motor, in the elbow. Energy shaping pumps, a linear regulator catches: the hand-over is where the regulator's cost
is small enough to hold.
"""

import numpy as np

from dalembert import control, load
from drawing import BLUE, GREY, ORANGE, animate, film

robot, top = load("acrobot"), np.array([np.pi, 0.0])
hold = control.lqr(robot, top)
law = control.energy_shaping(robot, top, hold=hold)
run = robot.simulate([0.05, 0.0], [0.0, 0.0], 40.0, law, "rk4", 2e-3, record=0.05)
near = np.array([bool(law.near(q, v)) for q, v in zip(run.q, run.v, strict=True)])
caught = int(np.argmax(near))
assert near[-100:].all()
first = max(0, caught - 70)
places = np.array([[robot.pose(q, joint.child)[:3, 3] for joint in robot.joints] for q in run.q])
length = np.linalg.norm(places[0, 1] - places[0, 0])
angle = run.q[:, 0] + run.q[:, 1]


def draw(axes, k):
    k += first
    a, b = run.q[k, 0], run.q[k].sum()
    elbow = length * np.array([np.sin(a), -np.cos(a)])
    tip = elbow + length * np.array([np.sin(b), -np.cos(b)])
    axes.plot([0, elbow[0]], [0, elbow[1]], color=BLUE, lw=5)
    axes.plot([elbow[0], tip[0]], [elbow[1], tip[1]], color=ORANGE, lw=5)
    axes.plot(0, 0, "s", color=GREY)
    words = "caught by the regulator" if k >= caught else "pumping energy"
    axes.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), aspect="equal", title=f"t = {run.t[k]:.1f} s, {words}")
    axes.set(xlabel="x [m]", ylabel="height [m]")


animate(film(draw, 95, 3.8, 4.0), __file__, rate=18)
