"""The reference has every method of a robot, under its purpose."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import dalembert

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(DOCS))
    try:
        import reference

        yield reference
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def robot_page(reference):
    return reference.described("dalembert.Robot", dalembert.Robot)


def members(page):
    """Member of a robot → the purpose that it stands under."""
    below, title = {}, ""
    for line in page:
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif entry := re.match(r":::\{py:\w+\} dalembert\.Robot\.(\w+)", line):
            below[entry[1]] = title
    return below


def test_every_method_of_a_robot_is_there(robot_page):
    assert set(members(robot_page)) == {name for name in dir(dalembert.Robot) if name[0] != "_"}


def test_methods_stand_under_their_purpose(robot_page):
    below = members(robot_page)
    assert list(dict.fromkeys(below.values()))[:3] == ["Structure", "Configurations", "Kinematics"]
    assert [name for name, purpose in below.items() if purpose == "Others"] == ["determinants"]
    assert below["inverse_dynamics"] == "Dynamics" and below["inverse_dynamics_derivatives"] == "Derivatives"


def test_parameters_of_a_call_are_listed(reference):
    text = reference.explained("dalembert.Robot.jacobian", dalembert.Robot.jacobian)
    listed = [line for line in text if line.startswith("- **")]
    assert [re.match(r"- \*\*(\w+)", line)[1] for line in listed] == ["frame", "rows"]
    assert any(line.startswith("Shown in [") for line in text)


def test_inherited_members_are_not_repeated(reference):
    names = {name for name, _, _ in reference.members(dalembert.mechanism.MechanismRobot)}
    assert names and "gravity" not in names
