"""A Panda driven in task space: a force law on the tool, and a second aim that the tool does not feel."""

import numpy as np

from dalembert import load

robot, tool = load("panda"), "panda_link8"
q = np.array([0.2, -0.5, 0.1, -2.0, 0.3, 1.8, 0.5])
v = np.array([0.1, -0.2, 0.3, 0.1, 0.0, 0.2, -0.1])

task = robot.operational_dynamics(q, v, tool)  # Λ ẍ + μ + p = F for the tool's [ω; v]
print("inertia of the tool along x, y, z [kg]", np.diag(task.inertia)[3:].round(2))

wanted = np.array([0, 0, 0, 0.5, 0, -0.2])  # no turning; 0.5 m/s² along x, 0.2 m/s² down
F = task.inertia @ wanted + task.bias + task.gravity
N = robot.null_space(q, tool)
centring = -5.0 * (q - robot.neutral())  # pulls the arm to its neutral pose, as far as the tool does not care
tau = robot.jacobian(q, tool).T @ F + N.T @ centring

a = robot.forward_dynamics(q, v, tau)
np.testing.assert_allclose(robot.acceleration(q, v, a, tool), wanted, atol=1e-9)
print("joint torques [N·m]", tau.round(2))

# An arm with fewer than 6 joints has a task with fewer rows; at a singularity, or with all rows, damping is needed.
planar = load("2r")
inertia = planar.operational_inertia([0.3, 0.8], "tool", rows=(3, 5))
damped = planar.operational_inertia([0.3, 0.0], "tool", rows=(3, 5), damping=0.1)  # stretched out
print("2R: inertia along x and z [kg]\n", inertia.round(3), "\nstretched out, damped\n", damped.round(3))
J = planar.jacobian([0.3, 0.8], "tool")[[3, 5]]
np.testing.assert_allclose(inertia, np.linalg.inv(J @ planar.inverse_mass_matrix([0.3, 0.8]) @ J.T), rtol=1e-9)
assert np.linalg.eigvalsh(damped)[-1] <= 1.0 / 0.1**2 * (1 + 1e-9)  # damping bounds what would be infinite
