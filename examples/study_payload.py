"""A study of 20 000 motions: which payload and gain does a Panda stand, and what decides?

All rows run in SIMD lanes of one compiled rollout. The folder would keep them; here it is a temporary one.
"""

import numpy as np

from dalembert import load, study
from dalembert.math import abs

robot = load("panda")
goal = robot.home()[0]


def law(t, q, v, gain):
    return robot.inverse_dynamics(q, v, gain * (goal - q) - 2.0 * gain**0.5 * v)


space = study.Space(
    payload=study.uniform(0.0, 5.0), gain=study.grid(25.0, 100.0), start=study.states(robot, spread=0.3)
)
run = study.motion(
    torque=law,
    step=2e-3,
    steps=100,
    parameters={"payload": "payload", "gain": "gain"},
    measure={"peak": lambda tau: abs(tau), "droop": lambda q: (q - goal) @ (q - goal)},
    reduce={"peak": "max", "droop": "last"},
)
result = robot.study(space, run, samples=10_000, method="sobol").run()
table = result.table()
print(result)
print(result.sensitivity("droop"))

worst = result.worst("peak", 1)[0]
again = result.repeat(worst["row"])  # the whole run of that row, with its energy ledger
print(f"row {worst['row']}: {worst['payload']:.2f} kg at gain {worst['gain']:g}, {np.max(worst['peak']):.1f} N·m")

soft, stiff = (table["droop"][table["gain"] == gain] for gain in (25.0, 100.0))
print(f"median droop² at gain 25: {np.median(soft):.2e}, at gain 100: {np.median(stiff):.2e} rad²")

assert len(table["row"]) == 20_000 and not result.failed
assert np.median(stiff) < np.median(soft)
np.testing.assert_allclose(np.abs(again.tau).max(axis=0), worst["peak"], rtol=0.02)
heavy, light = table["payload"] > 4.0, table["payload"] < 1.0
assert table["peak"][heavy, 1].mean() > table["peak"][light, 1].mean()
