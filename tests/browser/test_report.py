"""The report as a person sees it: opened from disk, offline, with the robot in 3-D; also on paper."""

from __future__ import annotations

import pytest

from dalembert import load

for library in ("viser", "jinja2", "matplotlib"):
    pytest.importorskip(library)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    from dalembert.report import write_report

    return write_report(load("scara"), tmp_path_factory.mktemp("report") / "report.html", payload=1.0)


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
