"""Identification: inertial parameters from torques, by least squares on the regressor."""

import numpy as np

from dalembert import load

robot = load("ur5").without("friction", "damping", "armature", "springs")
rng = np.random.default_rng(0)
q = robot.random(rng, 500)
v, a = rng.standard_normal((2, 500, robot.nv))

# torque is linear in the ten parameters of each body
Y = robot.regressor(q, v, a)  # (500, nv, 10 nb)
pi = robot.parameters()  # (10 nb,)
tau = robot.inverse_dynamics(q, v, a)
np.testing.assert_allclose(Y @ pi, tau, atol=1e-9)

# "measure" a robot whose last body carries something, and estimate; not all parameters show in the torques
carried = pi.copy()
carried[-10:] += [1.5, 0.0, 0.0, 0.15, 0.02, 0.02, 0.005, 0.0, 0.0, 0.0]
measured = robot.with_parameters(carried).inverse_dynamics(q, v, a)
stacked = Y.reshape(-1, pi.size)
change, _, rank, _ = np.linalg.lstsq(stacked, (measured - tau).ravel(), rcond=1e-10)
print(f"{rank} of {pi.size} combinations of parameters can be identified")
assert 36 <= rank < pi.size

# the estimate predicts torques of other states, whether or not each number is that of a possible body
estimate = robot.with_parameters(pi + change)
print("not possible as single bodies:", len(estimate.problems), "findings; of the model itself:", len(robot.problems))
q, v, a = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
np.testing.assert_allclose(
    estimate.inverse_dynamics(q, v, a), robot.with_parameters(carried).inverse_dynamics(q, v, a), atol=1e-8
)

# energy and generalised momentum are linear too, and need no accelerations
np.testing.assert_allclose(robot.energy_regressor(q, v) @ pi, robot.energy(q, v), atol=1e-9)
np.testing.assert_allclose(robot.momentum_regressor(q, v) @ pi, robot.mass_matrix(q) @ v, atol=1e-9)
