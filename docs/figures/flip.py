"""Draws docs/figures/flip.svg: a body that spins about its middle axis turns over again and again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert import ModelBuilder


def main() -> None:
    import matplotlib
    from matplotlib.figure import Figure

    builder = ModelBuilder("body", gravity=(0, 0, 0))
    builder.add_body("body", parent="world", joint="free", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]))
    robot = builder.build()
    run = robot.simulate(robot.neutral(), [0.1, 3.0, 0.1, 0, 0, 0], duration=30.0, record=0.02)
    matplotlib.rcParams["svg.fonttype"], matplotlib.rcParams["svg.hashsalt"] = "none", "flip"
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    for k, name in enumerate(
        ("ω about the smallest moment", "ω about the middle moment", "ω about the largest moment")
    ):
        axes.plot(run.t, run.v[:, k], label=name)
    axes.set_xlabel("t [s]")
    axes.set_ylabel("rad/s, body axes")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
