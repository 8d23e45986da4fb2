"""mink, arm_ur5e: a tool asked to go through a wall, with limits of joints, speeds and distance (mink 1.3.0).

The original, with this library's UR5 and wall saved as MJCF: 34 statements, 116 us a tick. This: 16, 14 us. Both end at
the wall in the same posture to 2 mrad; mink comes to 19.0 mm on the way and rests at 19.8, this stays at 20.0 mm and
above. With --plot PATH the distance is drawn.
"""

import numpy as np
from port import picture, seconds

from dalembert import control, load, scene
from dalembert.shapes import Box

RESTS = [0.233400751232, -0.779425742664, 0.727460917129, -0.552664781293, -1.254677929687, 0.166034282703]  # mink's
STAND_OFF, STEP = 0.02, 5e-3

arm = scene(load("ur5"), wall=Box((0.02, 1.6, 1.6)), at={"wall": (-0.75, 0.0, 0.4)})
pairs = [("world", f"wrist_{k}_link") for k in (1, 2, 3)]
q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
goal = arm.pose(q, "tool0")
goal[0, 3] = -0.85
task = control.Frame(frame="tool0", goal=goal, gain=1.0, lm_damping=1e-6)
limits = [control.CollisionAvoidance(pairs=pairs, stand_off=STAND_OFF), control.JointLimit(speed=np.pi)]
tick = control.inverse_kinematics(arm, [task], limits, step=STEP, damping=np.sqrt(1e-5))
nearest = []
for _ in range(400):
    q = arm.integrate(q, tick(q))
    nearest.append(arm.distance(q, pairs).min())

assert min(nearest) > STAND_OFF - 1e-6, "the stand-off is kept"
np.testing.assert_allclose(q, RESTS, atol=2e-3)
elapsed = seconds(lambda: tick(q), 500)
print(f"at rest {q}, nearest {1e3 * min(nearest):.3f} mm; {1e6 * elapsed:.0f} us a tick, mink 116 us")


def draw(path):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    axes.plot(STEP * np.arange(1, 401), 1e3 * np.array(nearest))
    axes.axhline(1e3 * STAND_OFF, color="black", linestyle="--")
    axes.set(xlabel="t [s]", ylabel="distance of the wrist from the wall [mm]")
    figure.savefig(path)


picture(draw)
