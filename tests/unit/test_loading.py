"""Where robots come from: what `load` takes, and what it says of what it cannot take."""

from __future__ import annotations

import pytest

from dalembert import DalembertError, ImportFindingsWarning, cli, load


def test_what_load_says_of_names_that_are_none(tmp_path, monkeypatch) -> None:
    with pytest.raises(DalembertError, match=r"unknown robot 'UR10E': did you mean 'ur10e'.*or give the path"):
        load("UR10E")
    with pytest.raises(DalembertError, match="is a folder, expected a robot file; files end in"):
        load(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    load("2r").save("~/arm.urdf")
    assert load("~/arm.urdf") == load("2r")
    with pytest.raises(DalembertError, match=r"is a folder, expected a robot file; in it: arm\.urdf"):
        load(str(tmp_path))


LINK = (
    '<robot name="one"><link name="a"/><link name="b"><inertial><origin xyz="{com} 0 0"/><mass value="{mass}"/>'
    '<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute">'
    '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    "</joint>"
    "</robot>"
)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"com": ".1", "mass": "-1"}, "mass is negative"),
        ({"com": "250", "mass": "1"}, "millimetres"),
    ],
)
def test_findings_on_physics_are_told(tmp_path, values: dict[str, str], said: str, capsys) -> None:
    file = tmp_path / "one.urdf"
    file.write_text(LINK.format(**values))
    with pytest.warns(ImportFindingsWarning, match="the physics of robot 'one'") as caught:
        robot = load(file)
    assert len(caught) == 1 and said in str(caught[0].message) and caught[0].filename == __file__
    count = len(robot.physical_findings)
    assert count and f"{count} physical finding" in repr(robot) and f"{count} finding" in str(caught[0].message)
    assert cli.main(["info", str(file)]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1 and said in lines[0] and "Traceback" not in lines[0]


@pytest.mark.filterwarnings("error")
def test_sound_files_are_loaded_without_a_word() -> None:
    for name in ("ur5e", "panda", "quadruped"):
        assert "finding" not in repr(load(name))
