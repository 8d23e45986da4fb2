"""What each term of the model is worth to a controller: a UR5 on a smooth motion, with the same PD throughout.

Printed: the largest error on the way [mrad] with no model, with gravity, without Coriolis terms, with all terms, and
with a robot whose masses are 15 % more than the controller's model says.
"""

import numpy as np

from dalembert import control, load, math

ROBOT = load("ur5").without("friction", "damping")
HEAVY = ROBOT.with_parameters(1.15 * ROBOT.parameters())
MIDDLE, WAY = np.array([0.2, -1.4, 1.2, -0.8, -1.2, 0.2]), np.array([0.6, 0.5, 0.6, 0.5, 0.5, 0.5])


class Swing:
    """q = MIDDLE + WAY (1 − cos w t)."""

    def __init__(self, w):
        self.w = w

    def q(self, t):
        return MIDDLE + WAY * (1.0 - math.cos(self.w * t))

    def v(self, t):
        return WAY * self.w * math.sin(self.w * t)

    def a(self, t):
        return WAY * self.w**2 * math.cos(self.w * t)


def worst(robot, law, move):
    """The largest error [rad] over one swing."""
    run = robot.simulate(move.q(0.0), np.zeros(6), 2.0 * np.pi / move.w, law, "rk4", 5e-3, record=0.05)
    return np.abs(np.array([move.q(t) for t in run.t]) - run.q).max()


table = {}
print("rad/s     no model  gravity     no C      all   computed torque   +15 %: gravity   computed torque")
for w in (0.5, 1.0):
    move = Swing(w)
    bare = control.feedforward(ROBOT, move, 10.0, inertial=False, coriolis=False, gravity=False)
    gravity, computed = control.gravity_pd(ROBOT, move, 10.0), control.computed_torque(ROBOT, move, 10.0)
    no_c, full = control.feedforward(ROBOT, move, 10.0, coriolis=False), control.feedforward(ROBOT, move, 10.0)
    errors = [worst(ROBOT, law, move) for law in (bare, gravity, no_c, full, computed)]
    errors += [worst(HEAVY, law, move) for law in (gravity, computed)]
    table[w] = dict(zip(("bare", "gravity", "no_c", "all", "computed", "heavy", "heavy_computed"), errors, strict=True))
    print(f"{WAY.max() * w:5.2f} " + "".join(f"{1e3 * e:12.4g}" for e in errors))

slow, fast = table[0.5], table[1.0]
assert slow["gravity"] < 0.05 * slow["bare"]  # gravity is most of what a slow arm needs
assert slow["no_c"] < 0.05 * 2.0 * WAY.max()  # without C: below 5 % of the way up to 0.5 rad/s
assert fast["no_c"] > 3.0 * slow["no_c"]  # and four times as much at twice the speed, not twice
assert slow["no_c"] > slow["gravity"]  # M a_d alone is no gain where C v is as large
assert fast["all"] < 1e-6 and fast["computed"] < 1e-6  # an exact model leaves nothing
assert 3.0 < slow["heavy"] / slow["heavy_computed"] < 10.0  # with 15 % too little mass, four to eight times better
