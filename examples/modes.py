"""Small motions: frequencies of a double pendulum, a linear model of it, and where a hanging arm comes to rest."""

import numpy as np

from dalembert import ModelBuilder

g, length = 9.81, 0.4
builder = ModelBuilder("double pendulum", gravity=(0, 0, -g))
hinge = {"joint": "revolute", "axis": (0, 1, 0), "mass": 1.0, "com": (0, 0, -length)}
builder.add_body("upper", parent="world", joint_name="top", **hinge)
builder.add_body("lower", parent="upper", joint_name="middle", xyz=(0, 0, -length), damping=0.02, **hinge)
robot = builder.build()

rest = robot.equilibrium([0.4, -0.3]).q
print("hangs still at", rest.round(6) + 0.0)
np.testing.assert_allclose(rest, 0.0, atol=1e-8)

undamped = robot.without("damping").modes(rest)
np.testing.assert_allclose(undamped.frequencies**2, (2 + np.sqrt(2) * np.array([-1, 1])) * g / length, rtol=1e-8)
modes = robot.modes(rest)
for w, ratio, shape in zip(modes.frequencies, modes.damping, modes.shapes.T, strict=True):
    print(f"{w / (2 * np.pi):.3f} Hz, damping ratio {ratio:.4f}, shape {shape.round(3)}")
assert np.all(modes.damping > 0)

# A step of the linear model, exact for torques held constant, beside the motion itself in a hundred small steps.
step = 0.01
A, B = robot.linearize(rest, np.zeros(2), robot.equilibrium_torque(rest), step=step)
tau = np.array([1e-3, -2e-3])
q, v, h = np.array([1e-3, 2e-3]), np.zeros(2), step / 100
linear = A @ np.concatenate([q, v]) + B @ tau
for _ in range(100):
    middle = robot.integrate(q, v, h / 2), v + h / 2 * robot.forward_dynamics(q, v, tau)
    q, v = robot.integrate(q, middle[1], h), v + h * robot.forward_dynamics(*middle, tau)
print("after 10 ms: linear model", linear.round(6), " motion", np.concatenate([q, v]).round(6))
np.testing.assert_allclose(np.concatenate([q, v]), linear, atol=1e-6)
