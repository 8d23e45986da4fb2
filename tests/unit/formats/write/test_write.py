"""Writing robot files: where they go, what they say of themselves, and what they cannot say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, load, robots
from dalembert.formats import read, write
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.spatial import Pose, so3
from dalembert.version import __version__
from saving import assert_same_dynamics
from tolerances import ROUNDING

ENDINGS = [".urdf", ".xml", ".sdf", ".dh.toml"]
HEAVY = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": np.diag([0.02, 0.03, 0.04])}


def arm(**joint) -> ModelBuilder:
    builder = ModelBuilder("arm")
    builder.add_body("base", parent="world", **HEAVY)
    builder.add_body("upper", parent="base", joint_name="shoulder", **{"joint": "revolute"} | joint, **HEAVY)
    return builder


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_names_its_robot_and_is_the_same_each_time(tmp_path, ending):
    robot = arm(armature=0.0, damping=0.1).build()
    one, two = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    robot.save(one)
    robot.save(str(two))
    text = one.read_text()
    assert text == two.read_text() and text.endswith("\n")
    assert f"Robot 'arm', written by dalembert {__version__}" in "\n".join(text.splitlines()[:4])
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path, ending):
    path = tmp_path / f"arm{ending}"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(DalembertError):
        arm(joint="free").build().save(path) if ending != ".urdf" else _unwritable().save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == [path.name]
    arm().build().save(path)
    assert "shoulder" in path.read_text() and path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == [path.name]


def _unwritable() -> Robot:
    return arm(joint="ball").build()


def test_a_link_to_a_file_stays_a_link(tmp_path):
    (tmp_path / "real.urdf").write_text("old")
    (tmp_path / "link.urdf").symlink_to("real.urdf")
    arm().build().save(tmp_path / "link.urdf")
    assert (tmp_path / "link.urdf").is_symlink() and "shoulder" in (tmp_path / "real.urdf").read_text()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("arm.stl", r"the ending names the format: expected one of \.urdf, \.xml, \.sdf, \.dh\.toml"),
        ("arm.toml", r"expected one of"),
        ("arm", r"expected one of"),
        ("nowhere/arm.urdf", r"there is no folder '.*nowhere': make it first"),
        ("folder.urdf", r"is a folder"),
    ],
)
def test_bad_paths(tmp_path, path, words):
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(DalembertError, match=words):
        load("2r").save(tmp_path / path)
    assert os.listdir(tmp_path) == ["folder.urdf"]


def test_a_path_is_text(tmp_path):
    with pytest.raises(DalembertError, match="expected the path of a file, got int"):
        load("2r").save(7)


def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "arm.urdf"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(DalembertError, match="cannot be written: No space left on device"):
        arm().build().save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["arm.urdf"]


def test_everything_in_the_way_is_listed_at_once(tmp_path):
    builder = arm(joint="ball")
    for k in range(10):
        builder.add_body(f"c{k}", parent="upper", joint="cylindrical", joint_name=f"slide{k}", **HEAVY)
    with pytest.raises(DalembertError) as caught:
        builder.build().save(tmp_path / "arm.urdf")
    text = str(caught.value)
    assert "joint 'shoulder': URDF has no ball joint; save as .sdf or .xml" in text
    assert (
        "joints 'slide0', 'slide1'" in text and "… (10 in all)" in text and "approximate=True: joints in a row" in text
    )
    assert not os.listdir(tmp_path)


def test_findings_are_returned_and_stand_in_the_file(tmp_path):
    robot = arm(armature=0.5).build()
    (finding,) = robot.save(tmp_path / "arm.urdf")
    assert finding.severity == "info" and finding.where == "joint 'shoulder'" and "armature" in finding.what
    assert "joint 'shoulder': armature" in (tmp_path / "arm.urdf").read_text()
    with pytest.raises(DalembertError, match="armature, which SDF does not have; approximate=True: left out"):
        robot.save(tmp_path / "arm.sdf")
    (finding,) = robot.save(tmp_path / "arm.sdf", approximate=True)
    assert finding.severity == "warning" and finding.action == "left out"
    assert_same_dynamics(read(tmp_path / "arm.sdf")[0], robot.without("armature").model)


def test_names_that_need_care(tmp_path):
    names = ['<a> & "b"', "naïve ü -- 名", "tab\tnew\nline"]
    builder = ModelBuilder("--odd-- <robot>")
    parent = "world"
    for name in names:
        builder.add_body(name, parent=parent, joint="revolute", joint_name=f"{name}!", **HEAVY)
        parent = name
    model = builder.model()
    for ending in (".urdf", ".dh.toml"):
        write(model, tmp_path / f"odd{ending}")
        assert [body.name for body in read(tmp_path / f"odd{ending}")[0].bodies][1:] == names
    builder = ModelBuilder("bad")
    builder.add_body("nul\0", parent="world", joint="revolute", **HEAVY)
    with pytest.raises(DalembertError, match="has characters that XML does not allow: rename it"):
        write(builder.model(), tmp_path / "bad.urdf")
    builder = ModelBuilder("bad")
    builder.add_body("a::b", parent="world", joint="revolute", **HEAVY)
    with pytest.raises(DalembertError, match="SDF reserves names"):
        write(builder.model(), tmp_path / "bad.sdf")


def test_a_first_moment_without_mass_has_no_file(tmp_path):
    robot = arm().build()
    pi = robot.parameters().copy()
    pi[10] = 0.0
    for ending in (".urdf", ".xml", ".sdf"):
        with pytest.raises(DalembertError, match="'upper'"):
            robot.with_parameters(pi).save(tmp_path / f"arm{ending}")


# ---- shapes

TETRAHEDRON = Polyhedron(
    np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)
SHAPES = [Box(np.array([0.1, 0.2, 0.3])), Sphere(0.1), Ellipsoid(np.array([0.1, 0.2, 0.3])), Cylinder(0.1, 0.3)]
SHAPES += [Capsule(0.1, 0.3), Cone(0.1, 0.3), Plane(np.array([0.0, 0.6, 0.8])), TETRAHEDRON]
KEPT = {  # by ending: the shapes that come back
    ".urdf": ["Box", "Sphere", "Cylinder", "Capsule"],
    ".sdf": ["Box", "Sphere", "Ellipsoid", "Cylinder", "Capsule", "Cone", "Plane"],
    ".dh.toml": ["Box", "Sphere", "Cylinder", "Capsule"],
}


REPLACED = {  # by ending: what stands for those that are to be touched and do not come back
    ".urdf": ["Mesh", "Mesh", "Box", "Mesh"],
    ".sdf": ["Mesh"],
    ".dh.toml": ["Mesh", "Mesh", "Box", "Mesh"],
}


def shaped(*shapes) -> ModelBuilder:
    builder = arm()
    for k, shape in enumerate(shapes):
        placement = Pose(so3.from_rpy(0.1, 0.2, 0.3), np.array([0.0, 0.1 * k, 0.2]))
        builder.add_geometry(shape, body="upper", placement=placement, color=(0.1, 0.2, 0.3, 1.0), name=f"s{k}")
        builder.add_geometry(shape, body="upper", role="collision")
    return builder


@pytest.mark.parametrize("ending", KEPT)
def test_shapes_come_back_or_are_named(tmp_path, ending):
    model = shaped(*SHAPES).model()
    findings = write(model, tmp_path / f"arm{ending}", approximate=True)
    back = read(tmp_path / f"arm{ending}")[0].body("upper").parts[0].geometry
    shown = [geometry for geometry in back if geometry.role == "visual"]
    assert [type(geometry.shape).__name__ for geometry in shown] == KEPT[ending]
    touched = [type(g.shape).__name__ for g in back if g.role == "collision"]
    assert sorted(touched) == sorted(KEPT[ending] + REPLACED[ending])
    lost = {type(shape).__name__ for shape in SHAPES} - set(KEPT[ending])
    for name in lost:
        assert any(name.lower() in finding.what for finding in findings), name
    box = next(geometry for geometry in shown if isinstance(geometry.shape, Box))
    np.testing.assert_allclose(box.shape.size, [0.1, 0.2, 0.3], rtol=ROUNDING)
    np.testing.assert_allclose(
        box.placement.matrix(), model.body("upper").parts[0].geometry[0].placement.matrix(), atol=ROUNDING
    )
    np.testing.assert_allclose(box.color, (0.1, 0.2, 0.3, 1.0), rtol=ROUNDING)


def test_shapes_of_mjcf_compile_and_come_back(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = shaped(*SHAPES).model()
    findings = write(model, tmp_path / "arm.xml", approximate=True)
    assert sum("cone" in f.what or "planes on fixed bodies" in f.what for f in findings) == 4
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    assert compiled.ngeom == 14 and list(compiled.geom_contype).count(0) == 6
    assert compiled.body("upper").mass[0] == 1.0  # shapes weigh nothing
    back = read(tmp_path / "arm.xml")[0].body("upper").parts[0].geometry
    assert [type(g.shape).__name__ for g in back if g.role == "visual"][:5] == [
        "Box", "Sphere", "Ellipsoid", "Cylinder", "Capsule"
    ]  # fmt: skip


def test_geometry_can_be_left_out(tmp_path):
    for ending in ENDINGS:
        findings = shaped(Sphere(0.1)).build().save(tmp_path / f"arm{ending}", geometry=False)
        assert any("geometry=False" in finding.action for finding in findings)
        assert "sphere" not in (tmp_path / f"arm{ending}").read_text()


def test_meshes_that_were_not_found_keep_their_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    builder = ModelBuilder("arm")
    builder.add_body("upper", parent="world", mass=1.0)
    names = ["package://other/meshes/a.stl", "meshes/b.stl"]
    for name in names:
        builder.add_geometry(Mesh(name), body="upper")
    builder.build().save("arm.urdf", package=tmp_path)
    assert re.findall('filename="(.*?)"', (tmp_path / "arm.urdf").read_text()) == names


def test_meshes_keep_their_path_or_take_that_of_a_package(tmp_path):
    package = tmp_path / "arm_description"
    (package / "meshes").mkdir(parents=True)
    file = package / "meshes" / "upper.stl"
    file.write_bytes(b"")
    robot = shaped(Mesh(str(file), np.array([0.001, 0.001, 0.001]))).build()
    for ending, scheme in ((".urdf", "package"), (".sdf", "model")):
        robot.save(package / f"arm{ending}")
        assert str(file) in (package / f"arm{ending}").read_text()
        robot.save(package / f"arm{ending}", package=package)
        text = (package / f"arm{ending}").read_text()
        assert f"{scheme}://arm_description/meshes/upper.stl" in text and str(file) not in text
        (geometry, _) = read(package / f"arm{ending}")[0].body("upper").parts[0].geometry
        assert Path(geometry.shape.file) == file and geometry.shape.scale[0] == 0.001
    findings = robot.save(tmp_path / "arm.xml", approximate=True)
    assert any("binary STL" in finding.what for finding in findings)
    with pytest.raises(DalembertError, match="MJCF has no packages"):
        robot.save(tmp_path / "arm.xml", package=package)


def test_bundled_robots_are_written_in_every_format_that_can_say_them(tmp_path):
    for name in robots():
        load(name).save(tmp_path / f"{name}.urdf")
        if name != "delta":  # SDF has no distance joint to close a loop
            load(name).without("armature", "friction").save(tmp_path / f"{name}.sdf")
    assert len(list(tmp_path.iterdir())) == 2 * len(robots()) - 1
