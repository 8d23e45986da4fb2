"""An acrobot is swung up by its elbow alone and held; then: from which states does the regulator hold it?

With matplotlib, the region of attraction is drawn to swing_up.png in the folder given as argument.
"""

import sys
from pathlib import Path

import numpy as np

from dalembert import control, load

acrobot, top = load("acrobot"), np.array([np.pi, 0.0])
hold = control.lqr(acrobot, top)
law = control.energy_shaping(acrobot, top, hold=hold)
run = acrobot.simulate([0.05, 0.0], [0.0, 0.0], 40.0, law, "rk4", 2e-3)
near = np.array([bool(law.near(q, v)) for q, v in zip(run.q, run.v, strict=True)])
print(
    f"caught after {run.t[np.argmax(near)]:.1f} s; at the end {np.abs(hold.state(run.q[-1], run.v[-1])).max():.1e} off"
)
assert near[-100:].all() and np.abs(run.tau).max() <= 20.0

angles, rates = np.linspace(-0.5, 0.5, 81), np.linspace(-2.0, 2.0, 81)
grid = np.stack(np.meshgrid(angles, rates), -1).reshape(-1, 2)
q = top + np.stack([grid[:, 0], np.zeros(len(grid))], -1)
v = np.stack([grid[:, 1], np.zeros(len(grid))], -1)
held = control.region_of_attraction(hold, top, q, v)
print(f"{held.sum()} of {held.size} states of the shoulder are held by the regulator alone")
assert 0.02 < held.mean() < 0.98 and held[len(held) // 2]

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.contourf(angles, rates, held.reshape(81, 81), levels=[-0.5, 0.5, 1.5], colors=["#f0f0f0", "#4c9f70"])
    axes.contour(angles, rates, np.array([hold.cost(a, b) for a, b in zip(q, v, strict=True)]).reshape(81, 81),
                 levels=[law.region], colors="k", linestyles="--")  # fmt: skip
    axes.set(xlabel="shoulder from upright [rad]", ylabel="its rate [rad/s]", title="held by the regulator")
    figure.savefig(Path(sys.argv[1]) / "swing_up.png", dpi=110)
