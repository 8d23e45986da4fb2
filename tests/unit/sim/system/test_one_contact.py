"""What a step says of one contact: whether it was passed through before the step could act."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact
from dalembert.sim.elements.contact import Memory
from dalembert.sim.system.one_contact import passed, speeds_apart
from tolerances import COMPUTED

STEP = 2e-3
UNDER_WAY = Memory(*[np.zeros(0)] * 8, residual=0.0, worst=0.0, unsettled=0.0, passes=3.0, owed=0.0)
HINGES = np.array([[0.0, 0.2, 0.2], [-0.3, 0.0, 0.0], [0.0, 0.0, 0.0]])  # how three joints move a point [m]
TURNING = np.array([0.2, 30.0, -30.3])  # [rad/s]


def test_speeds_that_cancel_do_not_hide_that_a_link_turns() -> None:
    apart = speeds_apart(HINGES, TURNING)
    assert apart == pytest.approx(0.06**2 + 6.0**2 + 6.06**2, rel=COMPUTED)
    along = speeds_apart(np.eye(3), np.array([1.0, 2.0, 2.0]))
    assert along == pytest.approx(9.0, rel=COMPUTED)  # of what does not turn it is the square of its speed


def test_a_bent_way_is_not_taken_for_one_that_was_passed_through() -> None:
    """Half of (30 rad/s · 2 ms)² of 0.2 m: what a link sinks in while it turns; not twenty times that."""
    before, apart = HINGES @ TURNING, speeds_apart(HINGES, TURNING)
    depth = 0.5 * (30.0 * STEP) ** 2 * 0.2
    before[0] = -1.2 * depth / STEP  # it came about in this step
    assert passed(Contact(), STEP, -depth, before, 0.0, UNDER_WAY) == pytest.approx(depth / STEP)
    assert passed(Contact(), STEP, -depth, before, 0.0, UNDER_WAY, apart) == 0.0
    before[0] *= 20.0
    assert passed(Contact(), STEP, -20.0 * depth, before, 0.0, UNDER_WAY, apart) > 1.0
