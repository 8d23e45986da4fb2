"""Shapes, masses from density, materials and groups of hand-written stages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert import load
from stages import saved, stage
from tolerances import COMPUTED, SINGLE, assert_close

pytest.importorskip("pxr")
pytestmark = pytest.mark.long


def solid(kind, inside="", name="shape", scale=None):
    """A body of one collision shape without a stated mass."""
    turned = f'double3 xformOp:scale = {scale}\nuniform token[] xformOpOrder = ["xformOp:scale"]' if scale else ""
    schemas = '(prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])'
    shape = f'def {kind} "{name}" {schemas}\n{{\n{inside}\n{turned}\n}}\n'
    return f'def Xform "{name}_body" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])\n{{\n{shape}}}\n'


@pytest.mark.parametrize(
    ("kind", "inside", "scale", "volume", "Izz"),
    [
        ("Cube", "double size = 2", (1, 2, 3), 48.0, 48.0 / 12 * (4 + 16)),
        ("Sphere", "double radius = 0.5", None, math.pi / 6, 0.4 * math.pi / 6 * 0.25),
        ("Sphere", "double radius = 1", (1, 2, 3), 8 * math.pi, 8 * math.pi / 5 * (1 + 4)),
        ("Cylinder", "double radius = 1\ndouble height = 2", None, 2 * math.pi, math.pi),
        ("Cylinder", 'double radius = 1\ndouble height = 2\nuniform token axis = "X"', (2, 1, 1), 4 * math.pi,
         4 * math.pi * (3 + 16) / 12),
        ("Cone", "double radius = 1\ndouble height = 3", None, math.pi, 0.3 * math.pi),
    ],
)  # fmt: skip
def test_masses_from_density(tmp_path, kind, inside, scale, volume, Izz):
    """At 2 kg/m³, from closed forms of volume and inertia."""
    robot = load(saved(tmp_path, stage(solid(kind, f"{inside}\nfloat physics:density = 2", scale=scale))))
    inertia = robot.model.bodies[0].inertia
    assert_close(inertia.mass, 2 * volume, COMPUTED)
    assert_close(inertia.about_com()[2, 2], 2 * Izz, COMPUTED)
    assert any("computed from the collision shapes" in finding.action for finding in robot.import_log)


def test_a_mesh_and_its_approximations(tmp_path):
    """A unit cube of quads, seen from outside."""
    points = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = "0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3"
    mesh = (
        f"point3f[] points = {points}\nint[] faceVertexCounts = [4, 4, 4, 4, 4, 4]\nint[] faceVertexIndices = [{faces}]"
    )
    for approximation, kind in (("convexHull", "Polyhedron"), ("boundingCube", "Box"), ("boundingSphere", "Sphere")):
        text = solid("Mesh", f'{mesh}\nuniform token physics:approximation = "{approximation}"')
        robot = load(saved(tmp_path, stage(text)))
        (shape,) = robot.model.bodies[0].parts[0].geometry
        assert shape.shape.kind == kind
        if kind != "Sphere":
            assert_close(robot.model.bodies[0].inertia.mass, 1000.0, SINGLE)
        assert_close(robot.model.bodies[0].inertia.com, [0.5, 0.5, 0.5], SINGLE)


def test_materials_groups_and_pairs(tmp_path):
    material = """
    def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
    {
        float physics:dynamicFriction = 0.75
        float physics:staticFriction = 1
        float physics:restitution = 0.25
        float physics:density = 3
    }
    def PhysicsCollisionGroup "left"
    {
        rel collection:colliders:includes = </World/a_body>
        rel physics:filteredGroups = </World/right>
    }
    def PhysicsCollisionGroup "right"
    {
        rel collection:colliders:includes = </World/b_body>
    }
"""
    bound = "rel material:binding:physics = </World/rubber>\ndouble size = 1"
    a, b, c = (solid("Cube", bound, name) for name in "abc")
    schemas = '"PhysicsRigidBodyAPI", "PhysicsFilteredPairsAPI"]'
    c = c.replace('"PhysicsRigidBodyAPI"]', schemas).replace(
        "{\n", "{\nrel physics:filteredPairs = </World/a_body>\n", 1
    )
    robot = load(saved(tmp_path, stage(material + a + b + c)))
    bodies = [body for body in robot.model.bodies if body.parts[0].geometry]
    surfaces = [body.parts[0].geometry[0].surface for body in bodies]
    assert [(surface.friction, surface.restitution) for surface in surfaces] == [(0.75, 0.25)] * 3
    one, two, three = surfaces
    assert not one.meets(two) and one.meets(three) and two.meets(three)
    assert robot.model.exclusions == (("a_body", "c_body"),)
    assert_close(sum(body.inertia.mass for body in robot.model.bodies), 9.0, COMPUTED)
    assert any("static friction 1" in finding.what for finding in robot.import_log)


def test_the_scene_stands_in_the_world(tmp_path):
    floor = 'def Plane "floor" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{\nuniform token axis = "Y"\n}\n'
    robot = load(saved(tmp_path, stage(floor + solid("Cube"))))
    (shape,) = robot.model.bodies[0].parts[0].geometry
    assert robot.model.bodies[0].name == "world" and shape.shape.kind == "Plane"
    assert_close(shape.placement.R @ shape.shape.normal, np.array([0.0, 1.0, 0.0]), COMPUTED)
