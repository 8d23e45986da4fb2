"""A biped stands, is pushed, and stands again: the whole-body program with soles that keep their centre of pressure.

`python biped.py view` shows it in the browser.
"""

import sys

import numpy as np

from dalembert import Contact, Sampled, control, load

robot = load("biped")
q = robot.neutral()
for side in ("left", "right"):
    for joint, angle in (("hip_pitch", -0.25), ("knee", 0.5), ("ankle_pitch", -0.25)):
        q[robot.joint(f"{side}_{joint}").q] = angle
q[2] -= robot.pose(q, "left_sole")[2, 3]

place = robot.center_of_mass(q)
place[0] = 0.05  # over the middles of the soles, 5 cm before the ankles
tasks = [
    control.CenterOfMass(goal=place, weight=10.0, frequency=4.0),
    control.Frame(frame="trunk", goal=robot.pose(q, "trunk"), rows_of="orientation", weight=5.0, frequency=8.0),
    control.Momentum(weight=0.01, frequency=5.0),
    control.Posture(goal=q, weight=np.r_[np.zeros(6), np.full(12, 0.05)], frequency=6.0),
]
soles = [control.Support(frame=f"{side}_sole", size=(0.11, 0.045), center=(0.05, 0.0)) for side in ("left", "right")]
law = control.whole_body(robot, tasks, soles)

pushed = np.zeros(robot.nv)
pushed[3], pushed[4] = 0.25, 0.15  # m/s, forwards and to the left
run = robot.simulate(q, pushed, 3.0, Sampled(law, 2e-3), step=1e-3, contact=Contact(friction=0.8))
moved = 1e2 * np.abs(run.q[:, :2] - run.q[-1, :2]).max(axis=0)
print(f"it gives way by {moved[0]:.1f} cm forwards and {moved[1]:.1f} cm sideways, and is at rest to", end=" ")
print(f"{np.abs(run.v[-1]).max():.0e} after {run.t[-1]:g} s")
print(f"centre of mass {1e2 * (robot.center_of_mass(run.q[-1]) - place)[0]:.2f} cm from where it should be")
assert np.abs(run.v[-1]).max() < 1e-2 and run.q[-1, 2] > q[2] - 0.02
assert np.abs(robot.center_of_mass(run.q[-1]) - place)[:2].max() < 0.02
if "view" in sys.argv:
    run.view()
