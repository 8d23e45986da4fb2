"""SRDF beside a URDF: disabled pairs link by link, configurations, groups, passive joints; found, named, left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import Contact, DalembertError, load
from dalembert.contact.candidates import candidates

SIZE = '<geometry><sphere radius=".2"/></geometry>'
LINK = (
    '<link name="{}"><inertial><mass value="1"/>'
    '<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
    f"<collision>{SIZE}</collision></link>"
)
JOINT = (
    '<joint name="{0}" type="{3}"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 .3"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="5" velocity="2"/></joint>'
)
ARM = (
    '<robot name="three">'
    + "".join(LINK.format(name) for name in ("base", "upper", "fore", "hand", "tool"))
    + JOINT.format("shoulder", "base", "upper", "revolute")
    + JOINT.format("elbow", "upper", "fore", "revolute")
    + JOINT.format("wrist", "fore", "hand", "revolute")
    + JOINT.format("flange", "hand", "tool", "fixed")
    + "</robot>"
)
SRDF = """<robot name="three">
  <virtual_joint name="floor" type="floating" parent_frame="map" child_link="base"/>
  <group name="arm"><joint name="shoulder"/><joint name="elbow"/></group>
  <group name="end"><link name="hand"/></group>
  <group name="whole"><group name="arm"/><group name="end"/><group name="whole"/></group>
  <group name="reach"><chain base_link="upper" tip_link="tool"/></group>
  <group name="legs"><joint name="hip"/><chain base_link="tool" tip_link="base"/></group>
  <group_state name="bent" group="arm"><joint name="elbow" value="0.7"/><joint name="hip" value="1"/>
    <joint name="floor" value="1 2 3 0 0 1 0"/></group_state>
  <group_state name="home" group="arm"><joint name="shoulder" value="0.1"/></group_state>
  <group_state name="home" group="end"><joint name="wrist" value="3"/></group_state>
  <group_state name="odd" group="arm"><joint name="elbow" value="1 0"/></group_state>
  <end_effector name="e" parent_link="hand" group="end"/>
  <passive_joint name="wrist"/>
  <disable_collisions link1="base" link2="fore" reason="Never"/>
  <disable_collisions link1="tool" link2="upper" reason="Never"/>
  <disable_collisions link1="tail" link2="upper" reason="Never"/>
