"""What shapes weigh, and whether the inertia that a robot's file states can be that of its shapes."""

import numpy as np

from dalembert import ModelBuilder, mass_properties
from dalembert.shapes import Box, Capsule, Polyhedron

# a bar of aluminium, in closed form and as a surface of triangles
bar = Box(np.array([0.05, 0.05, 0.4]))
solid = mass_properties(bar, density=2700.0)
print(f"bar: {solid.mass:.3f} kg, Ixx {solid.inertia[0, 0]:.5f} kg·m²")
np.testing.assert_allclose(solid.inertia[0, 0], solid.mass / 12 * (0.05**2 + 0.4**2))

corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * bar.size / 2
sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
triangles = np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))])
surface = mass_properties(Polyhedron(corners, triangles), density=2700.0)
np.testing.assert_allclose(surface.inertia, solid.inertia, atol=1e-12)


def arm(**stated):
    builder = ModelBuilder("arm")
    builder.add_body("upper", parent="world", joint="revolute", axis=(0, 1, 0), **stated)
    builder.add_geometry(bar, body="upper", xyz=(0, 0, 0.2), role="collision")
    builder.add_body(
        "lower", parent="upper", joint="revolute", axis=(0, 1, 0), xyz=(0, 0, 0.4), mass=1.0, com=(0, 0, 0.1)
    )
    return builder.build()


right = arm(mass=solid.mass, com=(0, 0, 0.2), inertia=solid.inertia)
assert not [finding for finding in right.check_inertia() if finding.severity == "warning"]

# the same bar with its inertia taken about the joint instead of the centre of mass
about_joint = solid.inertia + solid.mass * 0.2**2 * np.diag([1, 1, 0])
wrong = arm(mass=solid.mass, com=(0, 0, 0.2), inertia=about_joint)
warning, unchecked = wrong.check_inertia()
print(warning)
print(unchecked)
assert "about the link's origin instead of the centre of mass" in warning.action

# mend the robot with what the shape says
link = wrong.model.body("upper").parts[0]
computed = mass_properties(link, mass=solid.mass)
mended = wrong.edit().set_inertia("upper", com=computed.com, inertia=computed.inertia).done()
assert not [finding for finding in mended.check_inertia() if finding.severity == "warning"]
np.testing.assert_allclose(mended.gravity([0.3, 0.2]), right.gravity([0.3, 0.2]), atol=1e-12)
print("capsule of the same mass:", mass_properties(Capsule(0.03, 0.35), mass=solid.mass).inertia.diagonal().round(5))
