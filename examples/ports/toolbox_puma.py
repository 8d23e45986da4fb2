"""Robotics Toolbox, puma_fdyn with a PD law and gravity: a Puma 560 goes to a pose (roboticstoolbox 1.5.0).

The original: 8 statements, 13.9 ms for 2 s at its default tolerance of 1e-3, 139 ms at 1e-10. This: 9, 1.1 ms at
1e-10. Recorded is the
state after 0.5 s at 1e-10.
"""

import numpy as np
from port import picture, seconds

from dalembert import load

AFTER = [0.390310726736143, 1.123097042990698, -1.945721149733554, 0.268714121525022, 0.543468936759795,
         -0.142248136894893]  # fmt: skip
puma = load("puma560").without("friction")
goal = np.array([0.5, 1.0, -2.0, 0.3, 0.6, -0.2])
kp, kd = np.array([80.0, 120.0, 60.0, 4.0, 4.0, 2.0]), np.array([20.0, 30.0, 12.0, 0.6, 0.6, 0.3])


def law(t, q, v):
    return kp * (goal - q) - kd * v + puma.gravity(q)


start = np.array([0.0, np.pi / 2, -np.pi / 2, 0.0, 0.0, 0.0])
run = puma.simulate(start, np.zeros(6), 2.0, law, rtol=1e-10, atol=1e-12)

np.testing.assert_allclose(run.q[50], AFTER, atol=1e-8)
elapsed = seconds(lambda: puma.simulate(start, np.zeros(6), 2.0, law, rtol=1e-10, atol=1e-12))
print(f"after 0.5 s {run.q[50]}; 2 s in {1e3 * elapsed:.1f} ms, the toolbox 139 ms")
picture(lambda path: run.plot().savefig(path))
