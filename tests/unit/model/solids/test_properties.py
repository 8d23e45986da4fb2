"""Mass properties of shapes against integrals done another way, and the check of stated inertia against shapes."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, mass_properties
from dalembert.model import Geometry
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.spatial import Inertia, Pose, so3
from tolerances import EPS32, ITERATED, PRODUCT, RECURSION, SINGLE, assert_close

TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
TURNED = Pose(so3.from_rpy(0.3, -0.5, 1.1), np.array([0.4, -0.2, 0.3]))


def box_surface(size, at=(0.0, 0.0, 0.0)) -> Polyhedron:
    x = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]) * size + at
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Polyhedron(x, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]))


def revolved(radius, knots):
    """Volume, height of the centre of mass, Ixx about it and Izz at unit density of a solid of revolution about z."""
    x, w = np.polynomial.legendre.leggauss(40)
    z = np.concatenate([0.5 * (b - a) * x + 0.5 * (a + b) for a, b in pairwise(knots)])
    dz = np.concatenate([0.5 * (b - a) * w for a, b in pairwise(knots)])
    r = radius(z)
    volume, first = dz @ (np.pi * r**2), dz @ (np.pi * r**2 * z)
    across = dz @ (np.pi * r**4 / 4 + np.pi * r**2 * z**2) - first**2 / volume
    return volume, first / volume, across, dz @ (np.pi * r**4 / 2)


R, L = 0.3, 0.8
REVOLVED = {
    "cylinder": (Cylinder(R, L), lambda z: R + 0 * z, (-L / 2, L / 2)),
    "cone": (Cone(R, L), lambda z: R * (0.5 - z / L), (-L / 2, L / 2)),
    "sphere": (Sphere(R), lambda z: np.sqrt(R**2 - z**2), (-R, R)),
    "ellipsoid": (Ellipsoid(np.array([R, R, L])), lambda z: R * np.sqrt(1 - (z / L) ** 2), (-L, L)),
    "capsule": (
        Capsule(R, L),
        lambda z: np.sqrt(np.maximum(R**2 - np.maximum(np.abs(z) - L / 2, 0) ** 2, 0)),
        (-L / 2 - R, -L / 2, L / 2, L / 2 + R),
    ),
}


@pytest.mark.parametrize("name", REVOLVED)
def test_closed_forms_are_the_integrals_over_slices(name):
    shape, radius, knots = REVOLVED[name]
    volume, height, across, along = revolved(radius, knots)
    found = mass_properties(shape, density=1.0)
    assert_close(found.volume, volume, PRODUCT)
    assert_close(found.com, [0, 0, height], PRODUCT)
    assert_close(found.inertia, np.diag([across, across, along]), PRODUCT)


def test_boxes_and_ellipsoids_have_their_own_axes():
    found = mass_properties(Box(np.array([1.0, 2.0, 3.0])), mass=12.0)
    assert_close(found.inertia, np.diag([13.0, 10.0, 5.0]), PRODUCT)
    assert found.volume == 6.0
    found = mass_properties(Ellipsoid(np.array([1.0, 2.0, 3.0])), mass=5.0)
    assert_close(found.inertia, np.diag([13.0, 10.0, 5.0]), PRODUCT)


def test_polyhedra_are_integrated_exactly():
    box = mass_properties(Box(np.array([0.2, 0.3, 0.5])), density=800.0)
    hull = mass_properties(box_surface((0.2, 0.3, 0.5), at=(5.0, 1.0, -2.0)), density=800.0)
    assert_close(hull.com, [5.0, 1.0, -2.0], PRODUCT)
    assert_close(hull.inertia, box.inertia, RECURSION)  # of a solid 5 m away from the origin
    # a corner of the unit cube: ∫ x² = 1/60, ∫ x y = 1/120, V = 1/6, c = 1/4
    corner = Polyhedron(np.concatenate([np.zeros((1, 3)), np.eye(3)]), TETRAHEDRON)
    found = mass_properties(corner, density=1.0)
    second = np.full((3, 3), 1 / 120) + np.eye(3) / 120 - 1 / 96
    assert_close(found.volume, 1 / 6, PRODUCT)
    assert_close(found.com, np.full(3, 0.25), PRODUCT)
    assert_close(found.inertia, np.trace(second) * np.eye(3) - second, PRODUCT)


def test_inside_out_is_mended_and_said():
    box = box_surface((0.2, 0.3, 0.5))
    found = mass_properties(Polyhedron(box.vertices, box.triangles[:, ::-1]), density=1.0)
    assert found.volume == pytest.approx(0.03) and "inside out" in found.notes[0]


def test_placed_shapes_add():
    shapes = [
        Geometry(Box(np.array([0.2, 0.3, 0.5])), TURNED, "collision"),
        Geometry(Sphere(0.2), Pose.identity(), "collision"),
    ]
    seen = Geometry(Sphere(9.0), Pose.identity())
    found = mass_properties([*shapes, seen], density=100.0)
    box, ball = (mass_properties(shape.shape, density=100.0) for shape in shapes)
    total = Inertia.from_com(box.mass, box.com, box.inertia).transform(TURNED)
    total = total + Inertia.from_com(ball.mass, ball.com, ball.inertia)
    assert_close(found.com, total.com, PRODUCT)
    assert_close(found.inertia, total.about_com(), PRODUCT)
    assert_close(mass_properties(shapes[0], density=100.0).com, TURNED.p, PRODUCT)


def test_meshes_through_trimesh(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    solid = trimesh.creation.annulus(0.1, 0.2, 0.3)
    solid.apply_translation([0.5, 0.1, 0.2])
    solid.export(tmp_path / "ring.stl")
    found = mass_properties(Mesh(str(tmp_path / "ring.stl"), np.array([2.0, 2.0, 2.0])), density=10.0)
    scaled = solid.copy()
    scaled.apply_scale(2.0)
    scaled.density = 10.0
    assert not found.notes
    assert_close(found.volume, scaled.volume, 10 * EPS32)  # STL keeps single precision
    assert_close(found.com, scaled.center_mass, 10 * EPS32)
    assert_close(found.inertia, scaled.moment_inertia, SINGLE)
    mirrored = mass_properties(Mesh(str(tmp_path / "ring.stl"), np.array([-2.0, 2.0, 2.0])), density=10.0)
    assert_close(mirrored.com, found.com * [-1, 1, 1], ITERATED)
    assert not mirrored.notes
    open_box = trimesh.creation.box((1, 2, 3))
    open_box.update_faces(np.arange(len(open_box.faces)) > 1)
    open_box.export(tmp_path / "open.stl")
    found = mass_properties(Mesh(str(tmp_path / "open.stl"), np.ones(3)), density=1.0)
    assert found.volume == pytest.approx(6.0) and "convex hull" in found.notes[0]


def test_without_trimesh_the_extra_is_named(tmp_path, monkeypatch):
    file = tmp_path / "a.stl"
    file.write_text("solid")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(DalembertError, match=r"pip install 'dalembert\[meshes\]'"):
        mass_properties(Mesh(str(file), np.ones(3)), density=1.0)


@pytest.mark.parametrize(
    ("solid", "options", "words"),
    [
        (Box(np.ones(3)), {}, "give density"),
        (Box(np.ones(3)), {"density": 1.0, "mass": 1.0}, "give density"),
        (Box(np.ones(3)), {"density": -1.0}, "expected above 0"),
        (Plane(np.array([0, 0, 1.0])), {"density": 1.0}, "a plane has no volume"),
        ("box", {"density": 1.0}, "no solid is known for str"),
        ([], {"density": 1.0}, "no shapes with a volume"),
        (["box"], {"density": 1.0}, "expected shapes or Geometry, got str"),
        (Mesh("missing.stl", np.ones(3)), {"density": 1.0}, "no such file"),
    ],
)
def test_refusals(solid, options, words):
    with pytest.raises(DalembertError, match=words):
        mass_properties(solid, **options)


# ---- stated inertia against shapes

SIZE = np.array([0.1, 0.2, 0.4])
AT = np.array([0.05, 0.0, 0.2])
RIGHT = mass_properties(Box(SIZE), density=2700.0)


def link(mass=RIGHT.mass, com=AT, inertia=RIGHT.inertia):
    """A box of aluminium beside the link's origin, with other numbers stated."""
    builder = ModelBuilder("one")
    object_ = Inertia.from_com(mass, np.asarray(com), np.asarray(inertia))
    builder.add_body("bar", parent="world", joint="revolute", inertia_object=object_)
    builder.add_geometry(Box(SIZE), body="bar", xyz=AT)
    return builder.build()


