"""Two thousand motions of a Panda at once: random torques, and the same with inertias of each motion's own."""

import numpy as np

from dalembert import load

robot = load("panda")
rng = np.random.default_rng(0)
n, steps = 2000, 100
q, v = robot.random(rng, n), np.zeros((n, robot.nv))
tau = rng.normal(size=(n, steps, robot.nv))  # a row for every motion and step

end = robot.rollout(q, v, tau, step=1e-3, steps=steps)
print("positions at the end", end.q.shape, "after", end.t, "s")

# The same bits however the batch is split, and over any number of threads.
half = robot.rollout(q[: n // 2], v[: n // 2], tau[: n // 2], step=1e-3, steps=steps, threads=1)
np.testing.assert_array_equal(half.q, end.q[: n // 2])

# Masses as inputs, and the states of every tenth step.
scale = rng.uniform(0.9, 1.1, (n, 1))
made = robot.rollout(q, v, tau, steps=steps, every=10, parameters={"inertia": scale * robot.parameters()})
print("recorded", made.q.shape, "at", made.t)
assert made.q.shape == (n, 10, robot.nq)
assert np.abs(made.q[:, -1] - end.q).max() > 1e-6
