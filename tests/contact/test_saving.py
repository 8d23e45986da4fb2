"""Contacts are saved and loaded with a run, and are part of a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import Contact, load_run
from loose_bodies import box, standing, table
from tolerances import COMPUTED, CONTACT_SOLVER


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet", "h5", "mcap"])
def test_contacts_come_back_with_the_run(tmp_path: Path, ending: str) -> None:
    run = table().simulate(
        *standing(0.4, 0.5, 0.0, 0.0),
        duration=0.2,
        step=2e-3,
        contact=Contact(friction={"foot0": 0.3}, static_friction=0.7),
    )
    path = tmp_path / f"run.{ending}"
    run.save(path)
    again = load_run(path).contacts
    assert (again.names, again.bodies, again.model) == (run.contacts.names, run.contacts.bodies, "rigid")
    assert (again.unsettled, again.worst) == (run.contacts.unsettled, run.contacts.worst)
    for name in (
        "t",
        "gap",
        "position",
        "force",
        "normal",
        "velocity",
        "friction",
        "sliding",
        "passes",
        "residual",
        "ratio",
    ):
        np.testing.assert_allclose(getattr(again, name), getattr(run.contacts, name), rtol=COMPUTED, err_msg=name)
    assert again.plot() is not None


def test_a_run_without_contact_comes_back_without(tmp_path: Path) -> None:
    run = box().simulate(*standing(1.0), duration=0.01)
    run.save(tmp_path / "run.npz")
    assert load_run(tmp_path / "run.npz").contacts is None


def test_a_report_shows_the_contacts_of_a_run(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the report needs it")
    from dalembert.report import figures, page

    run = table().simulate(*standing(0.32), duration=0.1, step=2e-3, contact=Contact())
    rows = page._contact_rows(run.contacts)
    assert [row["last"] for row in rows] == pytest.approx([29.43] * 4, rel=CONTACT_SOLVER)
    picture = figures.support(run)
    assert picture is not None and "margin at the end 200 mm" in picture
    assert figures.contact_curves(run) is not None
    assert figures.support(None) is None
