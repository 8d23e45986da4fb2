"""Shapes defined outside the package, with public names only: they touch, have mass, are drawn and saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dalembert as da
from dalembert.math import sqrt, where
from dalembert.shapes import Box, Capsule, Plane, Polyhedron, Shape
from tolerances import CONTACT_SOLVER, ITERATED, PRODUCT, assert_close

SIDES = 1e-3  # [m]: how far a shape known by its farthest points may rest from where it should


@dataclass(frozen=True, eq=False)
class RoundedBox(Box):
    """All points no farther than a radius from a box."""

    radius: float

    def core(self):
        return Box(self.size), self.radius

    def unit_inertia(self):
        return Box(self.size + 2.0 * self.radius).unit_inertia()


@dataclass(frozen=True, eq=False)
class Stick(Shape):
    """A capsule along x, of which only the farthest points are known."""

    radius: float
    length: float

    def support(self, d):
        end = where(d[0] < 0.0, -0.5 * self.length, 0.5 * self.length)
        return self.radius * d / sqrt(d @ d) + np.array([end, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Brick(Box):
    """Flat faces and sharp corners, through the farthest points."""

    def support(self, d):
        return np.array([where(x < 0.0, -0.5 * s, 0.5 * s) for x, s in zip(d, self.size, strict=True)])


@dataclass(frozen=True, eq=False)
class Unsaid(Box):
    radius: float = 0.02


CASES = {
    "rounded": (RoundedBox([0.1, 0.1, 0.1], 0.02), 0.07),
    "stick": (Stick(0.07, 0.3), 0.07),
    "brick": (Brick([0.1, 0.2, 0.14]), 0.07),
}


def world(shape) -> da.Robot:
    builder = da.ModelBuilder("room")
    builder.add_body("room", parent="world", joint="fixed")
    builder.add_geometry(Box([1.0, 1.0, 0.2]), body="room", xyz=(0, 0, -0.1), role="collision", name="table")
    builder.add_body("stone", parent="room", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(shape, body="stone", role="collision")
    return builder.build()


def resting(robot, contact) -> float:
    q = robot.neutral().copy()
    q[2] = 0.1
    motion = robot.rollout(q, np.zeros(6), step=2e-3, steps=400, contact=contact)
    return float(motion.q[2])


GROUND = da.Contact(ground=0.0, pairs=[("stone", "ground")])
TABLE = da.Contact(ground=None, pairs=[("stone", "table")])


@pytest.mark.parametrize("contact", [GROUND, TABLE], ids=["ground", "table"])
@pytest.mark.parametrize("name", CASES)
def test_it_rests_at_its_own_height(name, contact):
    shape, height = CASES[name]
    allowed = CONTACT_SOLVER if name == "rounded" else SIDES * height
    assert abs(resting(world(shape), contact) - height) <= allowed


def test_its_distance_and_bounds_are_those_of_the_same_solid_in_the_package():
    robot, tilted = world(Stick(0.07, 0.3)), np.array([0.02, 0.01, 0.4, 0.98, 0.05, 0.17, 0.03])
    tilted[3:] /= np.linalg.norm(tilted[3:])
    builder = da.ModelBuilder("room")
    builder.add_body("room", parent="world", joint="fixed")
    builder.add_geometry(Box([1.0, 1.0, 0.2]), body="room", xyz=(0, 0, -0.1), role="collision")
    builder.add_body("stone", parent="room", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Capsule(0.07, 0.3), body="stone", rpy=(0, np.pi / 2, 0), role="collision")
    assert_close(robot.distance(tilted), builder.build().distance(tilted), ITERATED)
    stick, capsule = Stick(0.07, 0.3), Capsule(0.07, 0.3)
    assert_close(stick.thickness(), capsule.thickness(), ITERATED)
    assert_close(stick.depth(np.array([0.1, 0.02, 0.0])), capsule.depth(np.array([0.0, 0.02, 0.1])), ITERATED)


def test_its_mass_its_surface_and_its_hull_in_a_file(tmp_path):
    shape, _ = CASES["rounded"]
    assert_close(da.mass_properties(shape, density=1000.0).mass, 1000.0 * 0.14**3, PRODUCT)
    with pytest.raises(da.DalembertError, match="Stick does not say its volume and inertia: define unit_inertia"):
        da.mass_properties(Stick(0.07, 0.3), density=1.0)
    vertices, triangles = shape.surface()
    assert_close(np.abs(vertices).max(axis=0), [0.07, 0.07, 0.07], PRODUCT)
    assert triangles.max() < len(vertices)
    with pytest.raises(da.DalembertError, match="URDF has no roundedbox among its shapes; approximate=True: a hull"):
        world(shape).save(tmp_path / "room.urdf")
    world(shape).save(tmp_path / "room.urdf", approximate=True)
    (drawn,) = [g.shape for part in da.load(tmp_path / "room.urdf").model.body("stone").parts for g in part.geometry]
    assert_close(np.abs(drawn.surface()[0]).max(axis=0), [0.07, 0.07, 0.07], PRODUCT)


def test_an_edit_of_its_code_counts_at_once():
    def edited(bulge):
        @dataclass(frozen=True, eq=False)
        class Ball(Shape):
            radius: float

            def support(self, d):
                return (self.radius + bulge) * d / sqrt(d @ d)

        return Ball(0.05)

    for bulge in (0.0, 0.02, 0.0):
        robot = world(edited(bulge))
        assert abs(resting(robot, GROUND) - 0.05 - bulge) <= SIDES * 0.05
        q = robot.neutral().copy()
        q[2] = 0.2
        assert_close(robot.distance(q), [0.15 - bulge], ITERATED)


def test_what_says_nothing_or_nonsense_is_refused_by_name():
    class Scalar(Shape):
        def support(self, d):
            return 0.1

    class Hollow(Shape):
        def support(self, d):
            return -0.1 * d

    for shape, said in (
        (Unsaid([0.1, 0.1, 0.1]), r"Unsaid derives from Box, but .*: define support\(self, d\), or core\(self\)"),
        (Scalar(), "Scalar: support.* gave shape .*expected finite numbers"),
        (Hollow(), "Hollow: support.* is not the farthest point"),
    ):
        with pytest.raises(da.DalembertError, match=said):
            world(shape)
    with pytest.raises(da.DalembertError, match="MuJoCo has no Stick among its geoms: write Contact"):
        resting(world(Stick(0.07, 0.3)), da.Contact(model="mujoco"))


@pytest.mark.parametrize("contact", [GROUND, TABLE], ids=["ground", "table"])
def test_what_derives_from_a_mesh_or_a_plane_is_neither(contact):
    def support(self, d):
        return 0.07 * d / sqrt(d @ d)

    Lump, Hill = (
        type(name, (parent,), {"support": support}) for name, parent in (("Lump", Polyhedron), ("Hill", Plane))
    )
    tetrahedron = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    for shape in (Lump(tetrahedron, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])), Hill([0, 0, 1])):
        assert not shape.is_mesh and shape.is_bounded
        assert abs(resting(world(shape), contact) - 0.07) <= SIDES * 0.07
