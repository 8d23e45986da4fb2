"""Drake, underactuated robotics: the acrobot's regulator (pydrake.examples.AcrobotPlant, drake 1.51.1).

The original: plant, context, LinearQuadraticRegulator, diagram, simulator; 20 statements. This: 9. Drake simulates 2 s
to 1e-8 in 15.0 ms, this rollout of 2000 steps takes 0.4 ms and one of 1000 starts at once 0.1 ms each, on one core of
the same shared machine. With --plot PATH the run is drawn.
"""

import numpy as np
from port import picture, seconds

from dalembert import ModelBuilder, control

GAINS = [-278.4422312581846, -112.29125984627717, -119.72457376877719, -56.828240172501864]  # of drake 1.51.1
AFTER = [3.139514669737308, 0.006238845025957, 0.005005267557464, -0.013267280859752]  # its simulator, at 2 s

builder = ModelBuilder("acrobot")
builder.add_body("upper", parent="world", joint="continuous", joint_name="shoulder", axis=(0, 1, 0), mass=1.0,
                 com=(0, 0, -0.5), inertia=np.diag([0.083, 0.083, 1e-3]), damping=0.1)  # fmt: skip
builder.add_body("lower", parent="upper", joint="continuous", joint_name="elbow", axis=(0, 1, 0), xyz=(0, 0, -1),
                 mass=1.0, com=(0, 0, -1), inertia=np.diag([0.33, 0.33, 1e-3]), damping=0.1)  # fmt: skip
acrobot = builder.build()
law = control.lqr(acrobot, [np.pi, 0.0], Q=[10.0, 10.0, 1.0, 1.0], R=1.0, motors="elbow")
start = np.array([np.pi + 0.05, -0.1])
end = acrobot.rollout(start, np.zeros(2), law, 1e-3, 2000, "rk4")

np.testing.assert_allclose(law.K[1], GAINS, rtol=1e-9)
np.testing.assert_allclose([*end.q, *end.v], AFTER, atol=1e-7)
elapsed = seconds(lambda: acrobot.rollout(start, np.zeros(2), law, 1e-3, 2000, "rk4"))
print(f"gains {law.K[1]}, after 2 s {end.q} {end.v}; {1e3 * elapsed:.2f} ms, Drake 15.0 ms")
picture(lambda path: acrobot.simulate(start, np.zeros(2), 2.0, law).plot().savefig(path))
