"""One torque, three derivations: recursive Newton-Euler, Lagrange from energies, the equilibrium of every joint."""

import numpy as np

from dalembert import load

METHODS = ("newton-euler", "lagrange", "generalized-newton-euler")

for name in ("ur5", "quadruped"):
    robot = load(name)
    rng = np.random.default_rng(0)
    q = robot.random(rng, 100)
    v, a = rng.standard_normal((2, 100, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    for method in METHODS:
        other = robot.inverse_dynamics(q, v, a, method=method)
        count = sum(robot.operations("inverse_dynamics", method=method).values())
        print(f"{name:10s} {method:25s} {count:6d} operations, differs by {np.abs(other - tau).max():.1e} N·m at most")
        np.testing.assert_allclose(other, tau, atol=1e-11 * np.abs(tau).max())
        np.testing.assert_allclose(robot.mass_matrix(q, method=method), robot.mass_matrix(q), atol=1e-11)

# What passive controllers rely on: Ṁ − 2C is skew.
residual = robot.passivity_residual(q, v)
print(f"Ṁ − 2C is skew to {residual.max():.1e}")
assert residual.max() < 1e-12

# Where v = q̇, the Coriolis matrix is that of the Christoffel symbols.
arm = load("ur5")
q, v = arm.random(rng), rng.standard_normal(arm.nv)
np.testing.assert_allclose(arm.christoffel(q) @ v, arm.coriolis_matrix(q, v), atol=1e-12)
