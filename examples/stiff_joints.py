"""A UR5 on joints of a million N·m/rad: an integrator for stiff systems steps over oscillations that have died out."""

import numpy as np

from dalembert import elements, load

robot = load("ur5").without("friction", "damping")
held = [elements.Spring(joint.name, stiffness=1e6, rest=0.2, damping=3e3) for joint in robot.joints]
q, v = np.zeros(6), np.zeros(6)

run = robot.simulate(q, v, 0.5, integrator="rodas", elements=held, rtol=1e-6)
print(f"rodas took {run.steps} steps; the wrist ends at {run.q[-1, 5]:.9f} rad")
print(run.audit())

sag = np.full(6, 0.2) - robot.gravity(run.q[-1]) / 1e6  # where springs and weights are in balance
np.testing.assert_allclose(run.q[-1], sag, atol=1e-9)

explicit = robot.simulate(q, v, 1e-3, integrator="rk45", elements=held, rtol=1e-6)
print(f"rk45 takes {explicit.steps} steps for the first millisecond alone")
assert run.steps < 1000 < explicit.steps
