"""A heavy arm through three points.

A load of 3200 N, level all the way, through start, middle and end by cubics without a stop in the middle.
"""

import numpy as np

from dalembert import load, motion
from drawing import Scene, animate

arm = load("hydraulic")
points = [np.array([0.0, 0.6, -1.2, 0.6, 0.0])]
for place, yaw in (((1.9, -0.8, 0.4), -0.4), ((2.2, 0.0, 0.9), 0.0), ((1.9, 0.9, 0.5), 0.5)):
    target = np.eye(4)
    target[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    target[:3, 3] = place
    points.append(arm.inverse_kinematics(target, "load", start=points[-1]).q)
move = motion.via(points[1:], [0.0, 2.5, 5.0])
t = np.linspace(0, 5, 41)
q = move.q(t)
path = arm.pose(q, "load")[:, :3, 3]
assert np.abs(move.v(2.5)).max() > 0.05 and np.abs(q[:, 1:4].sum(axis=1)).max() < 0.05  # moving, and level


def frame(k):
    scene = Scene((1.0, 0, 0.5), 7.0, azimuth=-70, elevation=25, size=(440, 300), ground=-1.0)
    return scene.robot(arm, q[k]).path(path, 0.012).image()


animate((frame(k) for k in range(len(t))), __file__, rate=15)
