"""The viewer draws the forces and cones of a run's contacts."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact
from loose_bodies import standing, table
from tolerances import INTEGRATED, REACHED, SETTLED


def test_arrows_are_the_forces_of_the_sample() -> None:
    pytest.importorskip("viser", reason="the viewer needs it")
    from dalembert.view.contacts import OUT_OF_SIGHT, ContactMarks

    robot = table()
    run = robot.simulate(*standing(0.4), duration=0.3, step=2e-3, contact=Contact())
    with run.view(port=0) as viewer:
        marks = ContactMarks(viewer.server.scene, "/test", run.contacts, 1.0)
        assert viewer.scenes[0].lowest() == pytest.approx(
            0.4 - 0.32, abs=REACHED
        )  # it hangs over the ground as in the run
        marks.show(0)
        assert (marks._arrows.points == OUT_OF_SIGHT.astype(np.float32)).all()  # in the air
        assert not np.ptp(marks._cones.points, axis=1).any()
        marks.show(len(run.t) - 1)
        arrows, edges = marks._arrows.points, marks._cones.points
        np.testing.assert_allclose(arrows[:, 1] - arrows[:, 0], marks.scale * run.contacts.force[-1], atol=INTEGRATED)
        slope = np.linalg.norm((edges[:, 1] - edges[:, 0])[:, :2], axis=1) / (edges[:, 1] - edges[:, 0])[:, 2]
        np.testing.assert_allclose(slope, 0.6, rtol=SETTLED)
        marks.visible(False)
        marks.show(len(run.t) - 1)
        assert (marks._arrows.points == OUT_OF_SIGHT.astype(np.float32)).all()
        marks.visible(True)
        np.testing.assert_array_equal(marks._arrows.points, arrows)
        assert marks._arrows.visible and marks._cones.visible  # never hidden: see ContactMarks


def test_an_impact_leaves_the_arrows_of_what_stands_long() -> None:
    pytest.importorskip("viser", reason="the viewer needs it")
    from dalembert.view.contacts import FORCE_LENGTH, MOST, ContactMarks

    robot = table()
    run = robot.simulate(*standing(0.4), duration=2.0, step=2e-3, record=2e-3, contact=Contact())
    struck, forces = int(np.argmax(run.contacts.normal_force[:, 0])), run.contacts.normal_force[:, 0]
    assert forces[struck] > 20.0 * forces[-1] > 0.0
    with robot.view(port=0) as viewer:
        marks = ContactMarks(viewer.server.scene, "/test", run.contacts, 1.0)
        for sample, long in ((struck, MOST * FORCE_LENGTH), (-1, FORCE_LENGTH)):
            marks.show(sample)
            arrow = marks._arrows.points[0]
            assert np.linalg.norm(arrow[1] - arrow[0]) == pytest.approx(long, rel=REACHED)
