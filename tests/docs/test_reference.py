"""The reference has every method of a robot, under its purpose."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dalembert

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def robot_page():
    sys.path.insert(0, str(DOCS))
    try:
        import reference

        yield reference.described("dalembert.Robot", dalembert.Robot, 2)
    finally:
        sys.path.remove(str(DOCS))


def test_every_method_of_a_robot_is_there(robot_page):
    headings = {line.removeprefix("### Robot.") for line in robot_page if line.startswith("### Robot.")}
    assert headings == {name for name in dir(dalembert.Robot) if name[0] != "_"}


def test_methods_stand_under_their_purpose(robot_page):
    purposes = [line.strip("*") for line in robot_page if line.startswith("**")]
    assert purposes[:3] == ["Structure", "Configurations", "Kinematics"]
    assert len(set(purposes)) == len(purposes)
    below = {}
    for line in robot_page:
        if line.startswith("**"):
            title = line.strip("*")
        elif line.startswith("### Robot."):
            below[line.removeprefix("### Robot.")] = title
    assert [name for name, purpose in below.items() if purpose == "Others"] == ["determinants"]
    assert below["inverse_dynamics"] == "Dynamics" and below["inverse_dynamics_derivatives"] == "Derivatives"
