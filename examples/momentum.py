"""A robot as one body: momentum about its centre of mass, and what changes it."""

import numpy as np

from dalembert import load

robot = load("humanoid")
rng = np.random.default_rng(0)
q, v, a = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)

h = robot.centroidal_momentum(q, v)  # [angular about the centre of mass; linear], world axes
A = robot.centroidal_momentum_matrix(q)
print("angular [N·m·s]", h[:3].round(3), " linear [N·s]", h[3:].round(3))
np.testing.assert_allclose(A @ v, h, atol=1e-9)

# the linear part is mass times velocity of the centre of mass
dt = 1e-5
speed = robot.center_of_mass(robot.integrate(q, v, dt)) - robot.center_of_mass(robot.integrate(q, v, -dt))
np.testing.assert_allclose(robot.total_mass * speed / (2 * dt), h[3:], rtol=1e-6, atol=1e-6)

# the rate is what acts from outside: ground and weight, about the centre of mass
ground = robot.reaction_wrenches(q, v, a, axes="world")[0]
arm = robot.pose(q, robot.bodies[0].name)[:3, 3] - robot.center_of_mass(q)
weight = robot.total_mass * robot.model.gravity
outside = np.concatenate([ground[:3] + np.cross(arm, ground[3:]), ground[3:] + weight])
np.testing.assert_allclose(robot.centroidal_momentum_rate(q, v, a), outside, atol=1e-8)

# joints locked and spinning about the vertical: angular momentum is composite inertia times angular velocity
spin = np.zeros(robot.nv)
R = robot.pose(q, robot.bodies[0].name)[:3, :3]
spin[:3] = R.T @ [0, 0, 1.0]
I = robot.composite_inertia(q)
np.testing.assert_allclose(robot.centroidal_momentum(q, spin)[:3], I[:3, :3] @ [0, 0, 1.0], atol=1e-9)
print("inertia about the vertical [kg·m²]", I[2, 2].round(3))
