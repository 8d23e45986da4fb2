"""A free swing and its energy ledger.

An unpowered UR5 falls. Kinetic and potential energy trade places, and the ledger says what the integrator lost on the
way: less than a millionth.
"""

import numpy as np

from dalembert import load
from drawing import Scene, animate, beside, film

robot = load("ur5").without("friction", "damping")
run = robot.simulate(np.array([0.0, -0.4, 0.6, 0.0, 0.5, 0.0]), np.zeros(6), 2.0, record=0.04)
energy = run.energy
assert np.abs(energy.residual).max() < 1e-6 * energy.scale


def plot(axes, k):
    potential = energy.potential - energy.potential.min()
    axes.stackplot(run.t[: k + 1], energy.kinetic[: k + 1], potential[: k + 1], labels=["kinetic", "potential"])
    axes.set(xlim=(0, 2), ylim=(0, 1.15 * (energy.kinetic + potential).max()), xlabel="t [s]", ylabel="energy [J]")
    axes.legend(loc="upper right", fontsize=8)


plots = film(plot, len(run.t), 3.6, 3.75)
scenes = (Scene((0, 0, 0.1), 3.0, size=(330, 300), ground=None).robot(robot, q).image() for q in run.q)
animate((beside(scene, graph) for scene, graph in zip(scenes, plots, strict=True)), __file__)
