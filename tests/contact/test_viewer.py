"""The viewer draws the forces and cones of a run's contacts."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact
from loose_bodies import standing, table
from tolerances import INTEGRATED, REACHED, SETTLED


def test_arrows_are_the_forces_of_the_sample() -> None:
    pytest.importorskip("viser", reason="the viewer needs it")
    from dalembert.view.contacts import ContactMarks

    robot = table()
    run = robot.simulate(*standing(0.4), duration=0.3, step=2e-3, contact=Contact())
    with run.view(port=0) as viewer:
        marks = ContactMarks(viewer.server.scene, "/test", run.contacts, 1.0)
        assert viewer.scenes[0].lowest() == pytest.approx(
            0.4 - 0.32, abs=REACHED
        )  # it hangs over the ground as in the run
        marks.show(0)
        assert np.ptp(marks._arrows.points, axis=1).max() == 0.0 and not marks._arrows.visible  # in the air
        marks.show(len(run.t) - 1)
        assert marks._arrows.visible and marks._cones.visible
        marks.visible(False)
        marks.show(len(run.t) - 1)
        assert not marks._arrows.visible
        arrows = marks._arrows.points
        np.testing.assert_allclose(arrows[:, 1] - arrows[:, 0], marks.scale * run.contacts.force[-1], atol=INTEGRATED)
        edges = marks._cones.points
        slope = np.linalg.norm((edges[:, 1] - edges[:, 0])[:, :2], axis=1) / (edges[:, 1] - edges[:, 0])[:, 2]
        np.testing.assert_allclose(slope, 0.6, rtol=SETTLED)
