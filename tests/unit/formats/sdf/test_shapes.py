"""Geometry of SDF links, and inertia computed from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.formats import Finding, read_sdf
from dalembert.model import Model
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Sphere
from formats.sdf.oracle import Mass, placed
from formats.sdf.snippets import inertial, model, pose
from tolerances import RECURSION, assert_close

SAMPLED_MASS = 0.01  # sums over points of a grid
SAMPLED_COM = 5e-3  # the same, of a centre of mass
SAMPLED_INERTIA = 0.015  # the same, of second moments

UNIT = inertial(Mass(1.0, np.zeros(3), np.eye(3)))
P = np.array([0.3, -0.2, 0.5, 0.4, -0.7, 1.1])
SHAPES = {
    "box": ("<size>1 2 3</size>", Box, {"size": [1, 2, 3]}),
    "sphere": ("<radius>0.5</radius>", Sphere, {"radius": 0.5}),
    "ellipsoid": ("<radii>1 2 3</radii>", Ellipsoid, {"radii": [1, 2, 3]}),
    "cylinder": ("<radius>0.5</radius><length>2</length>", Cylinder, {"radius": 0.5, "length": 2}),
    "capsule": ("<radius>0.5</radius><length>2</length>", Capsule, {"radius": 0.5, "length": 2}),
    "cone": ("<radius>0.5</radius><length>2</length>", Cone, {"radius": 0.5, "length": 2}),
    "plane": ("<normal>0 1 0</normal><size>9 9</size>", Plane, {"normal": [0, 1, 0]}),
    "mesh": ("<uri>model://no/such.stl</uri><scale>1 2 3</scale>", Mesh, {"scale": [1, 2, 3]}),
}


def geometry(kind: str) -> str:
    return f"<geometry><{kind}>{SHAPES[kind][0]}</{kind}></geometry>"


def read(inside: str, **options: bool) -> tuple[Model, tuple[Finding, ...]]:
    return read_sdf(model(f'<link name="a">{inside}</link>', "1.11"), **options)


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes(kind: str) -> None:
    color = "<material><ambient>0 0 0 1</ambient><diffuse>0.1 0.2 0.3 0.8</diffuse></material>"
    visual = f'<visual name="v">{pose(P)}{geometry(kind)}{color}<transparency>0.5</transparency></visual>'
    made, _ = read(UNIT + visual + f'<collision name="c">{geometry(kind)}</collision>', strict=True)
    seen, touched = made.bodies[0].parts[0].geometry
    assert [seen.role, seen.name, touched.role, touched.name] == ["visual", "v", "collision", "c"]
    assert isinstance(seen.shape, SHAPES[kind][1])
    for field, value in SHAPES[kind][2].items():
        assert np.array_equal(getattr(seen.shape, field), value)
    assert_close(seen.placement.matrix(), placed(P), RECURSION)
    assert_close(seen.color, [0.1, 0.2, 0.3, 0.4], RECURSION)
    assert touched.color is None


def test_mesh_files_are_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "arm.stl").write_text("solid")
    mesh = '<visual name="v"><geometry><mesh><uri>arm.stl</uri></mesh></geometry></visual>'
    file = tmp_path / "arm.sdf"
    file.write_text(model(f'<link name="a">{UNIT}{mesh}</link>'))
    assert read_sdf(file)[0].bodies[0].parts[0].geometry[0].shape.file == str((tmp_path / "arm.stl").resolve())


@pytest.mark.parametrize("kind", ["heightmap", "polyline", "image", "empty"])
def test_shapes_that_are_not_kept_are_in_the_log(kind: str) -> None:
    made, log = read(UNIT + f'<visual name="v"><geometry><{kind}/></geometry></visual>', strict=True)
    assert made.bodies[0].parts[0].geometry == ()
    assert [finding.what for finding in log] == [f"<{kind}> geometry"]


INSIDE = {
    "box": lambda x, y, z: (abs(x) < 0.5) & (abs(y) < 1) & (abs(z) < 1.5),
    "sphere": lambda x, y, z: x * x + y * y + z * z < 0.25,
    "ellipsoid": lambda x, y, z: x * x + y * y / 4 + z * z / 9 < 1,
    "cylinder": lambda x, y, z: (x * x + y * y < 0.25) & (abs(z) < 1),
    "capsule": lambda x, y, z: x * x + y * y + np.maximum(abs(z) - 1, 0) ** 2 < 0.25,
    "cone": lambda x, y, z: (np.sqrt(x * x + y * y) < 0.25 * (1 - z)) & (abs(z) < 1),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_inertia_from_shapes(kind: str) -> None:
    """Against sums over a fine grid of points."""
    h = 0.025
    ends = [1.0, 2.0, 3.0] if kind in ("ellipsoid", "box") else [0.5, 0.5, 1.5]
    x, y, z = np.meshgrid(*[np.arange(-end + h / 2, end, h) for end in ends], indexing="ij")
    r = np.stack([x, y, z])[:, INSIDE[kind](x, y, z)]
    mass = 700.0 * h**3 * r.shape[1]
    com = r.mean(axis=1)
    d = r - com[:, None]
    second = 700.0 * h**3 * (np.sum(d * d) * np.eye(3) - d @ d.T)
    shape = f'<collision name="c">{pose(P)}<density>700</density>{geometry(kind)}</collision>'
    made, log = read('<inertial auto="true"/>' + shape, strict=True)
    found, T = made.bodies[0].inertia, placed(P)
    assert_close(found.mass, mass, SAMPLED_MASS, scale=mass)
    assert_close(found.com, (T @ [*com, 1.0])[:3], SAMPLED_COM)
    assert_close(found.about_com(), T[:3, :3] @ second @ T[:3, :3].T, SAMPLED_INERTIA)
    assert "computed from the collision shapes" in log[0].action


def test_stated_mass_scales_and_densities_add() -> None:
    two = "".join(
        f'<collision name="{name}">{pose([x, 0, 0, 0, 0, 0])}{density}{geometry("sphere")}</collision>'
        for name, x, density in (("c", 1, ""), ("d", -1, "<density>3000</density>"))
    )
    made, _ = read(f'<inertial auto="true"><mass>8</mass><density>1000</density></inertial>{two}')
    assert_close(made.bodies[0].inertia.mass, 8.0, RECURSION)
    assert_close(made.bodies[0].inertia.com, [-0.5, 0, 0], RECURSION)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("", "no <collision> shape has mass; state <mass>"),
        (f'<collision name="c">{geometry("mesh")}</collision>', "needs solid primitives"),
    ],
)
def test_inertia_from_nothing_solid_is_refused(inside: str, message: str) -> None:
    with pytest.raises(DalembertError, match=message):
        read('<inertial auto="true"/>' + inside)
