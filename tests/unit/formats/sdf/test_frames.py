"""Where things are: relative_to, rotation formats, frames, models inside models, placement frames, includes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.formats import read, read_sdf
from dalembert.model import Model
from formats.sdf.oracle import placed, rotation
from formats.sdf.snippets import axis, joint, link, model, pose, random_mass, random_pose, world
from tolerances import RECURSION, assert_close

RNG = np.random.default_rng(11)
BODY = random_mass(RNG)
P, Q, R, S = (random_pose(RNG) for _ in range(4))
HOLD = joint("hold", "fixed", "world", "a")


def where(made: Model, frame: str, q: float = 0.0) -> np.ndarray:
    return algorithms.frame_pose(made, np.full(made.nq, q), made.frame(frame)).matrix()


def made(text: str, version: str = "1.9", attributes: str = "") -> Model:
    return read_sdf(model(text, version, attributes=attributes), strict=True)[0]


def test_link_relative_to_a_link_that_comes_later() -> None:
    text = link("b", BODY, Q, 'relative_to="a"') + link("a", BODY, P) + HOLD + joint("j", "fixed", "a", "b")
    assert_close(where(made(text), "b"), placed(P) @ placed(Q), RECURSION)


def test_link_relative_to_its_joint_and_joint_relative_to_the_parent() -> None:
    """How URDF lays robots out, in the words of SDF."""
    hinge = joint("j", "revolute", "a", "b", pose(Q, 'relative_to="a"') + axis((0, 1, 0)))
    found = made(link("a", BODY, P) + link("b", BODY, R, 'relative_to="j"') + HOLD + hinge)
    turned = placed(P) @ placed(Q) @ rotation((0, 1, 0), 0.6) @ placed(R)
    assert_close(where(found, "b", 0.6), turned, RECURSION)


def test_degrees_and_quaternions() -> None:
    degrees = [*P[:3], *np.degrees(P[3:])]
    assert_close(where(made(link("a", BODY, degrees, 'degrees="true"') + HOLD), "a"), placed(P), RECURSION)
    w = np.array([0.3, -0.5, 0.9])
    half = np.linalg.norm(w) / 2
    quaternion = [*(np.sin(half) * w / (2 * half)), np.cos(half)]  # x y z w
    text = link("a", BODY, [1, 2, 3, *quaternion], 'rotation_format="quat_xyzw"') + HOLD
    turn = rotation(w, 2 * half)
    turn[:3, 3] = 1, 2, 3
    assert_close(where(made(text), "a"), turn, RECURSION)


def test_inertial_pose_turns_the_tensor() -> None:
    tensor = "<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia>"
    inertial = f"<inertial>{pose(P)}<mass>2</mass>{tensor}</inertial>"
    found = made(f'<link name="a">{inertial}</link>').bodies[0].inertia
    T = placed(P)
    assert_close(found.com, T[:3, 3], RECURSION)
    assert_close(found.about_com(), T[:3, :3] @ np.diag([0.1, 0.2, 0.25]) @ T[:3, :3].T, RECURSION)


def test_frames_chained_and_attached() -> None:
    frames = {"f": ("b", pose(R)), "g": ("f", pose(S)), "h": ("", pose(R)), "k": ("a", pose(R, 'relative_to="b"'))}
    text = link("a", BODY, P) + link("b", BODY, Q) + HOLD + joint("j", "revolute", "a", "b", axis((1, 0, 0)))
    text += "".join(f'<frame name="{name}" attached_to="{to}">{at}</frame>' for name, (to, at) in frames.items())
    found, turned = made(text), placed(Q) @ rotation((1, 0, 0), 0.4)
    assert_close(where(found, "f", 0.4), turned @ placed(R), RECURSION)
    assert_close(where(found, "g", 0.4), turned @ placed(R) @ placed(S), RECURSION)
    assert_close(where(found, "h", 0.4), placed(R), RECURSION)  # in the model frame, which goes with the first link
    assert_close(where(found, "k", 0.4), placed(Q) @ placed(R), RECURSION)  # placed by b, carried by a


def test_joints_between_frames() -> None:
    frame = f'<frame name="f" attached_to="b">{pose(R)}</frame>'
    text = link("a", BODY, P) + link("b", BODY, Q) + frame + HOLD + joint("j", "revolute", "a", "f", axis((0, 0, 1)))
    J = placed(Q) @ placed(R)  # the joint's pose is relative to its child, here the frame
    turned = J @ rotation((0, 0, 1), 0.8) @ np.linalg.inv(J) @ placed(Q)
    assert_close(where(made(text), "b", 0.8), turned, RECURSION)


NESTED = f'<model name="arm">{pose(Q)}{link("c", BODY, R)}<frame name="tip" attached_to="c">{pose(S)}</frame></model>'


def test_models_inside_models() -> None:
    text = link("a", BODY, P) + NESTED + HOLD + joint("j", "revolute", "a", "arm::c", axis((0, 0, 1)))
    found = made(text)
    assert [body.name for body in found.bodies] == ["a", "arm::c"]
    turned = placed(Q) @ placed(R) @ rotation((0, 0, 1), 0.5)
    assert_close(where(found, "arm::c", 0.5), turned, RECURSION)
    assert_close(where(found, "arm::tip", 0.5), turned @ placed(S), RECURSION)


def test_a_nested_frame_places_and_a_nested_model_is_joined() -> None:
    text = (
        link("a", BODY, P) + NESTED + link("d", BODY, P, 'relative_to="arm::tip"') + HOLD
        + joint("j", "revolute", "a", "arm", axis((0, 0, 1))) + joint("k", "fixed", "arm::tip", "d")
    )  # fmt: skip
    found = made(text)
    # the joint's frame is that of the model named as its child; its canonical link moves
    M = placed(Q)
    turn = M @ rotation((0, 0, 1), 0.5) @ np.linalg.inv(M)
    assert_close(where(found, "arm::c", 0.5), turn @ M @ placed(R), RECURSION)
    assert_close(where(found, "d", 0.5), turn @ M @ placed(R) @ placed(S) @ placed(P), RECURSION)


def test_placement_frame_and_canonical_link() -> None:
    nested = NESTED.replace('name="arm"', 'name="arm" placement_frame="tip"')
    text = link("a", BODY, P) + nested + HOLD + joint("j", "fixed", "a", "arm::c")
    assert_close(where(made(text), "arm::tip"), placed(Q), RECURSION)
    text = link("a", BODY, P) + link("b", BODY, Q) + HOLD + joint("j", "revolute", "a", "b", axis((0, 0, 1)))
    found = made(text + f'<frame name="f">{pose(R)}</frame>', attributes='canonical_link="b"')
    assert found.bodies[found.frame("f").body].name == "b"


def test_a_link_beside_its_hinge_is_a_part_of_the_body_at_the_hinge() -> None:
    text = link("a", BODY, P) + link("b", BODY, Q) + HOLD + joint("j", "revolute", "a", "b", axis((0, 0, 1)) + pose(R))
    found = made(text)
    body = found.bodies[1]
    assert [body.name, body.joint.name, [part.name for part in body.parts]] == ["j", "j", ["j", "b"]]
    assert_close(body.parts[1].inertia.com, BODY.com, RECURSION)
    assert_close(where(found, "j"), placed(Q) @ placed(R), RECURSION)


def test_a_link_on_the_axis_stays_a_body_also_off_the_joint_frame() -> None:
    along = [0, 0, 0.3, 0, 0, 0]
    text = (
        link("a", BODY, P) + link("b", BODY, Q) + HOLD + joint("j", "revolute", "a", "b", axis((0, 0, 1)) + pose(along))
    )
    assert [body.name for body in made(text).bodies] == ["a", "b"]


# ---- worlds

A, B = (f'<model name="{name}">{pose(P)}{link("a", BODY)}</model>' for name in "AB")
GROUND = '<model name="ground"><static>true</static><link name="g"/></model>'


def test_one_model_of_a_world(tmp_path: Path) -> None:
    text = world(GROUND + A)
    found, log = read_sdf(text, base="fixed", strict=True)
    assert [found.name, found.gravity.tolist()] == ["A", [0, 0, -9.8]]
    assert_close(where(found, "a"), placed(P), RECURSION)
    assert any("1 static model" in finding.what for finding in log)
    file = tmp_path / "two.world"
    file.write_text(world("<gravity>0 0 -1.6</gravity>" + A + B))
    with pytest.raises(DalembertError, match=r"2 models: 'A', 'B'; say which, as in load\(\"file.sdf#A\"\)"):
        read(str(file))
    found, _ = read(f"{file}#B")
    assert [found.name, found.gravity.tolist()] == ["B", [0, 0, -1.6]]
    with pytest.raises(DalembertError, match="unknown model 'C'"):
        read(f"{file}#C")


def test_findings_of_models_that_are_not_read_stay_out() -> None:
    log = read_sdf(world(A + B.replace("<link", "<wings/><link")), model="A")[1]
    assert not any("wings" in finding.what for finding in log)


def test_gravity_before_1_5_and_model_relative_to_a_frame_of_the_world() -> None:
    physics = '<physics type="ode"><gravity>0 1 -2</gravity></physics>'
    assert read_sdf(world(physics + A, "1.4"))[0].gravity.tolist() == [0, 1, -2]
    frame = f'<frame name="table">{pose(Q)}</frame>'
    text = world(frame + A.replace("<pose >", '<pose relative_to="table">', 1), "1.9")
    assert_close(where(read_sdf(text, base="fixed")[0], "a"), placed(Q) @ placed(P), RECURSION)


def test_a_static_model_stands_still() -> None:
    text = (
        "<static>true</static>"
        + link("a", BODY, P)
        + link("b", BODY, Q)
        + joint("j", "revolute", "a", "b", axis(P[:3]))
    )
    found, log = read_sdf(model(text, "1.9"))
    assert found.nv == 0
    assert_close(where(found, "b"), placed(Q), RECURSION)
    assert any("1 joint(s) do not move" in finding.what for finding in log)
    assert read_sdf(model(text, "1.9"), base="free")[0].nv == 7


# ---- includes


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """models/arm/model.sdf with its model.config, and scenes/ beside it."""
    arm = tmp_path / "models" / "arm"
    arm.mkdir(parents=True)
    # an old file: its axis is along the model's axes, whatever the file that includes it says
    text = link("c", BODY, R) + joint("up", "revolute", "world", "c", axis((0, 0, 1)))
    (arm / "arm-1_4.sdf").write_text(model(text, "1.4", "arm"))
    (arm / "model.config").write_text('<model><sdf version="1.4">arm-1_4.sdf</sdf></model>')
    (tmp_path / "scenes").mkdir()
    return tmp_path


@pytest.mark.parametrize("uri", ["model://arm", "../models/arm", "../models/arm/arm-1_4.sdf", "file://{}/models/arm"])
def test_included_models(library: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(library / "models"))
    include = f"<include><uri>{uri.format(library)}</uri><name>left</name>{pose(P)}</include>"
    file = library / "scenes" / "robot.sdf"
    file.write_text(world(include, "1.9"))
    found, _ = read_sdf(file)
    assert found.name == "left"
    C, M = placed(P) @ placed(R), placed(P)
    turn = M[:3, :3] @ rotation((0, 0, 1), 0.7)[:3, :3] @ M[:3, :3].T
    assert_close(where(found, "c", 0.7)[:3, :3], turn @ C[:3, :3], RECURSION)


def test_an_included_model_inside_a_model(library: Path) -> None:
    include = f"<include><uri>../models/arm</uri>{pose(P)}</include>"
    file = library / "scenes" / "robot.sdf"
    file.write_text(model(link("a", BODY) + include + HOLD, "1.9"))
    found, _ = read_sdf(file)
    assert {frame.name for frame in found.frames} == {"world", "a", "arm::c"}
    assert_close(where(found, "arm::c"), placed(P) @ placed(R), RECURSION)


BAD_URIS = {
    "https://fuel.gazebosim.org/1.0/x/models/y": "is on the network, and nothing is downloaded; download",
    "model://nothing": "'model://nothing' does not exist; put it beside the file",
    "none.sdf": "'none.sdf' does not exist",
    "robot.sdf": "includes itself; remove the ring",
    "../models": "the folder 'models' has no model.sdf",
    "two.sdf": "the included file has 2 models, expected one",
    "arm.urdf": "the included file holds <robot>, expected <sdf>",
    "a\tb": "does not exist",
}


@pytest.mark.parametrize("uri", BAD_URIS)
def test_includes_that_cannot_be(library: Path, uri: str) -> None:
    scenes = library / "scenes"
    (scenes / "two.sdf").write_text('<sdf version="1.6"><model name="x"/><model name="y"/></sdf>')
    (scenes / "arm.urdf").write_text("<robot/>")
    (scenes / "robot.sdf").write_text(world(f"<include><uri>{uri}</uri></include>"))
    with pytest.raises(DalembertError, match=BAD_URIS[uri].replace("(", r"\(")):
        read_sdf(scenes / "robot.sdf")


def test_a_bomb_of_includes_is_refused(tmp_path: Path) -> None:
    for level in range(12):
        twice = f"<include><uri>{level + 1}.sdf</uri><name>x</name></include>" * 1
        twice += f"<include><uri>{level + 1}.sdf</uri><name>y</name></include>"
        (tmp_path / f"{level}.sdf").write_text(model(twice, "1.9"))
    (tmp_path / "12.sdf").write_text(model(link("a", BODY), "1.9"))
    with pytest.raises(DalembertError, match="more than 200 files are included"):
        read_sdf(tmp_path / "0.sdf")


def test_text_includes_nothing_beside_it() -> None:
    with pytest.raises(DalembertError, match="relative to a file, and this is text; load it from a file"):
        read_sdf(world("<include><uri>arm.sdf</uri></include>"))


def test_an_include_may_hold_and_release(library: Path) -> None:
    file = library / "scenes" / "robot.sdf"
    for value, nv in (("true", 0), ("false", 1)):
        file.write_text(world(f"<include><uri>../models/arm</uri><static>{value}</static></include>", "1.9"))
        found, log = read_sdf(file)
        assert found.nv == nv
        assert any(finding.action.endswith("arm-1_4.sdf") for finding in log)


def test_a_merged_model_is_part_of_the_model_around_it(library: Path) -> None:
    arm = link("c", BODY, R) + link("d", BODY, S) + joint("up", "revolute", "c", "d", axis((0, 0, 1)))
    arm += f'<frame name="tip" attached_to="d">{pose(Q)}</frame><model name="m">{link("e", BODY, Q)}</model>'
    (library / "models" / "arm.sdf").write_text(model(arm + joint("k", "fixed", "d", "m::e"), "1.9", "arm"))
    text = link("a", BODY) + f'<include merge="true"><uri>../models/arm.sdf</uri>{pose(P)}</include>' + HOLD
    text += joint("j", "fixed", "a", "c") + link("b", BODY, Q, 'relative_to="tip"') + joint("l", "fixed", "m::e", "b")
    file = library / "scenes" / "robot.sdf"
    file.write_text(model(text, "1.9"))
    found, _ = read_sdf(file, strict=True)
    assert {frame.name for frame in found.frames} == {"a", "b", "c", "d", "m::e", "tip"}
    turned = placed(P) @ placed(S) @ rotation((0, 0, 1), 0.5)
    assert_close(where(found, "tip", 0.5), turned @ placed(Q), RECURSION)
    assert_close(where(found, "b", 0.5), turned @ placed(Q) @ placed(Q), RECURSION)


def test_before_1_7_a_joint_may_be_named_like_a_link() -> None:
    text = link("a", BODY) + link("b", BODY, Q) + HOLD + joint("b", "revolute", "a", "b", axis((0, 0, 1)) + pose(R))
    J = placed(Q) @ placed(R)
    turned = J @ rotation((0, 0, 1), 0.5) @ np.linalg.inv(J) @ placed(Q)
    assert_close(where(made(text, "1.6"), "b", 0.5), turned, RECURSION)