def test_right_numbers_are_left_in_peace():
    assert link().check_inertia() == ()
    assert link(inertia=RIGHT.inertia * 1.25).check_inertia() == ()


C = AT @ AT * np.eye(3) - np.outer(AT, AT)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"inertia": RIGHT.inertia * 1.4}, "further out than in a solid"),
        ({"inertia": RIGHT.inertia * 0.5}, "the mass is concentrated"),
        ({"inertia": RIGHT.inertia + RIGHT.mass * C}, "about the link's origin instead of the centre of mass"),
        ({"inertia": RIGHT.inertia * 1e6}, "kg·mm² given as kg·m²"),
        ({"inertia": RIGHT.inertia * 1e9}, "g·mm² given as kg·m²"),
        ({"inertia": RIGHT.inertia * 10}, "decimal point"),
        ({"inertia": np.eye(3)}, "a placeholder"),
        ({"inertia": np.zeros((3, 3))}, "a point mass"),
        ({"inertia": np.diag(np.diag(RIGHT.inertia)[[2, 1, 0]])}, "along other axes"),
        (
            {"inertia": 10.0 * np.diag(np.diag(RIGHT.inertia)[[1, 0, 2]])},
            "about x and y are exchanged, and all of them are 10",
        ),
        ({"inertia": RIGHT.inertia * 300}, "cannot lie within the shapes"),
        ({"com": 1000 * AT}, "millimetres"),
        ({"com": -AT}, "a sign"),
        ({"com": (0.0, 0.0, -0.1)}, "another frame"),
        ({"mass": 1e-3, "inertia": RIGHT.inertia * 1e-3 / RIGHT.mass}, "a placeholder for the mass"),
        ({"mass": 1e3, "inertia": RIGHT.inertia * 1e3 / RIGHT.mass}, "shapes in another unit"),
    ],
)
def test_slips_are_named(stated, words):
    found = link(**stated).check_inertia()
    assert found and all(finding.severity == "warning" and finding.where == "link 'bar'" for finding in found)
    assert any(words in f"{finding.what}; {finding.action}" for finding in found), found


