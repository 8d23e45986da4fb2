"""Shapes to be touched come back from every format with the same motion, or the format refuses them with the cure."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import Contact, DalembertError, ModelBuilder
from dalembert.formats import read, write
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.shapes.hull import hull
from dalembert.spatial import so3
from tolerances import CONTACT_SOLVER, assert_close

ENDINGS = (".urdf", ".sdf", ".xml", ".dh.toml")
ROCK = hull(np.random.default_rng(7).normal(size=(12, 3)) * [0.2, 0.15, 0.1])
SHAPES = {
    "box": Box([0.2, 0.3, 0.1]),
    "sphere": Sphere(0.1),
    "cylinder": Cylinder(0.1, 0.2),
    "capsule": Capsule(0.05, 0.3),
    "ellipsoid": Ellipsoid([0.2, 0.1, 0.15]),
    "cone": Cone(0.1, 0.2),
    "polyhedron": Polyhedron(ROCK.vertices, ROCK.triangles),
}
LACKING = {  # by ending: the shapes that need approximate=True
    ".urdf": {"ellipsoid", "cone", "polyhedron"},
    ".sdf": {"polyhedron"},
    ".xml": {"cone"},
    ".dh.toml": {"ellipsoid", "cone", "polyhedron"},
}
# by how much a hull of 64 vertices differs from a round shape, of its size
FACETS = 0.05


def on_a_stalk(shape) -> ModelBuilder:
    """A shape that falls on an upright slide, turned: where it comes to rest says how far down it reaches."""
    builder = ModelBuilder("press")
    builder.add_body("ram", parent="world", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(shape, body="ram", role="collision", xyz=(0.1, 0.0, 0.0), rpy=(0.3, 0.2, 0.1))
    return builder


def resting(robot) -> float:
    """How high the slide is after it has fallen to the ground [m]."""
    motion = robot.rollout([0.5], [0.0], step=2e-3, steps=400, contact=Contact(ground=0.0))
    assert motion.contacts.unsettled == 0
    return float(motion.q[0])


CASES = [
    pytest.param(name, ending, marks=() if name in LACKING[ending] or name == "box" else pytest.mark.long)
    for name in SHAPES
    for ending in ENDINGS
]


@pytest.mark.parametrize(("name", "ending"), CASES)
def test_what_touches_moves_in_the_same_way_once_it_is_loaded_again(tmp_path, name, ending):
    robot, path = on_a_stalk(SHAPES[name]).build(), tmp_path / f"press{ending}"
    if name not in LACKING[ending]:
        robot.save(path)
        assert_close(resting(dalembert.load(path)), resting(robot), CONTACT_SOLVER)
        return
    with pytest.raises(DalembertError, match=f"'ram'.*has no {name} among its shapes; approximate=True: a hull of"):
        robot.save(path)
    assert not list(tmp_path.iterdir())
    (finding,) = [f for f in robot.save(path, approximate=True) if "hull" in f.action]
    assert finding.severity == "warning" and "'ram'" in finding.where
    exact = name == "polyhedron"
    allowed = CONTACT_SOLVER if exact else FACETS * 0.2
    assert abs(resting(dalembert.load(path)) - resting(robot)) <= allowed


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_plane_is_kept_or_replaced_by_a_box_that_holds_as_well(tmp_path, ending):
    builder = ModelBuilder("press")
    builder.add_body("floor", parent="world", joint="fixed")
    builder.add_geometry(Plane([0, 0.6, 0.8]), body="floor", role="collision", xyz=(0, 0, 0.1))
    builder.add_body("ram", parent="floor", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Sphere(0.1), body="ram", role="collision")
    robot, path = builder.build(), tmp_path / f"press{ending}"
    found = robot.save(path, approximate=True)
    box = any("a box 100 m wide" in f.action and f.severity == "warning" for f in found)
    assert box == (ending not in (".sdf", ".xml"))
    if box:
        with pytest.raises(DalembertError, match="no plane among its shapes; approximate=True: a box"):
            robot.save(path)
    again = dalembert.load(path)
    contact = Contact(ground=None, pairs=[("ram", "floor")]) if box else Contact(ground="file")
    motion = again.rollout([0.5], [0.0], step=2e-3, steps=400, contact=contact)
    assert_close(motion.q[0], 0.1 + 0.1 / 0.8, CONTACT_SOLVER)


def test_meshes_that_mujoco_does_not_read_are_written_in_the_file(tmp_path):
    faces = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in ROCK.vertices[triangle].tolist())
        + "endloop\nendfacet\n"
        for triangle in ROCK.triangles
    )
    (tmp_path / "rock.stl").write_text(f"solid rock\n{faces}endsolid rock\n")
    robot = on_a_stalk(Mesh(str(tmp_path / "rock.stl"))).build()
    findings = robot.save(tmp_path / "press.xml")
    assert any("binary STL" in f.what and "written in the robot's file" in f.action for f in findings)
    assert_close(resting(dalembert.load(tmp_path / "press.xml")), resting(robot), CONTACT_SOLVER)


def test_what_has_no_hull_is_refused_and_left_out_only_when_allowed(tmp_path):
    flat = Polyhedron(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
    for shape in (flat, Mesh("nowhere.dae")):
        robot = on_a_stalk(shape).build()
        with pytest.raises(DalembertError, match="approximate=True: left out, because it has no convex hull"):
            robot.save(tmp_path / "press.xml")
        robot.save(tmp_path / "press.xml", approximate=True)


def test_hulls_lie_beside_the_file_or_in_its_package(tmp_path):
    package = tmp_path / "press_description"
    package.mkdir()
    builder = on_a_stalk(Ellipsoid([0.2, 0.1, 0.15]))
    builder.add_geometry(Cone(0.1, 0.2), body="ram", role="collision")
    write(builder.model(), package / "press.urdf", approximate=True, package=package)
    text = (package / "press.urdf").read_text()
    assert all(f"package://press_description/press.ram.{k}.obj" in text for k in (0, 1))
    shapes = [g.shape for part in read(package / "press.urdf")[0].body("ram").parts for g in part.geometry]
    assert [shape.surface()[0].shape[1] for shape in shapes] == [3, 3]


def test_shapes_that_are_only_drawn_are_left_out_with_a_note(tmp_path):
    builder = ModelBuilder("press")
    builder.add_body("ram", parent="world", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Ellipsoid([0.2, 0.1, 0.15]), body="ram", rpy=tuple(so3.to_rpy(np.eye(3))))
    (finding,) = [f for f in write(builder.model(), tmp_path / "press.urdf") if "ellipsoid" in f.what]
    assert finding.severity == "info" and finding.action == "left out: it is only drawn"
