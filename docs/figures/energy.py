"""Draws docs/figures/energy.svg: the energy error of a free three-link arm over a million steps, by integrator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert import ModelBuilder, SimulationError

STEP, STEPS = 1e-2, 1_000_000

builder = ModelBuilder("arm", gravity=(0, 0, 0))
for k in range(3):
    builder.add_body(
        f"link{k}",
        parent=f"link{k - 1}" if k else "world",
        joint="revolute",
        axis=(0, 1, 0),
        xyz=(0.5 if k else 0.0, 0, 0),
        mass=1.0,
        com=(0.25, 0, 0),
        inertia=np.diag([0.001, 0.02, 0.02]),
    )
robot = builder.build()


def main() -> None:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.fonttype"], matplotlib.rcParams["svg.hashsalt"] = "none", "energy"
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for integrator in ("implicit-midpoint", "variational", "rk4", "semi-implicit", "heun"):
        try:
            run = robot.simulate([0.0, 0.5, -0.5], [1.0, -2.0, 3.0], STEP * STEPS, None, integrator, STEP, record=50.0)
        except SimulationError as error:
            run = error.run
            print(error)
        drift = np.abs(run.energy.residual[1:]) / run.energy.kinetic[0]
        axes.loglog(run.t[1:], np.maximum.accumulate(drift), label=integrator)
        print(f"{integrator}: {run.steps} steps, largest error {drift.max():.2e} of the energy")
    axes.set_xlabel(f"t [s], steps of {STEP:g} s")
    axes.set_ylabel("largest error so far / energy")
    axes.set_ylim(1e-7, 10)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
