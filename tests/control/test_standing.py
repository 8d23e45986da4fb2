"""The bundled quadruped on the ground of the contact room, held by the whole-body program at 500 Hz."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, Sampled, control, load
from tolerances import REACHED

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


@pytest.mark.long
def test_a_pushed_quadruped_comes_back() -> None:
    """All of it, program and contact, in one compiled loop."""
    robot = load("quadruped")
    q = robot.neutral()
    q[2], q[7:] = 0.3, np.tile([0.0, 0.8, -1.6], 4)
    q[2] -= min(robot.pose(q, foot)[2, 3] for foot in FEET) - 0.02  # radius of the feet
    tasks = [
        control.Frame(frame="trunk", goal=robot.pose(q, "trunk"), weight=100.0),
        control.Posture(goal=q, weight=np.r_[np.zeros(6), np.ones(12)]),
    ]
    law = control.whole_body(robot, tasks, [control.Support(frame=foot, friction=0.6) for foot in FEET])
    pushed = np.zeros((3, robot.nv))
    pushed[1, 4], pushed[2, 3] = 0.3, -0.3  # m/s, to the side and backwards
    run = robot.rollout(q, pushed, Sampled(law, 2e-3), 1e-3, 1500, contact=Contact(ground=0.0, friction=0.8), every=300)
    off = np.abs(run.q[:, -1, :3] - q[:3])
    assert off[0].max() < REACHED
    assert off.max() < 2e-2 and np.abs(run.v[:, -1]).max() < 5e-2
    assert np.abs(run.q[1:, 0, :2] - q[:2]).max() > 1e-3  # they were moved
