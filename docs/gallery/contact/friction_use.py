"""How much of its friction a foot uses.

A quadruped on servos is pushed. `run.contacts.ratio` is |F_t| / (µ F_n) of each foot: at 1 it slips. `margin` is the
distance of the zero-moment point from the edge of the support polygon.
"""

import numpy as np

from dalembert import Contact, load
from dalembert.math import clip, where
from drawing import figure, save

robot = load("quadruped")
home = np.tile([0.0, 0.7, -1.4], 4)
q = robot.neutral()
q[7:] = home
feet = [frame.name for frame in robot.frames if "foot" in frame.name]
q[2] -= min(robot.pose(q, foot)[2, 3] for foot in feet) - 0.02


def servos(t, q, v):
    tau = clip(120.0 * (home - q[7:]) - 4.0 * v[6:], -30.0, 30.0)
    sideways = where(t > 0.5, where(t < 0.6, 60.0, 0.0), 0.0)
    return np.concatenate([[0, 0, 0, 0, sideways, 0], tau])


run = robot.simulate(q, np.zeros(robot.nv), 1.5, servos, step=2e-3, contact=Contact(friction=0.6), record=0.01)
contacts = run.contacts
at_feet = [k for k, name in enumerate(contacts.names) if any(leg in name for leg in ("FL", "FR", "RL", "RR"))]
assert np.nanmax(contacts.ratio) <= 1 + 1e-6
picture, (use, margin) = figure(7.4, 4.2, nrows=2, sharex=True)
loaded = np.where(contacts.normal_force > 1.0, contacts.ratio, np.nan)
for k in at_feet:
    if np.isfinite(loaded[:, k]).any():
        use.plot(run.t, loaded[:, k], label=contacts.names[k])
use.axhline(1, color="black", lw=1, ls="--")
use.set(ylabel="friction used")
use.legend(fontsize=7, ncols=2)
margin.plot(run.t, 1e3 * contacts.margin)
margin.set(xlabel="t [s], pushed with 60 N from 0.5 to 0.6 s", ylabel="margin [mm]")
save(picture, __file__, "webp")
