"""What people see of a robot in a notebook."""

from __future__ import annotations

from lxml import html

from dalembert import ModelBuilder, load


def test_notebooks_show_the_joints_as_a_table() -> None:
    page = html.fromstring(f"<div>{load('panda')._repr_html_()}</div>")
    rows = [[cell.text_content() for cell in row] for row in page.xpath("//tr")]
    assert len(rows) == 8 and rows[0][0] == "joint"
    assert rows[4][:5] == ["panda_joint4", "revolute", "panda_link3", "panda_link4", "-176 … -3.999°"]
    assert "<Robot 'panda': 7 joints, nq=7, nv=7>" in page.text_content()


def test_names_are_escaped_and_followers_named() -> None:
    builder = ModelBuilder("a<b>")
    builder.add_body("x<y>", parent="world", joint="prismatic", mass=1.0, lower=-0.5, upper=0.5)
    builder.add_body("z", parent="x<y>", joint="revolute", mass=1.0, mimic=("x<y>", 2.0, 0.0))
    text = builder.build()._repr_html_()
    assert "x<y>" not in text and "x&lt;y&gt;" in text and "follows x&lt;y&gt;" in text
    assert "-0.5 … 0.5 m" in text
