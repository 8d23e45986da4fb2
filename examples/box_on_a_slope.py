"""A box on slopes: it holds below the friction angle, to the last digit, and slides above it as the book says."""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Box

MU, G = 0.6, 9.81


def box_on(slope):
    builder = ModelBuilder("box", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    builder.add_body("box", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.04 / 6)
    builder.add_geometry(Box([0.2, 0.2, 0.2]), body="box", role="collision")
    return builder.build()


start = [0, 0, 0.1, 1, 0, 0, 0]
for share in (0.5, 0.95, 1.05, 1.5):
    slope = float(np.arctan(share * MU))
    run = box_on(slope).simulate(start, np.zeros(6), 1.0, step=2e-3, contact=Contact(friction=MU))
    expected = max(0.0, G * (np.sin(slope) - MU * np.cos(slope)))
    force = run.contacts.force[-1].sum(axis=0)  # of all corners: how they share it is not determined
    used = float(np.hypot(force[0], force[1]) / (MU * force[2]))
    print(f"tan = {share} µ: {run.v[-1, 3]:.9f} m/s after 1 s, expected {expected:.9f}; friction used {used:.3f}")
    assert abs(run.v[-1, 3] - expected) < 1e-9
    assert abs(force[2] - G * np.cos(slope)) < 1e-6 and abs(used - min(share, 1.0)) < 1e-6
