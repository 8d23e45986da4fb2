"""Pictures of runs: every curve can be told from the others, and is called what people call it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert import ModelBuilder, load
from dalembert.sim.run.plot import labels, style

pytest.importorskip("matplotlib")


def test_components_of_free_and_ball_joints_have_names() -> None:
    run = load("quadrotor").simulate(load("quadrotor").neutral(), np.zeros(6), 0.02)
    joint = load("quadrotor").joints[0].name
    assert labels(run, "q") == [f"{joint} {c}" for c in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    assert labels(run, "v") == [f"{joint} {c}" for c in ("ωx", "ωy", "ωz", "vx", "vy", "vz")]
    assert labels(run, "tau") == [f"{joint} {c}" for c in ("τx", "τy", "τz", "Fx", "Fy", "Fz")]
    builder = ModelBuilder("pendulum")
    heavy = {"mass": 1.0, "com": (0.0, 0.0, -0.3), "inertia": 0.01 * np.eye(3)}
    builder.add_body("bob", parent="world", joint="ball", joint_name="pivot", **heavy)
    builder.add_body("tip", parent="bob", joint="cylindrical", joint_name="tube[1]", axis=(0, 0, 1), **heavy)
    robot = builder.build()
    run = robot.simulate(robot.neutral(), np.zeros(5), 0.02)
    assert labels(run, "q") == ["pivot qw", "pivot qx", "pivot qy", "pivot qz", "tube[1][0]", "tube[1][1]"]
    assert labels(run, "v")[:3] == ["pivot ωx", "pivot ωy", "pivot ωz"] and labels(run, "v")[3] == "tube[1][0]"
    texts = [text.get_text() for text in run.plot("q").axes[0].get_legend().get_texts()]
    assert texts[0] == "pivot qw" and texts[-1] == "tube[1][1] [m]"


def test_thirty_curves_differ() -> None:
    assert len({tuple(style(k).items()) for k in range(30)}) == 30
    run, names = load("2r").simulate(np.zeros(2), np.zeros(2), 0.01), tuple(f"joint {k}" for k in range(30))
    wide = replace(run, freedoms=names, v=np.zeros((len(run.t), 30)), freedom_units=("rad",) * 30)
    lines = wide.plot("v").axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(lines) == 30
