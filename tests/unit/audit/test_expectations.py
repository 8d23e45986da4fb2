"""Expectations of a trusted robot: written, read back, kept by the robot itself, broken by a damaged one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, cli, load
from dalembert.audit import Expectations, expectations_of, read_expectations, write_expectations
from dalembert.audit.expectations import ControllerExpectations

RULES = ["expected-sizes", "expected-masses", "expected-reach", "expected-gravity"]
GRAVITY = "gravity-direction"


def said(audit) -> dict[str, str]:
    texts: dict[str, str] = {}
    for finding in audit.findings:
        texts[finding.rule] = texts.get(finding.rule, "") + f"{finding.where}: {finding.what}\n"
    return texts


@pytest.mark.parametrize("name", ["ur5", "delta", "quadruped", "stanford", "2r"])
def test_a_robot_meets_its_own_expectations(name: str, tmp_path) -> None:
    robot = load(name)
    file = tmp_path / "robot.toml"
    file.write_text(write_expectations(expectations_of(robot), "a title"), "utf-8")
    assert read_expectations(file) == expectations_of(robot)
    audit = robot.audit(rules=RULES, expect=file)
    assert audit.ok and audit.passed == tuple(RULES), str(audit)


def edited(robot, **damage):
    editor = robot.edit()
    for method, arguments in damage.items():
        getattr(editor, method)(*arguments[0], **arguments[1])
    return editor.done()


DAMAGES = {
    "mass": ({"set_inertia": (["forearm_link"], {"mass": 1.4})}, "expected-masses", "forearm_link"),
    "centre of mass": (
        {"set_inertia": (["forearm_link"], {"com": (0.35, 0.0, 0.01)})}, "expected-gravity", "elbow_joint",
    ),
    "axis": ({"set_joint": (["elbow_joint"], {"axis": (1, 0, 0)})}, "expected-gravity", "elbow_joint"),
    "length": ({"scale": ([1000.0], {})}, "expected-reach", "1193 m"),
    "base": ({"base": (["free"], {})}, "expected-sizes", "base is free, expected fixed"),
    "gravity": ({"gravity": ([(0, 0, 9.81)], {})}, "gravity-direction", "expected [0.0, 0.0, -9.81]"),
    "name": (
        {"rename": ([], {"joints": {"elbow_joint": "elbow"}})}, "expected-sizes", "joints are not expected: elbow",
    ),
    "joint locked": ({"lock": ([{"elbow_joint": 0.0}], {})}, "expected-sizes", "nv is 5, expected 6"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_robot_does_not_meet_them(damage: str) -> None:
    edits, rule, words = DAMAGES[damage]
    robot = load("ur5")
    audit = edited(robot, **edits).audit(rules=[*RULES, GRAVITY], expect=expectations_of(robot))
    assert not audit.ok and words in said(audit).get(rule, ""), str(audit)


def test_within_ten_percent_is_met_and_the_tolerance_can_be_stated(tmp_path) -> None:
    robot = load("ur5")
    lighter = robot.edit().set_inertia("forearm_link", mass=2.33 * 0.93).done()
    assert lighter.audit(rules=RULES, expect=expectations_of(robot)).ok
    file = tmp_path / "strict.toml"
    file.write_text("[model]\ntolerance = 0.01\n[masses]\nforearm_link = 2.33\n", "utf-8")
    assert not lighter.audit(rules=["expected-masses"], expect=file).ok
    assert robot.audit(rules=["expected-masses"], expect=file).ok


def test_without_expectations_their_rules_do_not_run() -> None:
    audit = load("2r").audit(rules=RULES)
    assert audit.ok and not audit.passed and {item.rule for item in audit.skipped} == set(RULES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[modle]\n", "did you mean 'model'"),
        ("[model]\nmas = 3\n", "did you mean 'mass'"),
        ("[model]\nnq = 'six'\n", "expected a whole number"),
        ("[model]\nmass = nan\n", "expected a number"),
        ("[model]\njoints = 'elbow'\n", "expected a list"),
        ("[masses]\nlink = [1]\n", "expected a number"),
        ("[[pose]]\nname = 'home'\n", "has no q"),
        ("model = 3\n", "expected a table"),
        ("[model\n", "cannot be read"),
    ],
)
def test_wrong_files_are_explained(text: str, message: str, tmp_path) -> None:
    file = tmp_path / "robot.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(DalembertError, match=message):
        read_expectations(file)


def test_names_that_toml_would_not_take_are_quoted(tmp_path) -> None:
    builder = ModelBuilder('a "robot"\n')
    builder.add_body("link 1.é", parent="world", joint="revolute", joint_name='joint "1"', axis=(0, 1, 0), mass=1.0,
                     com=(0.1, 0, 0), inertia=0.1 * np.eye(3))  # fmt: skip
    robot = builder.build()
    file = tmp_path / "robot.toml"
    file.write_text(write_expectations(expectations_of(robot)), "utf-8")
    assert read_expectations(file) == expectations_of(robot)
    assert robot.audit(rules=RULES, expect=file).ok


def test_the_commands(tmp_path, capsys) -> None:
    file = tmp_path / "arm.toml"
    assert cli.main(["expect", "2r", "--out", str(file)]) == 0
    assert cli.main(["audit", "2r", "--expect", str(file), "--rule", "expected-sizes"]) == 0
    capsys.readouterr()
    assert cli.main(["audit", "3r", "--expect", str(file), "--rule", "expected-sizes", "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert any("nq is 3, expected 2" in finding["what"] for finding in content["findings"])
    assert cli.main(["expect", "2r"]) == 0
    assert "[[pose]]" in capsys.readouterr().out
    assert cli.main(["audit", "2r", "--expect", "no.toml"]) == 2
    assert isinstance(read_expectations(file), Expectations)


def test_a_class_without_a_usual_resonance_is_not_compared() -> None:
    """The reference has a number for arms; a quadruped's legs are judged by the gains alone."""
    stated = Expectations(controller=ControllerExpectations(kp=1600.0, kd=50.0))
    audit = load("quadruped").audit(rules=["controller"], expect=stated)
    (left_out,) = audit.skipped
    assert "none is usual for the class legged" in left_out.because and not audit.findings
    slow = replace(stated, controller=replace(stated.controller, resonance=12.0))
    (found,) = load("quadruped").audit(rules=["controller"], expect=slow).findings
    assert "of the resonance, 12 Hz (stated)" in found.what
