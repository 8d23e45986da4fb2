"""Joints of every kind, with their closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert import load
from stages import body, joint, saved, stage
from tolerances import COMPUTED, assert_close

pytest.importorskip("pxr")
pytestmark = pytest.mark.long

LOCK = "float limit:{0}:physics:low = 1\nfloat limit:{0}:physics:high = -1\n"
FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")


def generic(free, more="", schemas=""):
    """A joint that leaves these freedoms."""
    locked = [name for name in FREEDOMS if name not in free]
    applied = ", ".join(f'"PhysicsLimitAPI:{name}"' for name in locked) + schemas
    inside = "".join(LOCK.format(name) for name in locked) + more
    return stage(body("a") + joint("", "j", "", "/World/a", inside, schemas=applied))


@pytest.mark.parametrize(
    ("free", "kind"),
    [
        ((), None),
        (("rotZ",), "continuous"),
        (("transY",), "prismatic"),
        (("transX", "rotX"), "cylindrical"),
        (("rotX", "rotZ"), "universal"),
        (("transX", "transY", "rotZ"), "planar"),
        (("rotX", "rotY", "rotZ"), "ball"),
        (FREEDOMS, "free"),
    ],
)
def test_generic_joints(tmp_path, free, kind):
    robot = load(saved(tmp_path, generic(free)))
    assert [each.kind for each in robot.joints if robot.nv] == ([kind] if kind else [])
    assert robot.nv == len(free)


def test_a_chain_of_driven_freedoms(tmp_path):
    """Two slides and a hinge with a drive: X, Y, then about Z, each by its name."""
    more = "float drive:rotZ:physics:stiffness = 2\n"
    more += "float limit:transX:physics:low = -1\nfloat limit:transX:physics:high = 3"
    text = generic(("transX", "transY", "rotZ"), more, ', "PhysicsDriveAPI:rotZ", "PhysicsLimitAPI:transX"')
    robot = load(saved(tmp_path, text))
    assert [each.name for each in robot.joints] == ["j:transX", "j:transY", "j:rotZ"]
    X = robot.pose([0.3, -0.2, 0.5], "a")
    assert_close(X[:3, 3], [0.3, -0.2, 0.0], COMPUTED)
    assert_close(X[:2, 0], [math.cos(0.5), math.sin(0.5)], COMPUTED)
    assert_close(robot.limits.lower[0], -1.0, COMPUTED)
    assert [actuator.joint for actuator in robot.model.actuators] == ["j:rotZ"]


def test_joints_against_their_direction_keep_their_coordinate(tmp_path):
    """body1 left out: the body moves the other way."""
    text = stage(body("a") + joint("Prismatic", "j", "/World/a", "/World/b", 'uniform token physics:axis = "Y"'))
    robot = load(saved(tmp_path, text.replace("rel physics:body1 = </World/b>", "")))
    assert_close(robot.pose([0.4], "a")[:3, 3], [0.0, -0.4, 0.0], COMPUTED)


def test_loops_and_distances(tmp_path):
    excluded = "bool physics:excludeFromArticulation = true"
    held = "float physics:minDistance = 0.5\nfloat physics:maxDistance = 0.5"
    loose = "float physics:minDistance = 0.1\nfloat physics:maxDistance = 0.5"
    arm = body("a") + body("b", at=(1, 0, 0)) + joint("Revolute", "one", "", "/World/a")
    arm += joint("Revolute", "two", "/World/a", "/World/b", at0=(1, 0, 0))
    for kind, inside, expected in (
        ("Revolute", excluded, ("revolute",)),
        ("Spherical", excluded, ("point",)),
        ("Distance", held, ("distance",)),
        ("Distance", loose, ()),
    ):
        robot = load(saved(tmp_path, stage(arm + joint(kind, "close", "", "/World/b", inside, at0=(1, 0, 0)))))
        assert tuple(closure.kind for closure in robot.model.closures) == expected
        assert bool(robot.physical_findings) == (inside == loose)
        assert robot.nv == 2


def test_what_is_no_joint_here_is_named(tmp_path):
    cone = "float physics:coneAngle0Limit = 30"
    breaks = "float physics:breakForce = 10"
    off = "bool physics:jointEnabled = false"
    for kind, inside, said in (
        ("Spherical", cone, "cone limit of 30"),
        ("Fixed", breaks, "breaks at a breakForce"),
        ("Revolute", off, "a joint that is switched off"),
    ):
        robot = load(saved(tmp_path, stage(body("a") + joint(kind, "j", "", "/World/a", inside))))
        assert any(said in finding.what for finding in robot.import_log)


def test_ends_on_prims_that_are_no_bodies(tmp_path):
    """An end on an Xform of the scene, or on one inside a body, lies where that prim is."""
    place = 'double3 xformOp:translate = (0, 0, 2)\nuniform token[] xformOpOrder = ["xformOp:translate"]'
    mark = f'def Xform "mark"\n{{\n{place}\n}}\n'
    fixed = stage(mark + body("a") + joint("Fixed", "j", "/World/mark", "/World/a"))
    assert_close(load(saved(tmp_path, fixed)).pose([], "a")[:3, 3], [0, 0, 2], COMPUTED)
    inside = stage(body("a", inside=mark) + body("b") + joint("Fixed", "j", "/World/a/mark", "/World/b"))
    robot = load(saved(tmp_path, inside), base="fixed")
    assert_close(np.asarray(robot.pose([], "b"))[:3, 3], [0, 0, 2], COMPUTED)
