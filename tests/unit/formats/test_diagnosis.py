"""Numbers that look like a slip are named with the likely cause; sound robots stay without findings."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from dalembert.formats import Finding, read, read_dh
from dalembert.formats.diagnosis import diagnose
from dalembert.formats.ledger import Ledger
from dalembert.model import Geometry, ModelBuilder
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere
from dalembert.model.solids.properties import plain_solid as solid
from dalembert.spatial import Inertia, Pose
from tolerances import PRODUCT, assert_close

SAMPLED = 0.01  # sums over points of a grid
SAMPLED_MOMENTS = 5e-3  # the same, of moments that are 0, per mass

ROD = {"mass": 2.0, "com": (0.2, 0, 0), "inertia": np.diag([0.001, 0.027, 0.027])}  # 0.4 m long, 0.05 m thick
TUBE = (Cylinder(0.05, 0.4), {"xyz": (0.2, 0, 0), "rpy": (0, np.pi / 2, 0)})


def arm(*, unit: float = 1.0, drawn: bool = False, **second: object) -> ModelBuilder:
    """Two rods; `second` changes the outer one, `unit` scales its lengths."""
    builder = ModelBuilder("arm")
    builder.add_body("inner", parent="world", joint="revolute", joint_name="shoulder", **ROD)
    fields = {**ROD, "joint": "revolute", "joint_name": "elbow", "xyz": (0.4 * unit, 0, 0), **second}
    builder.add_body("outer", parent="inner", **fields)
    if drawn:
        builder.add_geometry(TUBE[0], body="outer", **TUBE[1])
    return builder


def findings(builder: ModelBuilder) -> list[Finding]:
    ledger = Ledger()
    diagnose(ledger, builder.model(), lambda name: f"file:1 {name}")
    return ledger.findings


def tensor(factor: float) -> dict[str, object]:
    return {"inertia": factor * ROD["inertia"]}


def about_origin() -> dict[str, object]:
    whole = Inertia.from_com(ROD["mass"], np.array(ROD["com"]), ROD["inertia"])
    return {"inertia": whole.I}


def test_sound_numbers_have_no_findings() -> None:
    assert findings(arm()) == []
    assert findings(arm(drawn=True)) == []
    assert findings(arm(drawn=True, **tensor(5.0))) == []  # a shape is a rough guess
    assert findings(arm(drawn=True, **tensor(0.2))) == []
    assert findings(arm(inertia=None)) == []  # a point mass is meant
    assert findings(arm(lower=-4 * math.pi, upper=4 * math.pi)) == []
    assert findings(arm(lower=-1000, upper=1000)) == []  # as good as no limit
    assert findings(arm(joint="prismatic", lower=-90, upper=90)) == []


SLIPS = {
    "millimetres": ({"unit": 1000.0}, "elbow", "joint 'elbow' lies 400 m .*millimetres, expected metres"),
    "centre in millimetres": ({"com": (200.0, 0, 0)}, "outer", "of mass of link 'outer' lies 200 m .*millimetres"),
    "degrees": ({"lower": -170, "upper": 170}, "elbow", "'elbow' are -170 and 170 rad; .*degrees, expected radians"),
    "one bound in degrees": ({"lower": 0, "upper": 90}, "elbow", "0 and 90 rad; .*degrees"),
    "kg mm²": (tensor(1e6), "outer", "lie .* m from their centre .*inertia in kg·mm², expected kg·m²"),
    "g mm²": (tensor(1e9), "outer", "inertia in g·mm², expected kg·m²"),
    "grams": ({"mass": 2000.0}, "outer", "2000 kg lies 3.7 mm .*denser than any material.*mass in grams"),
    "too small": (tensor(1e-4), "outer", "denser than any material.*misplaced decimal point"),
    "far too small": (tensor(1e-6), "outer", "denser than any material"),
    "about the origin": (
        {"drawn": True, **about_origin()},
        "outer",
        "taken about the link's origin, expected about the centre of mass",
    ),
    "no mass": ({"mass": 0.0, "inertia": None}, "elbow", "joint 'elbow' moves links without any mass"),
}


@pytest.mark.parametrize("case", SLIPS)
def test_slips_are_warnings_with_the_likely_cause(case: str) -> None:
    changes, place, message = SLIPS[case]
    (finding,) = findings(arm(**changes))
    assert finding.severity == "warning"
    assert finding.where == f"file:1 {place}"
    assert re.search(message, finding.what), finding.what
    assert finding.action.startswith("kept")


def test_placeholders_are_one_info() -> None:
    builder = arm(inertia=np.eye(3))
    builder.add_body("third", parent="outer", joint="revolute", xyz=(0.4, 0, 0), mass=1.0, inertia=np.eye(3))
    (finding,) = findings(builder)
    assert finding.severity == "info"
    assert finding.where == "file:1 outer"
    assert "and 1 more links like it; likely cause: a placeholder" in finding.what


def test_doubts_that_may_be_meant_are_infos() -> None:
    """A toy somewhat denser than osmium, a shape that stands for something larger."""
    (dense,) = findings(arm(mass=0.3, com=(0.2, 0, 0), inertia=1.2e-5 * np.eye(3)))
    assert (dense.severity, dense.where) == ("info", "file:1 outer")
    assert "denser than any material" in dense.what
    (large,) = findings(arm(drawn=True, **tensor(150.0)))
    assert (large.severity, large.where) == ("info", "file:1 outer")
    assert re.search("inertia is 141 times that of its shape.*decimal point", large.what)


def test_placeholders_without_effect_are_none() -> None:
    assert findings(arm(mass=1e-6, inertia=1e-6 * np.eye(3))) == []


def test_a_base_that_never_moves_is_not_judged() -> None:
    builder = ModelBuilder("arm")
    builder.add_body("base", parent="world", mass=1e-3, inertia=np.eye(3))
    builder.add_body("arm", parent="base", joint="revolute", **ROD)
    assert findings(builder) == []


@pytest.mark.parametrize("offset", [1e-18, 1e-3])
def test_the_centre_of_mass_of_a_lone_body_is_no_measure_of_its_size(offset: float) -> None:
    builder = ModelBuilder("crate")
    builder.add_body("crate", parent="world", joint="free", mass=8.0, com=(offset, 0, 0), inertia=np.eye(3) * 8.0 / 6.0)
    assert findings(builder) == []


def test_a_heavy_machine_may_be_large() -> None:
    assert findings(arm(unit=100.0, mass=5000.0, inertia=np.diag([10.0, 2e5, 2e5]))) == []


def test_armature_and_leaders_carry_massless_links() -> None:
    assert findings(arm(mass=0.0, inertia=None, armature=0.1)) == []
    assert findings(arm(mass=0.0, inertia=None, mimic=("shoulder", 1.0, 0.0))) == []


def test_massless_chains_are_reported_once() -> None:
    builder = arm(mass=0.0, inertia=None)
    builder.add_body("tip", parent="outer", joint="prismatic")
    assert [finding.where for finding in findings(builder)] == ["file:1 elbow"]
    afloat = ModelBuilder("ghost")
    afloat.add_body("body", parent="world", joint="free")
    assert len(findings(afloat)) == 1


SDF = """<sdf version="1.9"><model name="m"><link name="a">{}</link><link name="b">{}</link>
<joint name="held" type="fixed"><parent>world</parent><child>a</child></joint>
<joint name="j" type="revolute"><parent>a</parent><child>b</child>
<axis><xyz>0 0 1</xyz><limit><lower>-90</lower><upper>90</upper></limit></axis></joint></model></sdf>"""


def test_readers_share_the_rules() -> None:
    """Degrees and grams in SDF, degrees in URDF, grams in a DH table."""
    moments = "<ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>"
    inertial = f"<inertial><mass>900</mass><inertia>{moments}</inertia></inertial>"
    found = {f.where: f.what for f in read(SDF.format(inertial, inertial))[1] if f.severity == "warning"}
    assert [where.partition(":")[2] for where in found] == ["3 <joint name='j'>", "1 <link name='b'>"]
    assert "degrees" in found["<string>:3 <joint name='j'>"] and "grams" in found["<string>:1 <link name='b'>"]
    table = (
        'convention = "standard"\nangles = "rad"\n[[joint]]\ntype = "revolute"\na = 0.1\nalpha = 0\nd = 0\nupper = 90\n'
    )
    log = read_dh((table + "lower = -90\nmass = 900\ninertia = [0.01, 0.01, 0.01]\n").encode())[1]
    assert [finding.where for finding in log] == 2 * ["<bytes>:3 joint (entry 1)"]
    assert "degrees" in log[0].what and "grams" in log[1].what


def sampled(shape: Shape, inside, half: tuple[float, float, float]) -> Inertia:
    """Volume and moments from a grid of points."""
    n = 80
    axes = [(np.arange(n) + 0.5) / n * 2 * h - h for h in half]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[inside(points)]
    cell = 8 * np.prod(half) / n**3
    squares = points.T @ points * cell
    return Inertia(len(points) * cell, points.sum(axis=0) * cell, np.trace(squares) * np.eye(3) - squares)


def radial(p: np.ndarray) -> np.ndarray:
    return np.hypot(p[:, 0], p[:, 1])


SOLIDS = {
    "box": (Box(np.array([0.2, 0.4, 0.6])), lambda p: np.full(len(p), True), (0.1, 0.2, 0.3)),
    "sphere": (Sphere(0.5), lambda p: np.linalg.norm(p, axis=1) < 0.5, (0.5, 0.5, 0.5)),
    "ellipsoid": (
        Ellipsoid(np.array([0.2, 0.3, 0.4])),
        lambda p: np.linalg.norm(p / [0.2, 0.3, 0.4], axis=1) < 1,
        (0.2, 0.3, 0.4),
    ),
    "cylinder": (Cylinder(0.3, 1.0), lambda p: radial(p) < 0.3, (0.3, 0.3, 0.5)),
    "capsule": (
        Capsule(0.3, 1.0),
        lambda p: np.hypot(radial(p), np.maximum(np.abs(p[:, 2]) - 0.5, 0)) < 0.3,
        (0.3, 0.3, 0.8),
    ),
    "cone": (Cone(0.3, 1.0), lambda p: radial(p) < 0.3 * (0.5 - p[:, 2]), (0.3, 0.3, 0.5)),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_against_sums_over_points(name: str) -> None:
    shape, inside, half = SOLIDS[name]
    made, expected = solid([Geometry(shape, Pose.identity())]), sampled(shape, inside, half)
    np.testing.assert_allclose(
        made.parameters(), expected.parameters(), rtol=SAMPLED, atol=SAMPLED_MOMENTS * expected.mass
    )


def test_solids_add_and_move() -> None:
    X = Pose.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
    one = solid([Geometry(Sphere(0.5), Pose.identity())])
    two = solid([Geometry(Sphere(0.5), Pose.identity()), Geometry(Sphere(0.5), X)])
    assert_close(two.parameters(), (one + one.transform(X)).parameters(), PRODUCT)
    assert solid([]) is None
    assert solid([Geometry(Capsule(1e-320, 1e-320), X)]) is None
    assert solid([Geometry(Plane(np.array([0, 0, 1.0])), X)]) is None
    assert solid([Geometry(Sphere(1.0), X), Geometry(Mesh("x.stl", np.ones(3)), X)]) is None
