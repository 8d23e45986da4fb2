"""Joints that meet no inertia are refused where robots are built, and named where they are read."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, load, robots
from dalembert.model import unopposed
from trees import random_model


def one(**values) -> ModelBuilder:
    b = ModelBuilder("r")
    b.add_body("base", parent="world")
    b.add_body("arm", parent="base", **({"joint": "revolute", "joint_name": "j"} | values))
    return b


BARE = {
    "mass on its axis": {"mass": 1.0, "com": (0, 0, 0.3)},
    "no inertia about the axis": {"mass": 1.0, "inertia": np.diag([1.0, 1.0, 0.0])},
    "a point that floats": {"mass": 1.0, "joint": "free"},
    "a rod on a ball": {"mass": 1.0, "com": (0, 0, 0.5), "inertia": np.diag([0.1, 0.1, 0.0]), "joint": "ball"},
}


@pytest.mark.parametrize("case", BARE)
def test_refused_by_name(case):
    b = one(**BARE[case])
    with pytest.raises(DalembertError, match=r"joint 'j' moves mass on its own axis only.*armature"):
        b.build()
    assert unopposed(b.model())[0].joints == ("j",)


GOOD = {
    "a point off the axis": {"mass": 1.0, "com": (0.3, 0, 0)},
    "a rotor": {"mass": 1.0, "armature": 1e-3},
    "a slider": {"mass": 1.0, "joint": "prismatic"},
    "kinematics only": {},
    "small, but inertia": {"mass": 1e-6, "inertia": 1e-15 * np.eye(3)},
}


@pytest.mark.parametrize("case", GOOD)
def test_accepted(case):
    one(**GOOD[case]).build()


def test_joints_that_move_against_each_other():
    b = one(mass=1.0, inertia=np.eye(3))
    b.add_body("sleeve", parent="arm", joint="revolute", joint_name="k")
    b.add_body("tool", parent="sleeve", joint="revolute", joint_name="l", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
    assert [each.joints for each in unopposed(b.model())] == [("k", "l")]
    assert any("'k', 'l'" in problem for problem in b.build().problems)


def test_files_say_so():
    text = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 0 1"/><mass value="1"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
    robot = load(text)
    assert any("joint 'j' moves mass on its own axis only" in finding.what for finding in robot.import_log)
    assert any("joint 'j'" in problem for problem in robot.problems)


@pytest.mark.parametrize("seed", range(4))
def test_trees_have_inertia(seed):
    assert unopposed(random_model(seed, n_bodies=12, coupled=bool(seed % 2))) == []


def test_no_false_alarm_on_the_bundled_robots():
    for name in robots():
        assert unopposed(load(name).model) == []
