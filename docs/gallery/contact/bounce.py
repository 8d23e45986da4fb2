"""Bouncing to rest.

Balls with different restitution. The rebound does not depend on the step: peak heights fall as the square of the
restitution.
"""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Sphere
from drawing import figure, save

builder = ModelBuilder("ball")
builder.add_body("ball", parent="world", joint="free", mass=0.2, inertia=np.eye(3) * 2e-4)
builder.add_geometry(Sphere(0.05), body="ball", role="collision")
robot = builder.build()
picture, axes = figure(7, 3.2)
for restitution in (0.5, 0.7, 0.85):
    contact = Contact(restitution=restitution)
    run = robot.simulate([0, 0, 1.05, 1, 0, 0, 0], np.zeros(6), 3.0, step=2e-3, contact=contact, record=4e-3)
    height = run.q[:, 2] - 0.05
    axes.plot(run.t, height, label=f"restitution {restitution}")
    fall = np.sqrt(2 / 9.81)
    second = height[(run.t > fall) & (run.t < fall * (1 + 2 * restitution))].max()
    assert abs(second - restitution**2) < 5e-3
axes.set(xlabel="t [s]", ylabel="height [m]")
axes.legend()
save(picture, __file__, "webp")
