"""Holding torque over the workspace.

The torque that holds a UR5's shoulder lift still, over shoulder and elbow angle: zero along two curves, largest with
the arm stretched out level.
"""

import numpy as np

from dalembert import load
from drawing import figure, save

robot = load("ur5").edit().payload(5.0, frame="tool0").done()
shoulder, elbow = np.linspace(-np.pi, 0.3, 121), np.linspace(-2.8, 2.8, 121)
q = np.zeros((121, 121, 6))
q[..., 1], q[..., 2] = shoulder[None, :], elbow[:, None]
tau = robot.gravity(q)[..., 1]

picture, axes = figure(6, 4)
filled = axes.contourf(np.degrees(shoulder), np.degrees(elbow), tau, levels=21, cmap="RdBu_r", vmin=-95, vmax=95)
axes.contour(np.degrees(shoulder), np.degrees(elbow), tau, levels=[0], colors="k", linewidths=1)
axes.set(xlabel="shoulder lift [°]", ylabel="elbow [°]", title="UR5 with 5 kg")
picture.colorbar(filled, label="holding torque of the shoulder lift [N·m]")
save(picture, __file__, "webp")
