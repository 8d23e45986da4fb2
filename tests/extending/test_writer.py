"""A file format written by a function from outside the package, with public names only."""

from __future__ import annotations

import json

import pytest

import dalembert as da
from dalembert.cli import main


def write_masses(robot, log, notes=()):
    """Names and masses alone."""
    for joint in robot.joints:
        if joint.kind not in ("revolute", "continuous"):
            log.refuse("joint", joint.name, f"no {joint.kind} joints", "save as .urdf")
        if joint.damping.any():
            log.change("joint", joint.name, "damping", "left out")
        log.note("joint", joint.name, "limits", "left out")
    return json.dumps({"name": robot.name, "notes": list(notes), "masses": [body.mass for body in robot.bodies]})


@pytest.fixture(autouse=True)
def registered():
    da.register_writer(".masses.json", write_masses)


def test_save_and_convert_use_it(tmp_path, capsys):
    robot = da.load("ur5")
    log = robot.save(tmp_path / "arm.MASSES.json", notes=["by hand"])
    content = json.loads((tmp_path / "arm.MASSES.json").read_text())
    assert content["masses"] == [body.mass for body in robot.bodies]
    assert content["notes"] == ["by hand"]
    assert [(f.severity, f.what) for f in log] == [("info", "limits")]
    assert main(["convert", "ur5", str(tmp_path / "other.masses.json")]) == 0
    assert "limits; left out" in capsys.readouterr().out


def test_changes_need_consent_and_refusals_write_nothing(tmp_path):
    file = tmp_path / "arm.masses.json"
    file.write_text("before")
    damped = da.load("ur5").edit().set_joint("elbow_joint", damping=0.5).done()
    with pytest.raises(da.DalembertError, match=r"'elbow_joint': damping; approximate=True: left out"):
        damped.save(file)
    with pytest.raises(da.DalembertError, match=r"no prismatic joints; save as \.urdf"):
        da.load("cartpole").save(file, approximate=True)
    assert file.read_text() == "before"
    assert [f.severity for f in damped.save(file, approximate=True)] == ["info", "warning"]


def test_bytes_and_the_longest_ending(tmp_path):
    da.register_writer(".zz", lambda robot, log: b"\x00\xff")
    da.register_writer(".masses.zz", write_masses)
    da.load("ur5").save(tmp_path / "arm.zz")
    da.load("ur5").save(tmp_path / "arm.masses.zz")
    assert (tmp_path / "arm.zz").read_bytes() == b"\x00\xff"
    assert json.loads((tmp_path / "arm.masses.zz").read_text())["name"] == "ur5"


def test_mistakes_are_named(tmp_path):
    with pytest.raises(da.DalembertError, match="register_writer: ending is 'json'"):
        da.register_writer("json", write_masses)
    with pytest.raises(da.DalembertError, match="writer is 3, expected a function of a robot and a log"):
        da.register_writer(".x", 3)
    with pytest.raises(
        da.DalembertError, match=r"geometry=False, but the writer of '.masses.json' files takes no geometry"
    ):
        da.load("ur5").save(tmp_path / "arm.masses.json", geometry=False)
    da.register_writer(".none.json", lambda robot, log: None)
    with pytest.raises(da.DalembertError, match="returned NoneType, expected the file's text or bytes"):
        da.load("ur5").save(tmp_path / "arm.none.json")
    with pytest.raises(da.DalembertError, match=r"expected one of \.urdf, .*\.masses\.json"):
        da.load("ur5").save(tmp_path / "arm.abc")
    assert not list(tmp_path.iterdir())
