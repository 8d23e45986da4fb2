"""What a joint feels of its cylinder.

The boom of an excavator: length of the cylinder, its lever and the stiffness of its oil, over the angle of the joint.
"""

import numpy as np

from dalembert.mechanism import at_joint, mechanism
from drawing import BLUE, GREY, ORANGE, figure, save

robot = mechanism("excavator").build()
q, _ = robot.start
boom = robot.joint("boom")
angles = q[boom.q][0] + np.linspace(-0.25, 0.25, 41)
felt = []
for angle in angles:
    pose = q.copy()
    pose[boom.q] = angle
    felt.append(at_joint(robot, pose, robot.elements[0], "boom"))
length, lever, stiffness = ([getattr(f, name) for f in felt] for name in ("length", "lever", "stiffness"))
assert np.allclose(np.gradient(length, angles)[1:-1], lever[1:-1], atol=2e-3)  # the lever is ∂l/∂θ

picture, panels = figure(8.4, 2.9, ncols=3)
curves = (
    (length, "length of the cylinder [m]", BLUE),
    (lever, "lever ∂l/∂θ [m]", ORANGE),
    (np.array(stiffness) / 1e6, "stiffness at the joint [MN·m/rad]", GREY),
)
for axes, (values, label, colour) in zip(panels, curves, strict=True):
    axes.plot(np.degrees(angles), values, color=colour)
    axes.set(xlabel="boom [°]", title=label)
    axes.title.set_fontsize(9)
save(picture, __file__, "webp")
