"""Many states in one call: any leading shape, broadcasting, float32, and an array that is used again."""

import numpy as np

from dalembert import load

robot = load("panda")
rng = np.random.default_rng(0)
q = robot.random(rng, 2000).reshape(20, 100, robot.nq)
v = rng.standard_normal((20, 100, robot.nv))
a = np.zeros(robot.nv)  # broadcast to all states

tau = robot.inverse_dynamics(q, v, a)
print("torques", tau.shape, tau.dtype)
assert tau.shape == (20, 100, robot.nv)
np.testing.assert_allclose(tau[3, 7], robot.inverse_dynamics(q[3, 7], v[3, 7], a), rtol=1e-10, atol=1e-10)

single = robot.inverse_dynamics(q.astype(np.float32), v.astype(np.float32), a.astype(np.float32))
print("float32", single.dtype, "differs by at most", np.abs(single - tau).max().round(6), "N·m")
assert single.dtype == np.float32
np.testing.assert_allclose(single, tau, rtol=1e-3, atol=1e-3)

out = np.full_like(tau, np.nan)
assert robot.inverse_dynamics(q, v, a, out=out, threads=1) is out
np.testing.assert_array_equal(out, tau)
