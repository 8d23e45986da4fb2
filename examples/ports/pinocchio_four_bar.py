"""Pinocchio, simulation-closed-kinematic-chains: a four-bar linkage swings under its weight (pin 4.1.0).

The original builds a chain, a contact that closes it, its own solver for the start and a loop of steps: 109 statements,
3.0 us a step. This: 15, 0.2 us. Recorded is the same start, a parallelogram, after 1000 steps.
"""

import numpy as np
from port import picture, seconds

from dalembert import ModelBuilder
from dalembert.pictures import Camera
from dalembert.shapes import Capsule
from dalembert.spatial import Pose

AFTER = [2.544758627827983, 0.596834025761818, 2.544758627827980]  # of pin: 1000 steps of 1 ms
RATES = [-3.120851282996444, 3.120851282996425, -3.120851282996447]

builder = ModelBuilder("four-bar")
for name, parent, x, mass, length in (
    ("left", "world", 0.5, 5.0, 0.6),
    ("coupler", "left", 0.6, 10.0, 1.0),
    ("right", "coupler", 1.0, 5.0, 0.6),
):
    box = mass / 12 * np.diag([0.01**2 + 0.1**2, length**2 + 0.1**2, length**2 + 0.01**2])
    builder.add_body(name, parent=parent, joint="continuous", axis=(0, 1, 0), xyz=(x, 0, 0), mass=mass,
                     com=(0.5 * length, 0, 0), inertia=box)  # fmt: skip
    builder.add_geometry(Capsule(0.05, length), body=name, xyz=(0.5 * length, 0, 0), rpy=(0, np.pi / 2, 0))
ends = [Pose(np.eye(3), np.array([x, 0.0, 0.0])) for x in (0.6, -0.5)]
builder.add_closure("pin", "point", a="right", b="world", placement_a=ends[0], placement_b=ends[1])
linkage = builder.build()
start = np.array([0.3, np.pi - 0.3, 0.3])
end = linkage.rollout(start, np.zeros(3), step=1e-3, steps=1000)

np.testing.assert_allclose(end.q, AFTER, atol=1e-12)
np.testing.assert_allclose(end.v, RATES, atol=1e-12)
elapsed = seconds(lambda: linkage.rollout(start, np.zeros(3), step=1e-3, steps=1000))
print(f"after 1 s {end.q} {end.v}; {1e3 * elapsed:.2f} us a step, pin 3.0 us")
picture(lambda path: linkage.render(start, path, camera=Camera(azimuth=-70, elevation=15)))
