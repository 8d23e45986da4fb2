"""What the bearings carry.

Forces between the links of a UR10e in a fast move, from `robot.reaction_wrenches`: all six components of every joint,
not only its torque.
"""

import numpy as np

from dalembert import load, motion
from drawing import Scene, animate

robot = load("ur10e")
start = np.array([0.0, -1.9, 1.9, -1.5, -1.57, 0.0])
move = motion.quintic(start, start + [1.6, 0.9, -1.0, 0.5, 0.0, 0.0], duration=0.9)
t = np.linspace(0, move.duration, 36)
q, v, a = move.at(t)
wrenches = robot.reaction_wrenches(q, v, a, axes="world")  # (n, bodies, 6), rows [moment; force]
total = wrenches[:, 0, 5]  # what the ground carries, upwards
assert np.all(np.abs(total - robot.total_mass * 9.81) < robot.total_mass * 9.81)


def frame(k):
    scene = Scene((-0.3, -0.2, 0.55), 3.4, azimuth=-40, size=(440, 340)).robot(robot, q[k])
    for body, wrench in zip(robot.bodies[1:], wrenches[k, 1:], strict=True):
        pose = robot.pose(q[k], body.name)
        scene.arrow(pose[:3, 3], 3.06e-3 * wrench[3:], 0.016)
    return scene.text((10, 8), f"t = {t[k]:.2f} s; an arrow as long as the upper arm is 200 N").image()


animate((frame(k) for k in range(len(t))), __file__)
