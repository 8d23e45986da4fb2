"""A ball is thrown, bounces off the floor, and comes to rest in a bin of five boards."""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Box, Sphere

builder = ModelBuilder("ball and bin")
builder.add_body("bin", parent="world", joint="fixed", mass=1.0, inertia=np.eye(3))
for size, place in (
    ([0.5, 0.5, 0.02], (2.0, 0.0, 0.01)),
    ([0.02, 0.5, 0.2], (1.76, 0.0, 0.1)),
    ([0.02, 0.5, 0.6], (2.24, 0.0, 0.3)),
    ([0.5, 0.02, 0.3], (2.0, 0.24, 0.15)),
    ([0.5, 0.02, 0.3], (2.0, -0.24, 0.15)),
):
    builder.add_geometry(Box(size), body="bin", xyz=place, role="collision")
builder.add_body("ball", parent="world", joint="free", mass=0.2, inertia=np.eye(3) * 0.4 * 0.2 * 0.05**2)
builder.add_geometry(Sphere(0.05), body="ball", role="collision")
robot = builder.build()

contact = Contact(ground=0.0, pairs="all", friction=0.4, restitution=0.6, rolling=0.002, torsion=0.002)
run = robot.simulate(
    [0, 0, 1.0, 1, 0, 0, 0], [0, 0, 0, 2.6, 0.05, 0.0], 4.0, step=2e-3, contact=contact
)  # fmt: skip
print(run.contacts)
print(f"the ball ends at {run.q[-1, :3].round(3)}, at rest to {np.abs(run.v[-1]).max():.0e}")
print({name: round(float(x[-1]), 4) for name, x in run.energy.heat.items()}, "J of heat")
assert 1.77 < run.q[-1, 0] < 2.23 and abs(run.q[-1, 1]) < 0.23 and run.q[-1, 2] < 0.08
assert np.abs(run.energy.residual).max() < 1e-3 * run.energy.scale
