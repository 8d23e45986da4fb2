"""A quadruped stands on servos, is pushed, and stands again; how near it was to tipping over."""

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.math import clip, where
from dalembert.shapes import Box, Capsule, Sphere

builder = ModelBuilder("quadruped")
builder.add_body("trunk", parent="world", joint="free", mass=8.0, inertia=np.diag([0.05, 0.15, 0.18]))
builder.add_geometry(Box([0.5, 0.2, 0.1]), body="trunk", role="collision")
for name, x, y in (("FL", 0.2, 0.12), ("FR", 0.2, -0.12), ("RL", -0.2, 0.12), ("RR", -0.2, -0.12)):
    thigh = {"axis": (0, 1, 0), "mass": 0.8, "com": (0, 0, -0.1), "inertia": np.eye(3) * 3e-3, "damping": 0.5}
    shank = {"axis": (0, 1, 0), "mass": 0.3, "com": (0, 0, -0.1), "inertia": np.eye(3) * 1e-3, "damping": 0.5}
    builder.add_body(
        f"{name} thigh", parent="trunk", joint="revolute", joint_name=f"{name} hip", xyz=(x, y, 0), **thigh
    )
    builder.add_body(
        f"{name} shank", parent=f"{name} thigh", joint="revolute", joint_name=f"{name} knee", xyz=(0, 0, -0.2), **shank
    )
    for part in ("thigh", "shank"):  # to look at
        builder.add_geometry(Capsule(0.015, 0.2), body=f"{name} {part}", xyz=(0, 0, -0.1), role="visual")
    builder.add_geometry(Sphere(0.02), body=f"{name} shank", xyz=(0, 0, -0.2), role="collision", name=f"{name} foot")
robot = builder.build()

home = np.array([0.7, -1.4] * 4)
push = 40.0  # [N] forwards, for a tenth of a second


def servos(t, q, v):
    tau = clip(150.0 * (home - q[7:]) - 4.0 * v[6:], -30.0, 30.0)
    forward = where(t > 1.0, where(t < 1.1, push, 0.0), 0.0)
    return np.concatenate([[0, 0, 0, forward, 0, 0], tau])


height = 0.4 * np.cos(0.7) + 0.02
q, v = np.array([0, 0, height, 1, 0, 0, 0, *home]), np.zeros(14)
run = robot.simulate(q, v, 2.5, servos, step=2e-3, contact=Contact(friction=0.8))
contacts = run.contacts
feet = [k for k, name in enumerate(contacts.names) if "foot" in name]
weight = 9.81 * 12.4
print(f"forces of the feet at the end: {contacts.force[-1, feet, 2].round(3)} N, together {weight:.3f} N")
print(f"nearest to tipping: {1e3 * contacts.margin[80:].min():.0f} mm inside the feet")
print(f"steps that did not settle: {contacts.unsettled}")
print(f"it moved {1e3 * run.q[-1, 0]:.1f} mm and is at rest to {np.abs(run.v[-1]).max():.1e}")
assert abs(contacts.force[-1, :, 2].sum() - weight) < 1e-3 * weight
assert contacts.margin[80:].min() > 0.0 and run.q[-1, 2] > 0.25
assert np.abs(run.v[-1]).max() < 0.02
