"""xacro files: arguments, includes, packages, places in the expanded text, and clear errors."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dalembert import load
from dalembert.errors import DalembertError
from dalembert.formats import read_xacro
from dalembert.formats.resources import SEARCHED

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
TENSOR = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
BODY = f"""<robot {XMLNS}><xacro:macro name="body" params="name mass">
  <link name="${{name}}"><inertial><mass value="${{mass}}"/>{TENSOR}</inertial></link>
</xacro:macro></robot>"""
HAND = f"""<robot {XMLNS}><xacro:macro name="hand" params="parent">
  <link name="hand"/><joint name="wrist" type="fixed"><parent link="${{parent}}"/><child link="hand"/></joint>
</xacro:macro></robot>"""
ARM = f"""<robot {XMLNS}>
  <xacro:arg name="prefix" default=""/>
  <xacro:property name="m" value="${{1 + 1}}"/>
  <xacro:include filename="body.xacro"/>
  <xacro:include filename="$(find hand_description)/hand.xacro"/>
  <xacro:body name="$(arg prefix)a" mass="${{m}}"/>
  <xacro:body name="$(arg prefix)b" mass="${{m * pi}}"/>
  <joint name="$(arg prefix)j" type="continuous">
    <parent link="$(arg prefix)a"/><child link="$(arg prefix)b"/><axis xyz="0 0 2"/>
  </joint>
  <xacro:hand parent="$(arg prefix)b"/>
</robot>"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable, _ in SEARCHED:
        monkeypatch.delenv(variable, raising=False)
    files = {
        "arm_description/urdf/arm.urdf.xacro": ARM,
        "arm_description/urdf/body.xacro": BODY,
        "hand_description/hand.xacro": HAND,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "arm_description/urdf/arm.urdf.xacro"


def test_arguments_includes_packages_and_places(arm: Path) -> None:
    robot = load(arm, arguments={"prefix": "left_"})
    assert robot.name == "arm"
    assert [body.name for body in robot.bodies] == ["left_a", "left_b"]
    assert [body.mass for body in robot.bodies] == [2.0, 6.283185307179586]
    assert robot.frame("hand").body == "left_b"
    (finding,) = robot.import_log  # the axis of length 2
    assert finding.where.startswith(f"{arm} (expanded):")
    assert load(arm).joints[0].name == "j"


def test_packages_of_two_files_are_kept_apart(arm: Path, tmp_path: Path) -> None:
    """Another robot's package of the same name is not taken for this one's."""
    load(arm)
    other = tmp_path / "other" / "arm.xacro"
    package = other.parent / "hand_description"
    package.mkdir(parents=True)
    (other.parent / "body.xacro").write_text(BODY)
    (package / "hand.xacro").write_text(HAND.replace('"hand"/>', '"claw"/>'))
    other.write_text(ARM)
    assert load(other).frame("claw").body == "b"
    assert load(arm).frame("hand").body == "b"


def test_threads_may_share_the_reader(arm: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        robots = list(pool.map(lambda k: load(arm, arguments={"prefix": f"p{k}_"}), range(12)))
    assert [robot.joints[0].name for robot in robots] == [f"p{k}_j" for k in range(12)]


BROKEN = {
    "unknown macro": ("<xacro:boddy/>", "xacro cannot expand it: unknown macro name: xacro:boddy; correct the file"),
    "syntax": ('<link name="${1 +}"/>', "xacro cannot expand it: .*when evaluating expression '1 .'"),
    "division": ('<link name="${1 / 0}"/>', "xacro cannot expand it: division by zero"),
    "no such property": ('<link name="${x}"/>', "xacro cannot expand it: name 'x' is not defined"),
    "no such argument": (
        '<link name="$(arg x)"/>',
        "xacro cannot expand it: Undefined substitution argument x.*arguments",
    ),
    "no such file": ('<xacro:include filename="x.xacro"/>', "xacro cannot expand it: No such file"),
    "no such package": (
        '<xacro:include filename="$(find xyz)/x.xacro"/>',
        "find xyz.: there is no such package: put it",
    ),
    "ring": ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "xacro cannot expand it: .*recursion"),
    "then no URDF": ("<link/>", r"\(expanded\):\d+ <link>: attribute 'name' is missing"),
    "nothing": ("", r"\(expanded\):\d+ <robot>: the robot has no <link>"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case: str, tmp_path: Path) -> None:
    inside, message = BROKEN[case]
    file = tmp_path / "x.urdf.xacro"
    file.write_text(f"<robot {XMLNS}>{inside}</robot>")
    with pytest.raises(DalembertError, match=rf"x\.urdf\.xacro.*{message}"):
        load(file)


def test_hostile_and_missing_files(tmp_path: Path) -> None:
    file = tmp_path / "x.xacro"
    with pytest.raises(DalembertError, match="no such file"):
        load(file)
    file.write_text('<!DOCTYPE r [<!ENTITY a "b">]><robot/>')
    with pytest.raises(DalembertError, match="has a DOCTYPE"):
        load(file)
    file.write_text("<robot>")
    with pytest.raises(DalembertError, match="not well-formed"):
        load(file)


def test_arguments_are_checked(arm: Path) -> None:
    with pytest.raises(DalembertError, match="argument 'prefix' is None, expected text or a number"):
        read_xacro(arm, arguments={"prefix": None})
    with pytest.raises(DalembertError, match="are for xacro files"):
        load("2r", arguments={"prefix": "x"})


def test_without_the_library(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(DalembertError, match=r"needs the xacro library.*pip install 'dalembert\[xacro\]'"):
        load(arm)


def test_arguments_that_the_file_does_not_have_are_errors(arm: Path) -> None:
    with pytest.raises(DalembertError, match=r"xacro: unknown argument 'prefx': did you mean 'prefix'\?"):
        load(arm, arguments={"prefx": "left_"})
    assert load(arm, arguments={"prefix": "left_"}).joint("left_j").name == "left_j"
