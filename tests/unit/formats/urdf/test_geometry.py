"""Shapes, colours and mesh files of URDF links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.formats import read_urdf
from dalembert.formats.resources import SEARCHED, Resources
from dalembert.model import Geometry
from dalembert.model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from tolerances import ROUNDING


def robot(inside: str, extra: str = "") -> str:
    return f'<robot name="r"><link name="a">{inside}</link>{extra}</robot>'


def shown(shape: str, around: str = "", role: str = "visual") -> str:
    return f"<{role}>{around}<geometry>{shape}</geometry></{role}>"


def geometry(source: str | Path) -> tuple[Geometry, ...]:
    return read_urdf(source)[0].bodies[0].parts[0].geometry


def test_every_shape_in_file_order() -> None:
    made = geometry(
        robot(
            shown('<box size="1 2 3"/>', '<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>')
            + shown('<sphere radius="0.5"/>', role="collision")
            + shown('<cylinder radius="0.1" length="2"/>')
            + shown('<capsule radius="0.2" length="1"/>')
            + shown('<mesh filename="a.stl" scale="0.001 0.001 -0.001"/>')
        )
    )
    assert [type(g.shape) for g in made] == [Box, Sphere, Cylinder, Capsule, Mesh]
    assert [g.role for g in made] == ["visual", "collision", "visual", "visual", "visual"]
    assert made[0].shape.size.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(
        made[0].placement.matrix()[:3], [[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]], atol=ROUNDING
    )
    assert (made[1].shape.radius, made[2].shape.radius, made[2].shape.length) == (0.5, 0.1, 2.0)
    assert (made[3].shape.radius, made[3].shape.length) == (0.2, 1.0)
    assert (made[4].shape.file, made[4].shape.scale.tolist()) == ("a.stl", [0.001, 0.001, -0.001])


def tilted(shape: str, along: float = 0.0, rest: str = "", role: str = "collision", name: str = "") -> str:
    """A shape on a tilted axis, so far along it."""
    x, z = 0.1 + along * np.sin(0.7), along * np.cos(0.7)
    named = f' name="{name}"' if name else ""
    origin = f'<origin xyz="{x:.17g} 0 {z:.17g}" rpy="0 0.7 0"/>'
    return f"<{role}{named}>{origin}<geometry>{shape}</geometry>{rest}</{role}>"


TUBE, BALL = '<cylinder radius="0.1" length="0.6"/>', '<sphere radius="0.1"/>'
ENDS = (-0.3, 0.3)
BLUE = '<material name="b"><color rgba="0 0 1 1"/></material>'


@pytest.mark.parametrize("ends", [ENDS, ENDS[::-1]])
def test_a_cylinder_with_a_ball_at_each_end_is_one_capsule(ends) -> None:
    pieces = tilted(TUBE, name="arm") + "".join(tilted(BALL, end) for end in ends)
    first, capsule, last = geometry(robot(tilted(BALL) + pieces + tilted(BALL)))
    assert isinstance(first.shape, Sphere) and isinstance(last.shape, Sphere)
    assert isinstance(capsule.shape, Capsule) and (capsule.shape.radius, capsule.shape.length) == (0.1, 0.6)
    assert (capsule.role, capsule.name) == ("collision", "arm")
    np.testing.assert_allclose(capsule.placement.p, [0.1, 0, 0], atol=ROUNDING)
    np.testing.assert_allclose(capsule.placement.R[:, 2], [np.sin(0.7), 0, np.cos(0.7)], atol=ROUNDING)


@pytest.mark.parametrize(
    "pieces",
    {
        "another radius": tilted(TUBE) + tilted('<sphere radius="0.11"/>', -0.3) + tilted(BALL, 0.3),
        "one ball": tilted(TUBE) + tilted(BALL, 0.3),
        "both at one end": tilted(TUBE) + tilted(BALL, 0.3) + tilted(BALL, 0.3),
        "a millimetre off": tilted(TUBE) + tilted(BALL, -0.3) + tilted(BALL, 0.301),
        "a ball with a name": tilted(TUBE) + tilted(BALL, -0.3) + tilted(BALL, 0.3, name="tip"),
        "other roles": tilted(TUBE) + tilted(BALL, -0.3) + tilted(BALL, 0.3, role="visual"),
        "other colours": tilted(TUBE, role="visual")
        + tilted(BALL, -0.3, BLUE, role="visual")
        + tilted(BALL, 0.3, role="visual"),
        "a box between": tilted(TUBE) + tilted(BALL, -0.3) + tilted('<box size="1 1 1"/>') + tilted(BALL, 0.3),
    }.items(),
    ids=lambda item: item[0],
)
def test_other_pieces_stay_apart(pieces) -> None:
    kinds = [type(g.shape) for g in geometry(robot(pieces[1]))]
    assert Capsule not in kinds and len(kinds) == pieces[1].count("<geometry>")


def test_colours_by_name_and_in_place() -> None:
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    text = robot(
        shown('<sphere radius="1"/>', '<material name="red"/>')
        + shown('<sphere radius="1"/>', '<material name="own"><color rgba="0 0.5 0 0.2"/></material>')
        + shown('<sphere radius="1"/>', '<material name="own"/>')
        + shown('<sphere radius="1"/>', '<material name="nowhere"/>')
        + shown('<sphere radius="1"/>'),
        red,
    )
    assert [g.color for g in geometry(text)] == [(1, 0, 0, 1), (0, 0.5, 0, 0.2), (0, 0.5, 0, 0.2), None, None]


def test_geometry_of_fixed_links_stays_with_its_part() -> None:
    ends = '<parent link="a"/><child link="b"/><origin xyz="0 0 3"/>'
    ball = shown('<sphere radius="1"/>')
    text = robot("", f'<link name="b">{ball}</link><joint name="j" type="fixed">{ends}</joint>')
    parts = read_urdf(text)[0].bodies[0].parts
    assert [len(part.geometry) for part in parts] == [0, 1]
    assert parts[1].placement.p.tolist() == [0, 0, 3]


def test_geometry_does_not_change_the_fingerprint() -> None:
    plain, shaped = robot(""), robot(shown('<sphere radius="1"/>'))
    assert read_urdf(plain)[0].fingerprint == read_urdf(shaped)[0].fingerprint


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """arm_description/urdf/arm.urdf beside arm_description/meshes and hand_description."""
    for variable, _ in SEARCHED:
        monkeypatch.delenv(variable, raising=False)
    for file in ("arm_description/meshes/a b.stl", "arm_description/urdf/local.stl", "hand_description/h.stl"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("package://arm_description/meshes/a b.stl", "arm_description/meshes/a b.stl"),
        ("package:///arm_description/meshes/a b.stl", "arm_description/meshes/a b.stl"),
        ("model://hand_description/h.stl", "hand_description/h.stl"),
        ("local.stl", "arm_description/urdf/local.stl"),
        ("../meshes/a b.stl", "arm_description/urdf/../meshes/a b.stl"),
        ("file://local.stl", "arm_description/urdf/local.stl"),
        ("file://{folder}/hand_description/h.stl", "hand_description/h.stl"),
        ("file://{folder}/arm_description/meshes/a%20b.stl", "arm_description/meshes/a b.stl"),
        ("package://{folder}/hand_description/h.stl", "hand_description/h.stl"),
        ("{folder}/hand_description/h.stl", "hand_description/h.stl"),
        ("package://arm_description/none.stl", None),
        ("package://", None),
        ("http://arm_description/meshes/a b.stl", None),
        ("", None),
    ],
)
def test_where_meshes_lie(folders: Path, uri: str, file: str | None) -> None:
    found = Resources(folders / "arm_description" / "urdf").find(uri.format(folder=folders))
    assert found == (None if file is None else str(folders / file))


@pytest.mark.parametrize(("variable", "inside"), SEARCHED)
def test_folders_named_by_the_environment(tmp_path: Path, monkeypatch, variable: str, inside: str) -> None:
    for other, _ in SEARCHED:
        monkeypatch.delenv(other, raising=False)
    file = tmp_path / "prefix" / inside / "pkg" / "m.stl"
    file.parent.mkdir(parents=True)
    file.touch()
    assert Resources(None).find("package://pkg/m.stl") is None
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path / 'prefix'}")
    assert Resources(None).find("package://pkg/m.stl") == str(file)
    assert Resources(None).package("pkg") == str(file.parent)


def test_a_mesh_beside_the_file_is_found(folders: Path) -> None:
    file = folders / "arm_description" / "urdf" / "arm.urdf"
    file.write_text(robot(shown('<mesh filename="package://arm_description/meshes/a b.stl"/>')))
    model, log = read_urdf(file)
    assert model.bodies[0].parts[0].geometry[0].shape.file == str(folders / "arm_description/meshes/a b.stl")
    assert log == ()
