"""What notebooks show of results: tables with their names escaped, figures as pictures."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from lxml import html as parser

from dalembert import ModelBuilder, load, motion, notebook
from dalembert.audit.result import Audit
from dalembert.identify.validation import Validation


def parsed(x) -> parser.HtmlElement:
    return parser.fromstring(f"<div>{x._repr_html_()}</div>")


def cells(x) -> list[list[str]]:
    return [[cell.text_content() for cell in row] for row in parsed(x).findall(".//tr")]


def test_text_is_escaped_and_numbers_are_short():
    text = notebook.html("<b>", ("a", "b"), [("<script>", 1.23456789), ("x", np.inf)], ["& more"])
    assert "<script>" not in text and "&lt;script&gt;" in text and ">1.235<" in text and "&amp; more" in text
    assert "<table>" not in notebook.html("nothing")


@pytest.fixture(scope="module")
def run():
    b = ModelBuilder("<i>swing</i>")
    b.add_body("rod", parent="world", joint="revolute", joint_name="a<b", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    return b.build().simulate([0.5], [0.0], 0.1, torque=np.array([2.0]))


def test_a_run_and_its_energy(run):
    rows = cells(run)
    assert rows[0][0] == "freedom" and rows[1][0] == "a<b" and rows[1][2:] == ["2", "2"]
    assert "<Run of" in parsed(run).text_content()
    assert "unaccounted for" in parsed(run.audit()).find(".//li").text_content()


def test_an_empty_run(run):
    from dataclasses import replace

    empty = replace(run, t=run.t[:0], q=run.q[:0], v=run.v[:0], tau=run.tau[:0])
    assert "empty" in parsed(empty).text_content() and not cells(empty)


def test_audit_and_sizing():
    robot = load("2r")
    audit = robot.audit(rules=["friction-missing"])
    assert isinstance(audit, Audit) and cells(audit)[1][-1] == "friction-missing"
    rows = cells(robot.sizing())
    assert [row[0] for row in rows[1:]] == [joint.name for joint in robot.joints]


def test_validation():
    t = np.linspace(0.0, 1.0, 50)
    tau = np.sin(9.0 * t)[:, None] * [1.0, 2.0]
    rows = cells(Validation(("a", "b"), t, tau, 1.01 * tau, 2.0 * tau))
    assert [row[:2] for row in rows[1:]] == [["a", "passed"], ["b", "passed"]]


def test_plan():
    robot = load("2r")
    problem = robot.optimal_control(
        lambda q, v, u: {"effort": (1e-3, u)}, lambda q, v: {"there": (1.0, q - 0.1)}, step=0.02, nodes=5
    )
    rows = dict(cells(problem.solve(robot.neutral()))[1:])
    assert {"effort", "there", "all costs", "duration [s]"} <= set(rows) and rows["duration [s]"] == "0.1"


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_figures_are_pictures(run):
    move = motion.quintic([0.0], [1.0], 1.0)
    for figure in (run.plot("q"), move.plot(), notebook.figure(2.0, 1.0)):
        assert figure._repr_png_().startswith(b"\x89PNG")


def test_without_matplotlib(run, monkeypatch):
    import sys

    notebook._figure_class.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"figures need matplotlib: pip install 'dalembert\[plot\]'"):
        run.plot("q")
