"""Gradients of the dynamics for optimisation: products without matrices, and second derivatives along one vector."""

import numpy as np

from dalembert import load

robot = load("panda")
rng = np.random.default_rng(0)
q = robot.random(rng)
v, tau, w, dq, dv, dtau = rng.standard_normal((6, robot.nv))

# The gradient of w·a in everything, at about twice the cost of the acceleration itself.
slope = robot.forward_dynamics_vjp(q, v, tau, w)
D = robot.forward_dynamics_derivatives(q, v, tau)
for product, matrix in zip(slope, D, strict=True):
    np.testing.assert_allclose(product, w @ matrix, atol=1e-9 * np.abs(matrix).max())
cost = {name: sum(robot.operations(name).values()) for name in ("forward_dynamics", "forward_dynamics_vjp")}
print("operations", cost)
assert cost["forward_dynamics_vjp"] < 3 * cost["forward_dynamics"]

# Along a direction: the same number from either side.
da = robot.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)
print("w·da", w @ da)
np.testing.assert_allclose(w @ da, slope.dq @ dq + slope.dv @ dv + slope.dtau @ dtau)

# The second derivative of w·a in (q, v, tau), for iterative optimal control: the rate of the gradient.
H = robot.forward_dynamics_second(q, v, tau, w)
h, d = 1e-4, np.concatenate([dq, dv, dtau])
ahead, behind = (
    np.concatenate(robot.forward_dynamics_vjp(robot.integrate(q, dq, s), v + s * dv, tau + s * dtau, w))
    for s in (h, -h)
)
error = np.abs(H @ d - (ahead - behind) / (2 * h)).max() / np.abs(H @ d).max()
print("Hessian", H.shape, f"differs from differences by {error:.1e}")
assert error < 1e-5

# Energy: its slope in v is the momentum M v, its slope in q at rest is gravity.
np.testing.assert_allclose(robot.energy_derivatives(q, v).dv, robot.mass_matrix(q) @ v, atol=1e-12)
np.testing.assert_allclose(robot.energy_derivatives(q, 0 * v).dq, robot.gravity(q), atol=1e-9)
