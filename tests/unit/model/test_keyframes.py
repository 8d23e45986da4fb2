"""Named states, and where robots start: within the ranges of their files, loose bodies where the file has them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert import cli, load
from tolerances import COMPUTED

LOOSE = """<mujoco model="table"><worldbody><geom type="plane" size="1 1 .1"/>
<body name="cube" pos=".5 -.2 .8" quat="0 0 0 1"><freejoint name="cube"/><geom type="box" size=".1 .1 .1"/></body>
<body name="arm"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>
</worldbody>{}</mujoco>"""


def test_a_start_lies_within_the_ranges() -> None:
    robot = load("ur5e").edit().set_joint("elbow_joint", lower=0.5, upper=1.5).done()
    robot = robot.edit().set_joint("wrist_1_joint", lower=-np.inf, upper=-0.25).done()
    q, v = robot.home()
    assert q[robot.joint("elbow_joint").q] == 1.0 and q[robot.joint("wrist_1_joint").q] == -0.25
    assert np.count_nonzero(q) == 2 and not v.any()
    assert np.array_equal(load("ur5e").home().q, load("ur5e").neutral())


def test_loose_bodies_start_where_the_file_has_them(tmp_path) -> None:
    pytest.importorskip("mujoco")
    file = tmp_path / "table.xml"
    file.write_text(LOOSE.format(""))
    robot = load(file)
    place = [0.5, -0.2, 0.8, 0.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(robot.keyframes["start"].q[robot.joint("cube").q], place, atol=COMPUTED)
    assert np.array_equal(robot.home().q, robot.keyframes["start"].q)
    file.write_text(LOOSE.format('<keyframe><key name="start" qpos="1 0 2 1 0 0 0 .3"/></keyframe>'))
    np.testing.assert_allclose(load(file).home().q[robot.joint("cube").q][:3], [1.0, 0.0, 2.0], atol=COMPUTED)
    assert "start" not in load("quadruped").keyframes


def test_commands_start_within_the_ranges(tmp_path, capsys) -> None:
    file = tmp_path / "arm.urdf"
    load("ur5e").edit().set_joint("elbow_joint", lower=0.5, upper=1.5).done().save(file, geometry=False)
    assert cli.main(["simulate", str(file), "--duration", "0.05", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["q"][0][2] == pytest.approx(1.0) and not any("range" in line for line in content["log"])
    assert cli.main(["plan", str(file), "--goal", "0.4,0.3,0.5", "--json"]) == 0
    joints = {row["joint"]: row["from"] for row in json.loads(capsys.readouterr().out)["joints"]}
    assert joints["elbow_joint"] == pytest.approx(1.0)
