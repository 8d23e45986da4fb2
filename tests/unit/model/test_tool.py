"""Which frame carries a payload: the end of the longest chain, by name where frames are named after tools."""

from __future__ import annotations

import json

import pytest

from dalembert import DalembertError, ModelBuilder, cli, load
from dalembert.model import tips, tool_frame
from tolerances import PRINTED

EXPECTED = {
    "2r": "tool",
    "delta": "tool",
    "four_bar": "coupler",
    "gen3": "end_effector_link",
    "humanoid": "chest",
    "iiwa14": "iiwa_link_ee",
    "panda": "panda_hand_tcp",
    "quadrotor": "body",
    "quadruped": "trunk",
    "ur5": "tool0",
}


@pytest.mark.parametrize("robot", EXPECTED)
def test_the_tool_frame_of_bundled_robots(robot: str) -> None:
    assert tool_frame(load(robot).model).name == EXPECTED[robot]


def hand(fingers: int, *, joints: int = 2, extra: str = "base_plate") -> ModelBuilder:
    """An arm of `joints` joints with fingers of one joint, and a frame on its fixed base that is added last."""
    builder = ModelBuilder("hand")
    builder.add_body("base", parent="world", mass=1.0)
    parent = "base"
    for k in range(joints):
        joint = {"joint": "revolute", "joint_name": f"j{k}", "axis": (0, 1, 0)}
        builder.add_body(f"link{k}", parent=parent, **joint, mass=1.0, com=(0.1, 0, 0))
        parent = f"link{k}"
    for k in range(fingers):
        builder.add_body(f"finger{k}", parent=parent, joint="prismatic", joint_name=f"f{k}", axis=(1, 0, 0), mass=0.1)
    builder.add_frame(extra, body="base")
    return builder


def test_a_frame_fixed_to_the_world_is_not_chosen() -> None:
    assert tool_frame(hand(0).build().model).name == "link1"
    assert tool_frame(hand(0, extra="tool0").build().model).name == "link1"


def test_fingers_of_equal_length_leave_the_load_to_the_palm() -> None:
    assert tool_frame(hand(2).build().model).name == "link1"
    assert [frame.name for frame in tips(hand(2).build().model)] == ["finger0", "finger1"]
    builder = hand(1)
    builder.add_frame("grasp_tcp", body="link1")
    assert tool_frame(builder.build().model).name == "grasp_tcp"


def test_equal_limbs_of_a_held_robot_need_a_name() -> None:
    robot = hand(3, joints=0).build()
    with pytest.raises(DalembertError, match="3 limbs of 1 joints each: name the frame"):
        tool_frame(robot.model)
    assert tool_frame(robot.model, "finger2").name == "finger2"


def test_a_frame_that_cannot_move_is_refused() -> None:
    with pytest.raises(DalembertError, match=r"'base' of robot 'hand' cannot move.*the tool frame is 'link1'"):
        tool_frame(hand(0).build().model, "base")
    with pytest.raises(DalembertError, match="did you mean 'finger1'"):
        tool_frame(hand(2).build().model, "fingr1")
    with pytest.raises(DalembertError, match="no joint that moves"):
        tool_frame(hand(0, joints=0).build().model)


STANDARD = """
<robot name="arm"><link name="base_link"/>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base_link"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="20" velocity="2"/></joint>
  <link name="tool0"/>
  <joint name="t" type="fixed"><parent link="upper"/><child link="tool0"/><origin xyz="1 0 0"/></joint>
  <link name="base"/>
  <joint name="b" type="fixed"><parent link="base_link"/><child link="base"/></joint>
</robot>
"""  # as the standard files of Universal Robots: the last frame is fixed to the world


def test_commands_put_the_payload_on_the_tool(tmp_path, capsys) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(STANDARD, "utf-8")
    hold = 9.81 * (2 * 0.5 + 3 * 1.0)
    assert cli.main(["torques", str(file), "--payload", "3", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["frame"] == "tool0"
    assert content["joints"][0]["gravity"] == pytest.approx(hold, rel=10 * PRINTED)
    assert cli.main(["torques", str(file), "--payload", "3"]) == 0
    assert "3 kg at frame 'tool0'" in capsys.readouterr().out
    assert cli.main(["audit", str(file), "--payload", "3", "--fail-on", "warning"]) == 1
    assert "3 kg at frame 'tool0'" in capsys.readouterr().out
    written = tmp_path / "loaded.urdf"
    assert cli.main(["edit", str(file), str(written), "--payload", "3"]) == 0
    assert abs(load(written).gravity([0.0])[0]) == pytest.approx(hold)


@pytest.mark.parametrize("command", ["torques", "audit", "report", "edit"])
def test_commands_refuse_a_frame_that_cannot_move(command: str, tmp_path, capsys) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(STANDARD, "utf-8")
    target = {"report": ["--out", str(tmp_path / "r.html"), "--no-scene"], "edit": [str(tmp_path / "x.urdf")]}
    assert cli.main([command, str(file), *target.get(command, []), "--payload", "3", "--frame", "base"]) == 2
    assert "cannot move" in capsys.readouterr().err


@pytest.mark.parametrize("payload", [-1.0, float("nan"), float("inf")])
def test_a_payload_that_is_no_mass_is_refused(payload: float) -> None:
    with pytest.raises(DalembertError, match=r"payload is .*expected a mass"):
        load(STANDARD).audit(payload=payload)