</robot>"""
EVERY = {("base", "fore"), ("base", "hand"), ("upper", "hand")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "srdf").mkdir()
    (tmp_path / "urdf" / "arm.urdf").write_text(ARM)
    return tmp_path


def with_srdf(folder: Path, text: str = SRDF, name: str = "srdf/arm.srdf", **options):
    (folder / name).write_text(text)
    return load(folder / "urdf" / "arm.urdf", **options)


def said(robot) -> str:
    return "\n".join(map(str, robot.import_log))


def test_pairs_are_left_out_link_by_link(folder: Path) -> None:
    """The tool, which is fixed to the hand, may pass the upper arm; the hand may not."""
    assert set(load(folder / "urdf" / "arm.urdf").collision_pairs()) == EVERY
    robot = with_srdf(folder)
    assert set(robot.collision_pairs()) == {("base", "hand"), ("upper", "hand")}
    folded = np.array([0.0, 1.5, 2.0])
    reach = robot.pose(folded, "upper")[:3, 3] - robot.pose(folded, "hand")[:3, 3]
    pairs = robot.near_pairs(folded, 0.5)
    alone = dict(zip(pairs, robot.distance(folded, pairs), strict=True))["upper", "hand"]
    assert alone == pytest.approx(np.linalg.norm(reach) - 0.4)
    whole = load(folder / "urdf" / "arm.urdf", srdf=False).distance(folded, [("upper", "hand")])[0]
    assert whole < alone
    assert robot.distance(folded, [("tool", "upper")])[0] == pytest.approx(whole)  # named, so it is computed
    touching = {name for patch in candidates(robot.model, Contact(pairs="all")) for name in patch.names}
    assert not any("tool" in name and "upper" in name for name in touching) and any(
        "upper" in name for name in touching
    )


def test_configurations_groups_and_passive_joints(folder: Path) -> None:
    robot = with_srdf(folder)
    assert robot.groups == {
        "arm": ("shoulder", "elbow"),
        "end": ("wrist",),
        "whole": ("shoulder", "elbow", "wrist"),
        "reach": ("elbow", "wrist"),
    }
    assert set(robot.keyframes) == {"bent", "arm/home", "end/home"}
    np.testing.assert_array_equal(robot.keyframes["bent"].q, [0.0, 0.7, 0.0])
    assert robot.motors.passive == ("wrist",) and robot.motors.stated
    free = load(folder / "urdf" / "arm.urdf", base="free")
    np.testing.assert_array_equal(free.keyframes["bent"].q, [1, 2, 3, 0, 0, 0, 1, 0, 0.7, 0])
    log = said(robot)
    assert "2 pairs of links that never collide: 2 Never" in log and "load(…, srdf=False) leaves it out" in log
    assert "joint 'wrist' is at 3, its range is -1 to 1; kept as given" in log
    assert "<disable_collisions> of links that the robot lacks; not used" in log
    assert "<group name='legs'>: a group without a joint of the robot" in log
    assert "a state of a joint that the robot lacks" in log and "q of joint 'elbow' is [1.0, 0.0]" in log
    assert not robot.physical_findings


def test_edits_keep_them(folder: Path) -> None:
    robot = with_srdf(folder)
    renamed = robot.edit().rename({"fore": "lower"}, joints={"elbow": "knee"}).done()
    assert renamed.groups["arm"] == ("shoulder", "knee") and ("base", "lower") not in renamed.collision_pairs()
    assert robot.edit().lock(elbow=0.0).done().groups["arm"] == ("shoulder",)
    assert load("2r").edit().attach(robot, frame="tool", prefix="b_").done().groups["b_arm"] == (
        "b_shoulder",
        "b_elbow",
    )
    fewer = robot.edit().exclude(("hand", "base"), ("fore", "base")).done()
    assert set(fewer.collision_pairs()) == {("base", "hand"), ("upper", "hand")}  # the tool still meets the base
    assert set(fewer.edit().exclude(("tool", "base")).done().collision_pairs()) == {("upper", "hand")}
    for pairs, words in ((("hand", "base"), "two names of links"), ((("hand", "leg"),), "unknown link or frame 'leg'")):
        with pytest.raises(DalembertError, match=words):
            robot.edit().exclude(*pairs)


@pytest.mark.parametrize("name", ["srdf/arm.srdf", "urdf/arm.srdf", "srdf/other.srdf"])
def test_it_is_found_by_file_and_by_robot(folder: Path, name: str) -> None:
    assert with_srdf(folder, name=name).groups
    assert not load(folder / "urdf" / "arm.urdf", srdf=False).groups


def test_files_of_other_robots_are_not_taken(folder: Path) -> None:
    assert not with_srdf(folder, SRDF.replace('"three"', '"four"'), "srdf/other.srdf").groups
    named = load(folder / "urdf" / "arm.urdf", srdf=folder / "srdf" / "other.srdf")
    assert named.groups  # asked for by name
    with_srdf(folder, SRDF, "srdf/a.srdf")
    several = with_srdf(folder, SRDF, "srdf/b.srdf")
    assert not several.groups and "several SRDF files are of 'three': a.srdf, b.srdf" in said(several)
    broken = with_srdf(folder, "<robot", "srdf/arm.srdf")
    assert "cannot be read" in said(broken)
    with pytest.raises(DalembertError, match="nowhere"):
        load(folder / "urdf" / "arm.urdf", srdf="nowhere.srdf")
    with pytest.raises(DalembertError, match="is for URDF and xacro files"):
        load("<mujoco><worldbody/></mujoco>", srdf="a.srdf")


def test_pairs_off_by_default_are_taken_back_one_by_one(folder: Path) -> None:
    text = """<robot name="three"><disable_default_collisions link="hand"/><disable_default_collisions link="tool"/>
    <enable_collisions link1="hand" link2="base"/></robot>"""
    robot = with_srdf(folder, text)
    assert set(robot.collision_pairs()) == {("base", "fore"), ("base", "hand")}
    assert len(robot.model.exclusions) == 6
