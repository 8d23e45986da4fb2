"""Derivatives of inverse dynamics under a load: matrices, products without matrices, second derivatives; stiffness."""

import numpy as np

from dalembert import Wrench, load

robot = load("ur5")
rng = np.random.default_rng(0)
q = robot.random(rng)
v, a, w, dq, dv, da = rng.standard_normal((6, robot.nv))
load_on_tool = [Wrench(force=(0, 5.0, -20.0), frame="tool0", point=(0, 0, 0.1), axes="world")]

# matrices: columns are rates along q ⊕ e_k t, v + e_k t, a + e_k t
D = robot.inverse_dynamics_derivatives(q, v, a, external=load_on_tool)
np.testing.assert_allclose(D.da, robot.mass_matrix(q), atol=1e-12)
h = 1e-5
ahead, behind = (
    robot.inverse_dynamics(robot.integrate(q, dq, s), v + s * dv, a + s * da, external=load_on_tool) for s in (h, -h)
)
rate = D.dq @ dq + D.dv @ dv + D.da @ da
np.testing.assert_allclose((ahead - behind) / (2 * h), rate, atol=1e-5)

# products: the same numbers, each at about two and a half times the cost of the torques
np.testing.assert_allclose(robot.inverse_dynamics_jvp(q, v, a, dq, dv, da, external=load_on_tool), rate, atol=1e-9)
slope = robot.inverse_dynamics_vjp(q, v, a, w, external=load_on_tool)
for product, matrix in zip(slope, D, strict=True):
    np.testing.assert_allclose(product, w @ matrix, atol=1e-9)
print("slope of w·tau in q", slope.dq.round(3))

# second derivatives of w·tau in (q, v, a); torques are linear in a, so that its own block is zero
H = robot.inverse_dynamics_second(q, v, a, w, external=load_on_tool)
np.testing.assert_allclose(H, H.T)
np.testing.assert_allclose(H[12:, 12:], 0.0)

# gravity: slope of the potential energy, and its own slope the stiffness, symmetric
K = robot.gravity_derivatives(q)
np.testing.assert_allclose(K, K.T, atol=1e-9)
np.testing.assert_allclose(K, robot.inverse_dynamics_derivatives(q, 0 * v, 0 * a).dq, atol=1e-9)
lift = robot.potential_energy(robot.integrate(q, dq, h)) - robot.potential_energy(robot.integrate(q, dq, -h))
np.testing.assert_allclose(lift / (2 * h), robot.gravity(q) @ dq, atol=1e-5)
np.testing.assert_allclose(robot.kinetic_energy(q, v), 0.5 * v @ D.da @ v, rtol=1e-12)

# Coriolis matrix: C v is what velocities add, and the mass matrix changes at the rate C + Cᵀ
C = robot.coriolis_matrix(q, v)
np.testing.assert_allclose(C, robot.christoffel(q) @ v, atol=1e-9)
change = robot.mass_matrix(robot.integrate(q, v, h)) - robot.mass_matrix(robot.integrate(q, v, -h))
np.testing.assert_allclose(change / (2 * h), C + C.T, atol=1e-6)
print("passivity residual", robot.passivity_residual(q, v))
assert robot.passivity_residual(q, v) < 1e-12
