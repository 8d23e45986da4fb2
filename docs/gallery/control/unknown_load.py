"""A load that nobody mentioned.

A UR5e follows a motion when 3 kg are hung on its tool. A momentum observer, which knows the bare arm only, feels the
weight, turns it into a mass, and the controller carries it from then on. Without that the tool sags.
"""

import numpy as np

from dalembert import Sampled, control, load, motion
from dalembert.control import observer
from drawing import BLUE, GREEN, GREY, ORANGE, Scene, beside, figure, pixels

PERIOD, MASS, HUNG = 1e-3, 3.0, 1.0  # s, kg, s
arm = load("ur5e").without("friction", "damping")
loaded = arm.edit().payload(MASS, frame="tool0").done()
start = np.array([0.0, -1.3, 1.6, -1.9, -1.57, 0.0])
move = motion.quintic(start, start + [0.8, 0.4, -0.4, 0.2, 0.0, 0.0], duration=4.0)


class Carrying:
    """Computed torque of the bare arm, and the weight that the observer sees at the tool if `carries`."""

    def __init__(self, carries):
        self.law = control.computed_torque(arm, move, frequency=8.0)
        self.watcher = observer.momentum(arm, gain=15.0, period=PERIOD)
        self.carries, self.torque, self.masses = carries, None, []

    def __call__(self, t, q, v):
        weight = arm.jacobian(q, "tool0")[5] * -9.81  # generalised force of 1 kg
        felt = self.watcher.update(q, v, arm.gravity(q) if self.torque is None else self.torque)
        mass = felt @ weight / (weight @ weight)
        self.masses.append(mass)
        self.torque = self.law(t, q, v) - (mass * weight if self.carries else 0.0)
        return self.torque


def follow(carries):
    """The motion in two pieces, before and after the load is hung on: times, configurations, estimated masses."""
    law = Carrying(carries)
    before = arm.simulate(start, np.zeros(6), HUNG, Sampled(law, PERIOD), "rk4", PERIOD)
    later = Sampled(lambda t, q, v: law(t + HUNG, q, v), PERIOD)
    after = loaded.simulate(before.q[-1], before.v[-1], 3.5, later, "rk4", PERIOD)
    return np.append(before.t, HUNG + after.t[1:]), np.vstack([before.q, after.q[1:]]), np.array(law.masses)


picture, (weighed, sag) = figure(4.6, 4.2, nrows=2, sharex=True)
for carries, colour, name in ((False, ORANGE, "bare model"), (True, BLUE, "with the observer's load")):
    t, q, masses = follow(carries)
    height = 1e3 * (arm.pose(q, "tool0")[:, 2, 3] - arm.pose(move.q(np.minimum(t, 4.0)), "tool0")[:, 2, 3])
    sag.plot(t, height, color=colour, label=name)
    if carries:
        assert abs(masses[-1] - MASS) < 0.05 and abs(height[-1]) < 2.0
        weighed.plot(PERIOD * np.arange(len(masses)), masses, color=GREEN)
    else:
        assert height.min() < -20.0
weighed.axhline(MASS, color=GREY, lw=1, ls="--")
weighed.set(ylabel="mass that is felt [kg]")
sag.set(xlabel="t [s]", ylabel="tool off its path [mm]")
sag.legend(fontsize=8)
scene = Scene((-0.2, -0.1, 0.4), 2.4, azimuth=-50, size=(360, 336)).robot(loaded, q[-1])
tip = arm.pose(q[-1], "tool0")[:3, 3]
scene.arrow(tip, [0, 0, -0.25], 0.012).text(tip + [0.03, 0, -0.2], "3 kg")
beside(scene.image(), pixels(picture, 80)).save(__file__.replace(".py", ".webp"), quality=88, method=6)