def test_a_centre_of_mass_left_at_the_origin():
    builder = ModelBuilder("one")
    builder.add_body("bar", parent="world", joint="revolute", mass=RIGHT.mass, inertia=RIGHT.inertia)
    builder.add_geometry(Box(SIZE), body="bar", xyz=(0.5, 0, 0), role="collision")
    (finding,) = builder.build().check_inertia()
    assert "0.45 m outside" in finding.what and "left at the link's origin" in finding.action


def test_what_cannot_be_checked_is_said():
    builder = ModelBuilder("two")
    builder.add_body("a", parent="world", joint="revolute", mass=1.0)
    builder.add_body("b", parent="a", joint="revolute", mass=1.0, inertia=np.eye(3))
    builder.add_geometry(Mesh("missing.stl", np.ones(3)), body="b")
    found = builder.build().check_inertia()
    assert [finding.severity for finding in found] == ["info", "info"]
    assert "no such file" in found[0].what and "1 link(s) with mass have no shapes: a" in found[1].what


SHAPES = [
    Box(SIZE),
    Sphere(0.1),
    Ellipsoid(SIZE),
    Cylinder(0.1, 0.4),
    Capsule(0.1, 0.4),
    Cone(0.1, 0.4),
    box_surface(SIZE),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_centres_of_mass_within_any_shape(shape):
    """The shape's own centre of mass is inside; three times its reach away it is not."""
    own = mass_properties(shape, density=1000.0)
    for away, inside in ((0.0, True), (1.5, False)):
        builder = ModelBuilder("one")
        moved = Inertia.from_com(own.mass, own.com + away * np.eye(3)[2], own.inertia)
        builder.add_body("a", parent="world", joint="revolute", inertia_object=moved.transform(TURNED))
        builder.add_geometry(shape, body="a", placement=TURNED)
        found = builder.build().check_inertia()
        assert (found == ()) is inside, found


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Box((0.1, 0.2)), r"Box: size is \(0.1, 0.2\), expected 3 finite numbers"),
        (lambda: Sphere("big"), "Sphere: radius is 'big', expected a number"),
        (lambda: Cylinder(0.1, np.inf), "Cylinder: length is inf, expected a finite number"),
        (lambda: Mesh("a.stl", (1, 2)), "Mesh: scale is"),
    ],
)
def test_shapes_of_wrong_numbers(make, said):
    with pytest.raises(DalembertError, match=said):
        make()


