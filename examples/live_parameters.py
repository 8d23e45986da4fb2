"""The robot's constants as inputs: torques for many payloads at once, and how they depend on the payload."""

import numpy as np

from dalembert import Wrench, function, gradient, load

robot = load("panda")
rng = np.random.default_rng(0)
q, v, a = robot.random(rng), rng.standard_normal(robot.nv), np.zeros(robot.nv)

inverse_dynamics = robot.compile("inverse_dynamics", live=("inertia",), batch=True)
own = robot.live_values("inertia")  # m, m·c, I about the origin: ten numbers per body
np.testing.assert_allclose(inverse_dynamics(q, v, a, own), robot.inverse_dynamics(q, v, a), atol=1e-12)

# with external wrenches, as the method has them
push = [Wrench(force=(0, 0, -10.0), frame=robot.frames[-1].name, axes="world")]
expected = robot.inverse_dynamics(q, v, a, external=push)
np.testing.assert_allclose(inverse_dynamics(q, v, a, own, external=push), expected, atol=1e-12)

# a point mass of 0 to 3 kg, 0.2 m in front of the last body's frame: one set of parameters per state
masses, r = np.linspace(0.0, 3.0, 7), np.array([0.0, 0.0, 0.2])
I = r @ r * np.eye(3) - np.outer(r, r)
point = np.array([1.0, *r, I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
inertia = np.tile(own, (7, 1))
inertia[:, -10:] += masses[:, None] * point
tau = inverse_dynamics(q, v, a, inertia=inertia)
for m, t in zip(masses, tau, strict=True):
    print(f"{m:.1f} kg", t.round(2))

# inertial parameters enter linearly: the slope along the point mass is the same everywhere
effort = function(lambda pi: gradient((lambda t: t @ t)(inverse_dynamics(q, v, a, pi)), pi), robot, pi=len(own))
slope = effort(own)[-10:] @ point
print("d|tau|²/dm at no load", round(float(slope), 3))
np.testing.assert_allclose(tau[6] - tau[0], 3.0 * (tau[2] - tau[0]), atol=1e-9)
np.testing.assert_allclose(slope, 2.0 * tau[0] @ (tau[2] - tau[0]), rtol=1e-9)
assert tau.shape == (7, robot.nv)
