"""The report as a person sees it: opened from disk, offline, with the robot in 3-D; also on paper."""

from __future__ import annotations

import pytest

from dalembert import load

for library in ("viser", "jinja2", "matplotlib"):
    pytest.importorskip(library)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    from dalembert.report import write_report

    return write_report(load("stanford"), tmp_path_factory.mktemp("report") / "report.html", payload=1.0)


def test_it_opens_from_disk_with_no_request(report, page) -> None:
    page.set_viewport_size({"width": 1000, "height": 500})
    page.goto(report.as_uri())
    scene = page.frame_locator("iframe")
    scene.locator("canvas").first.wait_for(timeout=30000)
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert page.errors == []
    for heading in ("Audit", "Joints", "Bodies", "Reach", "Torque and power", "Reaction peaks", "Actuators"):
        assert page.get_by_role("heading", name=heading).count() >= 1, heading
    assert page.locator("svg").count() >= 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_prints(report, page) -> None:
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    assert not page.locator("iframe").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_maps_of_gravity_have_the_units_of_their_joints() -> None:
    from dalembert.report.figures import gravity_map

    assert gravity_map(load("scara")) is None  # the quill's weight is the same everywhere
    slide = gravity_map(load("stanford"))
    assert slide is not None and "[m]" in slide and "[°]" in slide and "gravity force of" in slide
    assert "[m]" not in (gravity_map(load("ur5")) or "")
