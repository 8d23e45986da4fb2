"""Contact of robots that cannot move in all directions of it: arms in a plane."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import Contact
from dalembert.model.geometry import Sphere
from tolerances import CONTACT_SOLVER, MILLISECOND_STEPS


def test_an_arm_with_one_joint_falls_onto_the_floor_and_stays_there() -> None:
    builder = dalembert.ModelBuilder("flap")
    builder.add_body(
        "flap", parent="world", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.25, 0, 0), inertia=0.01 * np.eye(3),
        xyz=(0, 0, 0.3),
    )  # fmt: skip
    builder.add_geometry(Sphere(0.05), body="flap", xyz=(0.5, 0, 0), role="collision", name="tip")
    robot = dalembert.Robot(builder.model())
    end = robot.rollout(np.zeros(1), np.zeros(1), step=1e-3, steps=800, contact=Contact())
    assert end.q[0] == pytest.approx(np.arcsin(0.25 / 0.5), abs=2 * MILLISECOND_STEPS)
    assert abs(end.v[0]) < CONTACT_SOLVER
