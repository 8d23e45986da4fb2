"""A cart swings its pole up.

With 10 N on a short rail it cannot lift the pole at once: the cheapest plan swings first. Force and rail are hard
limits.
"""

import numpy as np
from matplotlib.patches import Rectangle

from dalembert import load
from drawing import BLUE, GREY, ORANGE, animate, film

robot = load("cartpole").without("friction")
problem = robot.optimal_control(
    lambda q, v, u: {"effort": (1e-2, u), "speed": (1e-3, v)},
    lambda q, v: {"up": (1e3, q), "rest": (1e2, v)},
    step=0.02,
    nodes=100,
    limits=("torque", "position"),
    integrator="rk4",
)
plan = problem.solve([0.0, np.pi])
assert plan.converged and np.abs(plan.u).max() <= 10 + 1e-6


def draw(panels, k):
    k = min(2 * k, 99)
    cart, force = panels
    x, angle = plan.q[k]
    cart.add_patch(Rectangle((x - 0.15, -0.08), 0.3, 0.16, fc=BLUE))
    cart.plot([x, x + np.sin(angle)], [0, np.cos(angle)], color=ORANGE, lw=4)
    cart.axhline(-0.1, color=GREY)
    cart.set(xlim=(-1.6, 1.6), ylim=(-1.15, 1.15), aspect="equal", xlabel="x [m]")
    force.step(plan.t[:-1], plan.u[:, 0], color="#c9d8ea", where="post")
    force.step(plan.t[: k + 1], plan.u[: k + 1, 0], color=BLUE, where="post")
    force.set(xlabel="t [s]", ylabel="force [N]")


animate(film(draw, 51, 5.0, 4.8, nrows=2, height_ratios=[2.2, 1]), __file__)
