"""The equations of a planar 2R arm as a textbook prints them, and a check that they give the robot's numbers."""

import numpy as np
import sympy

from dalembert import load

robot = load("2r")
names = {"l_1": "L_1", "l_c1": "L_1", "l_c2": "L_2", "q_1": "theta_1", "q_2": "theta_2"}

tau = robot.equations("inverse_dynamics", symbols=True, rename=names)
print(tau.text(width=100))
print(tau.latex(short=True))
for parameter in tau.used:
    print(f"{parameter.name:4s} {parameter.value:5.2f} {parameter.unit:5s} {parameter.meaning}")

# Expanded, tau_2 has the four terms of the book and one more from its bracket.
m2, L1, L2, g = sympy.symbols("m_2 L_1 L_2 g")
t1, t2, v1, a1, a2 = sympy.symbols("theta_1 theta_2 thetadot_1 thetaddot_1 thetaddot_2")
book = (
    (m2 * L2**2 + m2 * L1 * L2 * sympy.cos(t2)) * a1
    + m2 * L2**2 * a2
    + m2 * L1 * L2 * sympy.sin(t2) * v1**2
    + g * m2 * L2 * sympy.cos(t1 + t2)
)
assert sympy.expand(tau.sympy[1] - book) == 0

# Energies alone lead to the same formula, and the formula to the same numbers.
assert robot.equations("inverse_dynamics", symbols=True, rename=names, method="lagrange").sympy == tau.sympy
q, v, a = np.random.default_rng(0).standard_normal((3, 2))
np.testing.assert_allclose(tau.evaluate(q, v, a), robot.inverse_dynamics(q, v, a), atol=1e-13)
heavier = tau.evaluate(q, v, a, m_2=3.0)
print("torques with 3 kg at the tip:", heavier)
assert abs(heavier[1] - 2 * robot.inverse_dynamics(q, v, a)[1]) < 1e-12  # tau_2 is proportional to m_2
