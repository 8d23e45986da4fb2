"""A Delta robot follows a path.

Three loops, closed by forearms of constant length. Inverse kinematics is that of the *closed* mechanism.
"""

import numpy as np

from dalembert import load
from drawing import Scene, animate

robot = load("delta")
q = robot.close_loops(robot.neutral()).q
tool = robot.joints[-1].child
centre = robot.pose(q, tool)[:3, 3]
configurations, path = [], []
for angle in np.linspace(0, 2 * np.pi, 40, endpoint=False):
    target = centre + [0.12 * np.cos(angle), 0.12 * np.sin(angle), 0.04 * np.sin(2 * angle)]
    q = robot.inverse_kinematics(target, tool, start=q).q
    configurations.append(q)
    path.append(robot.pose(q, tool)[:3, 3])
    assert np.linalg.norm(path[-1] - target) < 1e-5


def frame(k):
    scene = Scene(centre + [0, 0, 0.25], 2.0, azimuth=-60, elevation=8, size=(400, 380), ground=None)
    return scene.robot(robot, configurations[k]).path(np.array(path + path[:1]), 0.004).image()


animate((frame(k) for k in range(len(path))), __file__, hold=0)
