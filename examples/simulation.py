"""A swing of a UR5 with an energy ledger: damped by friction, held by a controller, and judged by its audit."""

import numpy as np

from dalembert import elements, load, math

robot = load("ur5").without("friction", "damping")
q, v = np.array([0.0, -0.5, 0.3, 0.0, 0.2, 0.0]), np.zeros(6)

# Free: energy only changes its kind.
free = robot.simulate(q, v, duration=1.0)
print(f"free swing: {free.steps} steps of rk45, {free.energy}")
assert np.abs(free.energy.residual).max() < 1e-6 * free.energy.scale

# With a controller, traced into the compiled step, and dampers, each with its own account.
goal = np.array([0.5, -1.0, 1.0, 0.0, 0.5, 0.0])


def controller(t, q, v):
    lifted = math.minimum(t, 1.0)  # a ramp of one second
    return robot.gravity(q) + 100.0 * (lifted * goal - q) - 20.0 * v


dampers = [elements.Damper(joint.name, 2.0) for joint in robot.joints]
run = robot.simulate(q, v, 3.0, controller, elements=dampers)
print(run.audit())
np.testing.assert_allclose(run.q[-1], goal, atol=0.05)
assert run.audit().relative < 1e-6
