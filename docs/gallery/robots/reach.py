"""Where a UR5e gets to.

Twenty thousand random configurations within the joint limits, in one batched call of `robot.pose`; coloured by the
torque that the shoulder needs to hold still there.
"""

import numpy as np

from dalembert import load
from drawing import figure, save

robot = load("ur5e")
q = robot.random(np.random.default_rng(0), 20_000)
points = robot.pose(q, "tool0")[:, :3, 3]
shoulder = np.abs(robot.gravity(q)[:, 1])
assert np.linalg.norm(points - [0, 0, 0.16], axis=1).max() < 1.1

picture, panels = figure(8, 3.6, ncols=2)
for axes, (i, j) in zip(panels, ((0, 2), (0, 1)), strict=True):
    dots = axes.scatter(points[:, i], points[:, j], c=shoulder, s=2, cmap="viridis")
    axes.set(xlabel=f"{'xyz'[i]} [m]", ylabel=f"{'xyz'[j]} [m]", aspect="equal")
picture.colorbar(dots, ax=panels, label="shoulder torque [N·m]")
save(picture, __file__, "webp")
