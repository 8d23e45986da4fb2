"""PyDy, n-pendulum control: five point masses on a chain on a cart, balanced upright (SymPy 1.14.0, SciPy 1.17.1).

The original derives Kane's equations for 3.4 s, linearises, solves the Riccati equation and integrates 5 s of the
closed loop in 6.3 s; about 60 statements. This: 17. The same run, to the same tolerance, takes 6 ms here. Recorded
are the gains, and the state after 1 s of the original's equations, integrated to 1e-12. With --plot PATH it is drawn.
"""

import numpy as np
from port import picture, seconds

from dalembert import ModelBuilder, control

LINKS = 5
GAINS = [-1.000000000021, 129.5328115302, -1371.580512287, 4402.349878507, -5531.501564379, 2394.377067952,
         -2.387743138132, 1.546878440745, -31.79033860564, 174.9202098029, -316.0523151767, 184.9871295129]  # fmt: skip
AFTER = [-0.197665903975, 1.531030159517, 1.534748840449, 1.53822224135, 1.541422095204, 1.544334718088, -0.1939346319,
         -0.036989123166, -0.044658896573, -0.050036598249, -0.053334305607, -0.054843964568]  # fmt: skip

builder = ModelBuilder("chain")
builder.add_body("cart", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=0.01 / LINKS)
for k in range(LINKS):  # upright at 0, turning as the original's angles do
    builder.add_body(f"link{k}", parent=f"link{k - 1}" if k else "cart", joint="continuous", axis=(0, -1, 0),
                     xyz=(0, 0, 1.0 / LINKS if k else 0.0), mass=0.01 / LINKS, com=(0, 0, 1.0 / LINKS))  # fmt: skip
chain = builder.build()
T = np.eye(LINKS + 1)  # the original's angles, from the horizontal, are sums of those of the joints
T[1:, 1:] = np.tril(np.ones((LINKS, LINKS)))
whole = np.kron(np.eye(2), T)
law = control.lqr(chain, np.zeros(LINKS + 1), Q=whole.T @ whole, R=1.0, motors="x")
start = np.zeros(LINKS + 1)
start[1] = np.radians(2.0)
run = chain.simulate(start, np.zeros(LINKS + 1), 1.0, law, rtol=1e-11, atol=1e-12)

np.testing.assert_allclose(law.K[0] @ np.linalg.inv(whole), GAINS, rtol=1e-6)
reached = whole @ np.concatenate([run.q[-1], run.v[-1]]) + np.r_[0.0, np.full(LINKS, np.pi / 2), np.zeros(LINKS + 1)]
np.testing.assert_allclose(reached, AFTER, atol=1e-8)
elapsed = seconds(lambda: chain.simulate(start, np.zeros(LINKS + 1), 5.0, law, rtol=1e-10, atol=1e-12), 3)
off = np.abs(reached - AFTER).max()
print(f"gains as recorded, state after 1 s to {off:.1e}; 5 s in {1e3 * elapsed:.1f} ms, original 6282 ms")
picture(lambda path: run.plot().savefig(path))
