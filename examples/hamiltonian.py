"""Hamilton's form: momenta in the place of velocities, integrated by the symplectic Euler method."""

import numpy as np

from dalembert import load

robot = load("2r").without("friction", "damping")
q, v = np.array([0.5, 0.3]), np.zeros(2)
p = robot.generalized_momentum(q, v)
H = robot.hamiltonian(q, p)
slopes = robot.hamiltonian_derivatives(q, p)
print("∂H/∂q", slopes.dq, "is the weight", robot.gravity(q))
assert np.allclose(slopes.dq, robot.gravity(q))

h = 1e-4
for _ in range(5000):  # p by −∂H/∂q, then q by ∂H/∂p: nearly a canonical map
    v, rate = robot.hamilton_equations(q, p, np.zeros(2))
    p = p + h * rate
    q = q + h * robot.hamilton_equations(q, p, np.zeros(2)).v
exact = robot.simulate([0.5, 0.3], [0.0, 0.0], 0.5, record=0.5)
print(f"after 0.5 s: q off by {np.abs(q - exact.q[-1]).max():.1e} rad, H by {abs(robot.hamiltonian(q, p) - H):.1e} J")
assert np.abs(q - exact.q[-1]).max() < 1e-3

# with damping and friction ẋ = (J − R) ∇H + (0, tau), and the ports are the velocities of the joints
arm = load("2r").edit().set_joint("shoulder", damping=0.5).set_joint("elbow", friction=0.4).done()
v, tau = np.array([1.0, -0.5]), np.array([2.0, 0.3])
form = arm.port_hamiltonian(q, arm.generalized_momentum(q, v))
lost = form.gradient @ form.dissipation @ form.gradient
print(f"motors give {v @ tau:.3f} W, friction takes {lost:.3f} W, the energy changes by {v @ tau - lost:.3f} W")
p_rate = ((form.structure - form.dissipation) @ form.gradient)[2:] + tau
assert np.allclose(p_rate, arm.hamilton_equations(q, arm.generalized_momentum(q, v), tau).p_rate)
