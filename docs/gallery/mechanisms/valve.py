"""A hydraulic valve closes.

A boom is lifted at constant piston speed until the valve shuts. The oil trapped in cylinder and hoses is a spring,
and the arm swings on it: the longer the hose, the softer.
"""

from dataclasses import replace

import numpy as np

from dalembert import load
from dalembert.mechanism import Cylinder, at_joint
from drawing import figure, save

arm = load("hydraulic")
pose = np.array([0.0, 0.5, -0.9, 0.4, 0.0])
held = arm.edit().lock(joint1=pose[0], joint3=pose[2], joint4=pose[3], joint5=pose[4]).done()
picture, axes = figure(7, 3.2)
for hose in (1e-3, 4e-3, 1.6e-2):
    size = {"bore": 0.1, "rod": 0.05, "stroke": 0.6, "damping": 2e4}
    lift = Cylinder("lift", "lift_cylinder_base", "lift_cylinder_rod", **size, hose=hose, speed=0.05, closure=0.5)
    seen = at_joint(arm, pose, lift, "joint2")
    lift = replace(lift, preload=held.gravity(pose[1:2])[0] / seen.lever)  # the oil carries the weight from the start
    run = held.simulate(pose[1:2], [seen.rate], duration=2.0, elements=[lift], integrator="rk23", record=2e-3)
    assert np.abs(run.v[run.t < 0.45, 0] / seen.rate - 1).max() < 0.2 and run.v[:, 0].min() < 0.0
    axes.plot(run.t, run.v[:, 0], label=f"hose of {1e3 * hose:g} l")
axes.axvline(0.5, color="black", lw=1, ls="--")
axes.set(xlabel="t [s], the valve closes at 0.5 s", ylabel="boom [rad/s]")
axes.legend()
save(picture, __file__, "webp")
