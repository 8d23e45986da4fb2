"""What the commands say of robots with actuators and surroundings."""

from __future__ import annotations

import pytest

from dalembert import cli

pytest.importorskip("mujoco")

FISH = """<mujoco model="fish"><option density="1000"/><worldbody><geom type="plane" size="1 1 1"/>
<body name="torso" pos="0 0 1" gravcomp="1"><freejoint name="root"/><geom size=".1"/>
<body name="tail" pos=".2 0 0"><joint name="tail" axis="0 0 1"/><geom size=".05" pos=".1 0 0"/></body></body>
</worldbody><actuator><position name="swing" joint="tail" kp="2" kv=".1" ctrlrange="-1 1"/></actuator></mujoco>"""


@pytest.fixture
def fish(tmp_path) -> str:
    (tmp_path / "fish.xml").write_text(FISH)
    return str(tmp_path / "fish.xml")


def said(capsys) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_info_names_actuators_and_the_base(fish, capsys) -> None:
    assert cli.main(["info", fish]) == 0
    text = said(capsys)
    assert "free base" in text and "swing joint tail servo -1 … 1" in text


def test_simulate_drives_actuators_and_says_when_not(fish, capsys) -> None:
    assert cli.main(["simulate", fish, "--duration", "0.1"]) == 0
    assert "the 1 of the model are off: nothing drives the robot" in said(capsys)
    assert cli.main(["simulate", fish, "--duration", "0.1", "--controls", "0.5"]) == 0
    assert "actuators: the 1" not in said(capsys)
    assert cli.main(["simulate", fish, "--controls", "0.5", "--hold"]) == 2


def test_torques_say_that_the_fluid_is_left_out(fish, capsys) -> None:
    assert cli.main(["torques", fish]) == 0
    assert "without the fluid around the robot and the balanced part of gravity" in said(capsys)
