"""A planar two-link arm built in code, with the numbers of a textbook: point masses 2.0 and 1.5 kg on 0.3 m links."""

import numpy as np

from dalembert import ModelBuilder

builder = ModelBuilder("two-link arm", gravity=(0, -9.81, 0))
builder.add_body("upper", parent="world", joint="revolute", joint_name="shoulder", mass=2.0, com=(0.3, 0, 0))
builder.add_body(
    "lower", parent="upper", joint="revolute", joint_name="elbow", xyz=(0.3, 0, 0), mass=1.5, com=(0.3, 0, 0)
)
robot = builder.build()

q, v = np.array([0.0, np.pi / 2]), np.array([1.0, -0.5])
M, g, bias = robot.mass_matrix(q), robot.gravity(q), robot.bias(q, v)
print("mass matrix [kg·m²]\n", M.round(4))
print("gravity [N·m]", g.round(3), " Coriolis and centrifugal [N·m]", (bias - g).round(3))
print("torque without acceleration [N·m]", robot.inverse_dynamics(q, v, np.zeros(2)).round(3))

np.testing.assert_allclose(M, [[0.450, 0.135], [0.135, 0.135]], atol=1e-12)
np.testing.assert_allclose(g, [3.5 * 9.81 * 0.3, 0.0], atol=1e-12)
np.testing.assert_allclose(bias - g, [0.10125, 0.135], atol=1e-12)
