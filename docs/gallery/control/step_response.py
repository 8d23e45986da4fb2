"""One error for every pose.

Computed torque makes each joint's error obey ë + 2ζω ė + ω² e = 0, whatever the configuration. Dots are the formula.
"""

import numpy as np

from dalembert import control, load
from drawing import figure, save

robot = load("panda").without("friction", "damping")
goal = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.7, 0.5])
picture, axes = figure(7, 3.2)
t = np.linspace(0, 1, 21)
for omega, zeta in ((10.0, 1.0), (20.0, 1.0), (20.0, 0.4)):
    law = control.computed_torque(robot, goal, omega, damping_ratio=zeta)
    run = robot.simulate(goal - 0.1, np.zeros(7), 1.0, law, record=5e-3)
    (line,) = axes.plot(run.t, 1e3 * (goal - run.q)[:, 3], label=f"ω = {omega:g} rad/s, ζ = {zeta:g}")
    if zeta == 1:
        formula = 100 * (1 + omega * t) * np.exp(-omega * t)
    else:
        wd = omega * np.sqrt(1 - zeta**2)
        formula = 100 * np.exp(-zeta * omega * t) * (np.cos(wd * t) + zeta * omega / wd * np.sin(wd * t))
    axes.plot(t, formula, ".", color=line.get_color())
    assert np.abs(np.interp(t, run.t, 1e3 * (goal - run.q)[:, 3]) - formula).max() < 0.5
axes.set(xlabel="t [s]", ylabel="error of joint 4 [mrad]")
axes.legend()
save(picture, __file__, "webp")
