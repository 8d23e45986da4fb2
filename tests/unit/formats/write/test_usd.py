"""Robots after a journey through a USD stage: same names, frames, dynamics, drives and motion with contact."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, load, robots
from dalembert.formats import read, write
from dalembert.formats.write.usd_joints import FREE
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Polyhedron, Sphere, Surface
from dalembert.spatial import Pose
from saving import again, assert_same_dynamics, joint_names
from tolerances import ACCUMULATED, COMPUTED, assert_close
from trees import random_model, with_stribeck

pytest.importorskip("pxr")

KINDS = ("revolute", "continuous", "prismatic", "cylindrical", "planar", "ball")


def test_a_robot_through_usd(tmp_path):
    model = with_stribeck(random_model(3, n_bodies=7, kinds=KINDS, base="fixed", coupled=True))
    back = again(model, tmp_path / "tree.usda")
    assert joint_names(back) == joint_names(model) and back.name == model.name
    assert {frame.name for frame in back.frames} == {frame.name for frame in model.frames}
    assert_same_dynamics(model, back)


def test_several_trees_are_one_robot_again(tmp_path):
    builder = ModelBuilder("cup and ball")
    for name, joint in (("cup", "prismatic"), ("lid", "revolute"), ("ball", "free"), ("second", "free")):
        parent = "cup" if name == "lid" else "world"
        builder.add_body(name, parent=parent, joint=joint, mass=1.0, inertia=np.diag([0.1, 0.2, 0.25]))
    model = builder.model()
    back = again(model, tmp_path / "cup.usda")
    assert joint_names(back) == joint_names(model) and back.name == model.name
    assert_same_dynamics(model, back)


@pytest.mark.long
@pytest.mark.parametrize("ending", [".usda", ".usd"])
@pytest.mark.parametrize("name", robots())
def test_bundled_robots_through_usd(tmp_path, name, ending):
    model = load(name).model
    write(model, tmp_path / f"robot{ending}")
    back, log = read(str(tmp_path / f"robot{ending}"))
    assert {f.name for f in back.frames} == {f.name for f in model.frames}
    assert joint_names(back) == joint_names(model) and back.name == model.name
    assert not [finding for finding in log if finding.severity == "warning" and "not physical" not in finding.what]
    assert_same_dynamics(model, back)
    for body, other in zip(model.bodies, back.bodies, strict=True):
        assert body.joint.kind == other.joint.kind
        for field in ("lower", "upper", "velocity_limit", "effort_limit", "armature", "slip_speed"):
            np.testing.assert_array_equal(getattr(body.joint, field), getattr(other.joint, field))
        for part, again_part in zip(body.parts, other.parts, strict=True):
            assert [type(g.shape) for g in part.geometry] == [type(g.shape) for g in again_part.geometry]


@pytest.mark.long
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_trees_through_usd(tmp_path, seed, coupled):
    model = with_stribeck(random_model(seed, n_bodies=10, kinds=KINDS, coupled=coupled))
    back = again(model, tmp_path / "tree.usd")
    assert joint_names(back) == joint_names(model)
    assert_same_dynamics(model, back)


@pytest.mark.long
def test_axes_of_universal_joints_that_are_not_perpendicular_need_a_row(tmp_path):
    builder = ModelBuilder("cross")
    builder.add_body(
        "one", parent="world", joint="universal", axis=(1, 0, 0), axis2=(0, 0.6, 0.8), mass=1, inertia=np.eye(3)
    )
    builder.add_body(
        "two", parent="one", joint="universal", axis=(1, 0, 0), axis2=(0.6, 0.8, 0), mass=1, inertia=np.eye(3)
    )
    model = builder.model()
    with pytest.raises(DalembertError, match="USD has no such universal joint; approximate=True: joints in a row"):
        write(model, tmp_path / "a.usda")
    assert not (tmp_path / "a.usda").exists()
    assert_same_dynamics(model, again(model, tmp_path / "a.usda", approximate=True))


@pytest.mark.long
def test_screws_are_refused_and_nothing_is_written(tmp_path):
    builder = ModelBuilder("screw")
    builder.add_body("one", parent="world", joint="screw", pitch=0.1, mass=1, inertia=np.eye(3))
    with pytest.raises(DalembertError, match=r"joint 'one': USD has no screw joint"):
        builder.build().save(tmp_path / "a.usda")
    assert not list(tmp_path.iterdir())


def jumble() -> ModelBuilder:
    """A body with one shape of every kind, over a plane and a box in the world."""
    builder = ModelBuilder("jumble")
    builder.add_body("world", parent="world")
    builder.add_geometry(Plane(np.array([0.0, 0.0, 1.0])), body="world", role="collision", name="floor")
    builder.add_geometry(
        Box(np.array([0.31, 0.3, 0.1])), body="world", xyz=(0.9, 0, 0.05), role="collision", name="step"
    )
    builder.add_body("body", parent="world", joint="free", mass=1.7, inertia=np.diag([0.02, 0.03, 0.025]))
    builder.add_body("arm", parent="body", joint="revolute", axis=(0, 1, 0), xyz=(0.2, 0, 0), mass=0.3,
                     inertia=np.diag([0.001, 0.002, 0.002]), lower=-1.1, upper=0.7, damping=0.05)  # fmt: skip
    surface = Surface(friction=0.7, restitution=0.1)
    corners = np.array([[0, 0, 0], [0.11, 0, 0], [0, 0.12, 0], [0, 0, 0.13]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    shapes = (Box(np.array([0.3, 0.2, 0.1])), Sphere(0.11), Capsule(0.05, 0.2), Cylinder(0.07, 0.11), Cone(0.08, 0.13),
              Ellipsoid(np.array([0.05, 0.06, 0.07])), Polyhedron(corners, faces))  # fmt: skip
    for k, shape in enumerate(shapes):
        where = "arm" if k in (2, 5) else "body"
        X = Pose.from_xyz_rpy((0.03 * k, 0.01 * k, -0.02 * k), (0.1 * k, 0.2, 0))
        builder.add_geometry(shape, body=where, placement=X, role="collision", name=f"shape{k}", surface=surface)
    builder.add_geometry(Sphere(0.2), body="arm", color=(0.25, 0.5, 0.75, 0.5))
    builder.add_keyframe("start", {"body": [0, 0, 0.6, 1, 0, 0, 0]})
    return builder


@pytest.mark.long
def test_the_same_motion_with_contact(tmp_path):
    robot = jumble().build()
    robot.save(tmp_path / "jumble.usda")
    back = load(str(tmp_path / "jumble.usda"))
    for body, other in zip(robot.model.bodies, back.model.bodies, strict=True):
        for part, again_part in zip(body.parts, other.parts, strict=True):
            for one, two in zip(part.geometry, again_part.geometry, strict=True):
                assert (type(one.shape), one.role, one.name, one.surface) == (
                    type(two.shape),
                    two.role,
                    two.name,
                    two.surface,
                )
                assert_close(one.placement.matrix(), two.placement.matrix(), COMPUTED)
    q = robot.neutral()
    q[2] = 0.5
    runs = [each.simulate(q, np.zeros(each.nv), 0.6, contact=Contact()) for each in (robot, back)]
    assert runs[0].contacts.force.any()
    assert_close(runs[1].q, runs[0].q, ACCUMULATED)


@pytest.mark.long
def test_drives_and_their_limits(tmp_path):
    builder = ModelBuilder("servos")
    for k, (name, limit) in enumerate((("a", 7.0), ("b", np.inf), ("c", 3.0), ("d", 5.0))):
        builder.add_body(
            name, parent="abc"[k - 1] if k else "world", joint="revolute", mass=1, inertia=np.eye(3), effort_limit=limit
        )
    builder.add_actuator("position", "a", gain=[30.1, 0, 0], bias=[0, -30.1, -2.3], force_limits=[-7, 7])
    builder.add_actuator("b", "b", gain=[4.7, 0, 0], bias=[0, 0, -4.7])
    builder.add_actuator("motor", "c", force_limits=[-3, 3])
    robot = builder.build()
    robot.save(tmp_path / "a.usda")
    back = load(str(tmp_path / "a.usda"))
    assert [each.name for each in back.model.actuators] == ["position", "b", "motor"]
    for one, two in zip(robot.model.actuators, back.model.actuators, strict=True):
        for field in ("gain", "bias", "force_limits"):
            np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    np.testing.assert_array_equal(back.limits.effort, robot.limits.effort)


@pytest.mark.long
@pytest.mark.parametrize("kind", [*FREE, "distance"])
def test_loops(tmp_path, kind):
    shape = {"axis": (0.6, 0.0, 0.8)} if kind not in ("weld", "point", "distance") else {}
    shape |= {"axis2": (-0.8, 0.0, 0.6)} if kind == "universal" else {}
    shape |= {"length": 0.35} if kind == "distance" else {}
    builder = ModelBuilder("loop")
    for name, parent in (("a", "world"), ("b", "a"), ("c", "b")):
        builder.add_body(name, parent=parent, joint="ball", xyz=(0.3, 0.1, 0), mass=1, inertia=np.eye(3))
    builder.add_closure("close", kind, a="world", b="c", xyz_a=(0.1, 0.2, 0.3), rpy_b=(0.1, 0.2, 0.3), **shape)
    model = builder.model()
    back = again(model, tmp_path / "loop.usda")
    (one,), (two,) = model.closures, back.closures
    assert (one.name, one.kind) == (two.name, two.kind)
    rng = np.random.default_rng(0)
    for _ in range(3):
        X = Pose.from_xyz_rpy(rng.normal(size=3), rng.normal(size=3))
        # the frames of a file may be turned about the axis: the span of the rows is the same
        lost = np.linalg.norm(one.residual(one.a.placement.inverse() @ X @ one.b.placement))
        kept = np.linalg.norm(two.residual(two.a.placement.inverse() @ X @ two.b.placement))
        assert_close(kept, lost, COMPUTED)


@pytest.mark.long
def test_edited_files_count(tmp_path):
    """Numbers of dalembert:… count only where they agree with USD's own."""
    load("2r").save(tmp_path / "a.usda")
    text = (tmp_path / "a.usda").read_text()
    assert "float physics:mass = " in text
    mass = text.split("float physics:mass = ")[1].split()[0]
    (tmp_path / "b.usda").write_text(text.replace(f"float physics:mass = {mass}", "float physics:mass = 3", 1))
    robot = load(str(tmp_path / "b.usda"))
    assert any(body.inertia.mass == pytest.approx(3) for body in robot.model.bodies)
    assert any("edited" in finding.action for finding in robot.physical_findings)


@pytest.mark.long
def test_names_with_markup(tmp_path):
    builder = ModelBuilder('a"b</World>')
    builder.add_body("räd 1", parent="world", joint="revolute", joint_name='"""', mass=1, inertia=np.eye(3))
    builder.add_body("rad_1", parent="räd 1", joint="revolute", joint_name="a/../b", mass=1, inertia=np.eye(3))
    builder.build().save(tmp_path / "a.usda")
    back = load(str(tmp_path / "a.usda"))
    assert back.name == 'a"b</World>' and joint_names(back.model) == ['"""', "a/../b"]
    assert [body.name for body in back.model.bodies][-2:] == ["räd 1", "rad_1"]
