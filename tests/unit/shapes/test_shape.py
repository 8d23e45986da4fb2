"""Every class of shapes: its sizes, and that all it says about itself follows from its farthest points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Shape, Sphere
from dalembert.shapes.hull import hull
from dalembert.shapes.searching import spread
from tolerances import ITERATED, ROUNDING, assert_close

ROCK = hull(np.random.default_rng(7).normal(size=(30, 3)) * [0.2, 0.15, 0.1])
SHAPES = {
    "sphere": Sphere(0.12),
    "capsule": Capsule(0.05, 0.3),
    "disc": Cylinder(0.1, 0.02),
    "rod": Cylinder(0.02, 0.3),
    "box": Box([0.2, 0.3, 0.1]),
    "plate": Box([1.0, 1.0, 0.001]),
    "ellipsoid": Ellipsoid([0.2, 0.1, 0.06]),
    "cone": Cone(0.12, 0.2),
    "flat cone": Cone(0.2, 0.1),
    "hull": ROCK,
    "polyhedron": Polyhedron(ROCK.vertices, ROCK.triangles),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_shape_says_follows_from_its_farthest_points(name):
    shape = SHAPES[name]
    d = spread(40)
    assert_close(shape.reach(d), Shape.reach(shape, d), ROUNDING)
    least = Shape.thickness(shape)
    assert shape.thickness() >= least - ITERATED
    if name not in ("hull", "polyhedron"):  # these look along the normals of their faces, not across pairs of edges
        assert_close(shape.thickness(), least, ITERATED)
    for point in (np.zeros(3), np.array([0.01, -0.005, 0.0002])):
        held = Shape.depth(shape, point)
        exact = name != "ellipsoid" or not np.any(point)  # its own is a lower bound elsewhere
        assert shape.depth(point) <= held + ITERATED
        if exact:
            assert_close(shape.depth(point), held, ITERATED)
    centre, half, radius = shape.capsule()
    inside = d @ centre + np.abs(d @ half) + radius
    assert np.all(shape.reach(d) <= inside + ROUNDING)
    vertices, triangles = shape.surface()
    assert np.all(np.max(vertices @ d.T, axis=0) <= shape.reach(d) + ROUNDING)
    assert triangles.max() < len(vertices)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Sphere(-1.0), r"Sphere: radius is -1.0 m, expected a length above 0: give a thin one"),
        (lambda: Sphere(0.0), "Sphere: radius is 0.0 m, expected a length above 0"),
        (lambda: Sphere(np.nan), "Sphere: radius is nan, expected a finite number"),
        (lambda: Ellipsoid([0.1, 0.1, 0]), r"Ellipsoid: radii is \[0.1, 0.1, 0.0\] m, expected lengths above 0"),
        (lambda: Ellipsoid([0.1, 0.1]), "Ellipsoid: radii is .*, expected 3 finite numbers"),
        (lambda: Box([1.0, -0.1, 1.0]), "Box: size is .* m, expected lengths above 0"),
        (lambda: Box([np.inf, 1.0, 1.0]), "Box: size is .*, expected 3 finite numbers"),
        (lambda: Cylinder(0.1, 0.0), "Cylinder: length is 0.0 m, expected a length above 0"),
        (lambda: Cone(0.1, -0.2), "Cone: length is -0.2 m"),
        (lambda: Capsule(0.1, -0.2), "Capsule: length is -0.2 m, expected a length of 0 or more"),
        (lambda: Plane([0, 0, 0]), "Plane: normal is .*, expected a direction"),
        (lambda: Mesh("a.stl", np.nan), "Mesh: scale is .*, expected 3 finite numbers"),
        (lambda: Polyhedron([[0, 0, 0], [1, 0, 0]], np.array([[0, 1, 2]])), "Polyhedron: triangles name vertex 2 of 2"),
        (
            lambda: Polyhedron([[0, 0, np.nan]] * 3, [[0, 1, 2]]),
            r"Polyhedron: vertices .* expected finite numbers \(n, 3\)",
        ),
    ],
)
def test_sizes_that_no_solid_has_are_refused(make, words):
    with pytest.raises(DalembertError, match=words):
        make()


def test_a_capsule_may_have_no_length():
    assert Capsule(0.1, 0.0).convex().radius == Capsule(0.1, 0).radius


@dataclass(frozen=True, eq=False)
class Rounded(Box):
    radius: float = 0.02


class Same(Box, inherits=True):
    pass


def test_a_derived_class_is_not_taken_for_its_parent():
    builder = ModelBuilder("one")
    builder.add_body("a", parent="world", mass=1.0, inertia=np.eye(3), joint="free")
    with pytest.raises(
        DalembertError, match=r"Rounded derives from Box.*define support\(self, d\), or core\(self\), in.*inherits"
    ):
        builder.add_geometry(Rounded([0.1, 0.1, 0.1]), body="a", role="collision")
    with pytest.raises(DalembertError, match="Rounded derives from Box"):
        Rounded([0.1, 0.1, 0.1]).support(np.array([0.0, 0.0, 1.0]))
    with pytest.raises(DalembertError, match="Rounded does not say its volume"):
        Rounded([0.1, 0.1, 0.1]).unit_inertia()
    assert Same([0.1, 0.2, 0.3]).thickness() == Box([0.1, 0.2, 0.3]).thickness()