def test_shapes_take_plain_numbers():
    assert Box((1, 2, 3)).size.tolist() == [1.0, 2.0, 3.0]
    assert Mesh("a.stl", 0.001).scale.tolist() == [0.001] * 3 and Mesh("a.stl").scale.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shape": "box"}, "expected a shape of dalembert.shapes .Box, .* got 'box'"),
        ({"role": "visible"}, "unknown role 'visible': did you mean 'visual'"),
        ({"color": "red"}, "color is 'red', expected red, green, blue, opacity"),
        ({"color": (1, 0, 0)}, "expected red, green, blue, opacity"),
        ({"color": (255, 0, 0, 1)}, "opacity from 0 to 1"),
    ],
)
def test_geometry_that_is_none(given, said):
    builder = ModelBuilder("arm")
    builder.add_body("rod", parent="world", mass=1.0)
    with pytest.raises(DalembertError, match=f"geometry of 'rod': .*{said}"):
        builder.add_geometry(**({"shape": Sphere(0.1), "body": "rod"} | given))


def moved(solid: Polyhedron, shift, *, turned_over: bool = False) -> Polyhedron:
    triangles = solid.triangles[:, ::-1] if turned_over else solid.triangles
    return Polyhedron(solid.vertices + np.asarray(shift, float), triangles)


def together(*solids: Polyhedron) -> Polyhedron:
    starts = np.cumsum([0, *(len(solid.vertices) for solid in solids)])
    triangles = [solid.triangles + start for solid, start in zip(solids, starts, strict=False)]
    return Polyhedron(np.concatenate([solid.vertices for solid in solids]), np.concatenate(triangles))


def test_a_shell_that_is_inside_out():
    """One of two boxes has its triangles turned over: it counts as the solid it is, and that is said."""
    box = box_surface(np.array([0.2, 0.3, 0.5]))
    right = mass_properties(together(box, moved(box, (1.0, 0, 0))), density=100.0)
    wrong = mass_properties(together(box, moved(box, (1.0, 0, 0), turned_over=True)), density=100.0)
    assert not right.notes
    assert any("1 of its 2 shells is turned inside out" in note for note in wrong.notes)
    assert_close(wrong.inertia, right.inertia, PRODUCT)
    assert_close([wrong.mass, *wrong.com], [right.mass, *right.com], PRODUCT)
    assert np.all(np.linalg.eigvalsh(wrong.inertia) > 0.0)


def test_a_cavity_is_no_mistake():
    """A shell turned inwards inside another one is a cavity; turned over as a whole it is the same hollow box."""
    outer, inner = box_surface(np.array([1.0, 1.0, 1.0])), box_surface(np.array([0.5, 0.5, 0.5]))
    hollow = together(outer, moved(inner, (0, 0, 0), turned_over=True))
    found = mass_properties(hollow, density=1.0)
    assert_close(found.mass, 1.0 - 0.125, PRODUCT)
    assert not found.notes
    over = mass_properties(Polyhedron(hollow.vertices, hollow.triangles[:, ::-1]), density=1.0)
    assert_close(over.mass, 1.0 - 0.125, PRODUCT)
    assert any("turned inside out" in note for note in over.notes)


@pytest.mark.parametrize(("unit", "scale"), [("", 1.0), ('<unit name="mm" meter="0.001"/>', 1e-3), ("<unit/>", 1.0)])
def test_the_unit_of_a_collada_file(tmp_path, unit, scale):
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    text = trimesh.exchange.dae.export_collada(trimesh.creation.box((1.0, 2.0, 3.0))).decode()
    file = tmp_path / "box.dae"
    file.write_text(text.replace("<asset>", f"<asset>{unit}", 1))
    assert_close(mass_properties(Mesh(str(file), np.ones(3)), density=1.0).volume, 6.0 * scale**3, 10 * EPS32)
