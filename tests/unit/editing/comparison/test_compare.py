"""`compare`: what is the same under other numbering, names and frames, and what is found to differ, and where."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, compare, load
from dalembert.spatial import Inertia, Pose
from tolerances import COMPUTED
from trees import random_mass, random_model, random_pose

COM_SHIFT = 0.5  # of a difference in mass that the file only rounds to a kilogram


def quantities(comparison, subject):
    return {(difference.name, difference.quantity.split(" [")[0]) for difference in comparison.of(subject)}


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_robot_is_the_same_as_itself(base, coupled):
    model = random_model(1, n_bodies=10, base=base, coupled=coupled)
    found = compare(model, Robot(model))
    assert found.same and found and not found.differences
    assert all(agreement.relative < COMPUTED and agreement.size > 0.0 for agreement in found.dynamics.values())
    assert "the same within 1e-09" in str(found)


def forked(order, shift=None, base="free", **changes):
    """Two arms on a trunk, added in some order; shift: another base frame, in the first one's."""
    rng = np.random.default_rng(4)
    masses = {name: random_mass(rng) for name in ("trunk", "l", "r", "ll")}
    places = {name: random_pose(rng) for name in ("l", "r", "ll", "mark")}
    back = Pose.identity() if shift is None else shift.inverse()
    trunk = Inertia.from_com(*masses["trunk"].values()).transform(back)
    builder = ModelBuilder("forked")
    builder.add_body("trunk", parent="world", joint=base, inertia_object=trunk)
    for name in order:
        limits = {"lower": -1.0, "upper": 1.0, "damping": 0.1} | changes.get(name, {})
        placed = {"parent": "trunk", "placement": back @ places[name]}
        builder.add_body(name, joint="revolute", joint_name=f"j{name}", **placed, **masses[name] | limits)
    builder.add_body("ll", parent="l", joint="prismatic", joint_name="jll", placement=places["ll"], **masses["ll"])
    builder.add_frame("mark", body="trunk", placement=back @ places["mark"])
    return builder.model()


def test_numbering_does_not_matter():
    found = compare(forked("lr"), forked("rl"))
    assert found.same and found.joints == (("trunk", "trunk"), ("jl", "jl"), ("jll", "jll"), ("jr", "jr"))


def test_another_base_frame_is_seen_through_a_frame_that_both_carry():
    shift = random_pose(np.random.default_rng(8))
    assert np.any(shift.matrix() != np.eye(4))
    found = compare(forked("lr"), forked("rl", shift=shift))
    assert found.same, str(found)
    assert {difference.name for difference in found.of("frame")} <= {"trunk"}
    assert "the base frames differ" in str(found)


def test_body_frames_do_not_matter():
    """The second link's frame slid along the axis of its joint: other numbers, the same robot."""
    rng = np.random.default_rng(3)
    first, second, third = random_mass(rng), random_mass(rng), random_mass(rng)
    X, slid = random_pose(rng), Pose(np.eye(3), np.array([0.0, 0.0, 0.3]))

    def arm(D):
        builder = ModelBuilder("arm")
        builder.add_body("a", parent="world", joint="revolute", axis=(1, 0, 0), **first)
        back = D.inverse()
        moved = Inertia.from_com(*second.values()).transform(back)
        builder.add_body("b", parent="a", joint="revolute", placement=X @ D, inertia_object=moved)
        turned = back @ Pose(np.eye(3), np.array([0.1, 0.2, 0.0]))
        builder.add_body("c", parent="b", joint="prismatic", axis=(0, 1, 0), placement=turned, **third)
        return builder.model()

    found = compare(arm(Pose.identity()), arm(slid))
    assert found.same, str(found)
    assert {difference.name for difference in found.of("frame")} == {"b"}


def test_prefixes_and_other_names():
    robot = load("ur5")
    assert compare(robot, robot.edit().rename(prefix="left/").done()).same
    assert compare(robot.edit().rename(prefix="left/").done(), robot).same
    same_link = robot.edit().rename(joints={"elbow_joint": "bend"}).done()
    assert compare(robot, same_link).same and ("elbow_joint", "bend") in compare(robot, same_link).joints
    other = same_link.edit().rename({"forearm_link": "tube"}).done()
    found = compare(robot, other)
    assert found.only_a == ("elbow_joint",) and found.only_b == ("bend",) and not found.same
    assert compare(robot, other, rename={"elbow_joint": "bend"}).same
    with pytest.raises(DalembertError, match="unknown joint or frame 'elbw'"):
        compare(robot, other, rename={"elbw": "bend"})


def test_parameters_of_joints_are_named_with_their_size():
    found = compare(forked("lr"), forked("lr", l={"damping": 0.3, "upper": 1.5}))
    assert quantities(found, "joint") == {("jl", "damping"), ("jl", "upper")}
    assert found.of("joint")[0].error == pytest.approx(0.5)
    assert not found.same_dynamics and found.dynamics["mass matrix"].error == 0.0
    limits = compare(forked("lr"), forked("lr", l={"upper": 1.5}))
    assert limits.same_dynamics and not limits.same
    assert "upper [rad or m]: [1.] ≠ [1.5] (by 0.5)" in str(limits)


def test_bodies_are_named_and_what_rides_on_a_difference_is_not():
    robot = load("panda")
    heavy = robot.edit().set_inertia("panda_link3", mass=9.0).done()
    found = compare(robot, heavy)
    assert quantities(found, "body") == {("panda_link3", "mass")}
    moved = robot.edit().set_placement("panda_link3", xyz=(0, -0.3, 0), rpy=(np.pi / 2, 0, 0)).done()
    found = compare(robot, moved)
    assert quantities(found, "body") == {("panda_link3", "centre of mass in the world")}
    assert quantities(found, "frame") == {("panda_link3", "pose in the world")}
    assert not found.of("joint") and not found.same_dynamics  # it slid along the axis of its joint
    tilted = robot.edit().set_placement("panda_link3", xyz=(0, -0.316, 0), rpy=(1.5, 0, 0)).done()
    assert {name for name, _ in quantities(compare(robot, tilted), "joint")} == {"panda_joint3"}


def test_content_is_fit_for_json():
    robot = load("panda")
    found = compare(
        robot, robot.edit().set_joint("panda_joint1", lower=None).set_inertia("panda_hand", mass=3.0).done()
    )
    content = json.loads(json.dumps(found.content(), allow_nan=False))
    assert content["same"] is False and content["joints"][0] == ["panda_joint1", "panda_joint1"]
    by_name = {(d["name"], d["quantity"]): d for d in content["differences"]}
    assert by_name["panda_joint1", "lower [rad or m]"]["b"] == [None]
    assert by_name["panda_link7", "mass [kg]"]["error"] == pytest.approx(3.0 - 0.73, abs=COM_SHIFT)
    assert json.loads(json.dumps(compare(robot, robot).content(), allow_nan=False))["same"] is True


def test_joints_locked_in_one_are_at_rest_in_the_other():
    robot = load("panda")
    q = robot.neutral()[robot.joint("panda_joint7").q]
    found = compare(robot, robot.edit().lock(panda_joint7=q).done())
    assert found.only_a == ("panda_joint7",) and not found.same
    assert all(agreement.relative < COMPUTED for agreement in found.dynamics.values())


def test_base_kind_and_base_link():
    fixed, free = load("quadruped", base="fixed"), load("quadruped", base="free")
    found = compare(fixed, free)
    assert ("quadruped", "base") in quantities(found, "robot")
    assert found.only_b == (free.joints[0].name,)
    assert all(agreement.relative < COMPUTED for agreement in found.dynamics.values())
    turned = compare(free, free.edit().reroot("FL_shank").done())
    assert any("reroot the first to 'FL_shank'" in name for _, name in quantities(turned, "robot"))
    again = free.edit().reroot("FL_shank").done()
    assert compare(again, again).same


def test_a_joint_that_follows_is_compared_with_one_that_is_free():
    """The free gripper, moved as the coupled one must: rows of the leader are sums, and agree."""
    model = random_model(5, n_bodies=9, kinds=("revolute", "prismatic", "screw"), coupled=True, effects=True)
    editor = Robot(model).edit()
    followers = [body.joint.name for body in model.bodies if body.joint.name not in _leaders(model)]
    for joint in followers:
        editor.set_joint(joint, mimic=None)
    found = compare(model, editor.done())
    assert followers and found.of("joint") and {d.quantity for d in found.of("joint")} == {"follows"}
    assert all(agreement.relative < COMPUTED for agreement in found.dynamics.values()), str(found)


def _leaders(model):
    return {body.joint.name for body in model.independent}


def test_mimics_gravity_closures_and_kinds():
    def slider(**options):
        builder = ModelBuilder("slider", gravity=options.pop("gravity", (0, 0, -9.81)))
        rng = np.random.default_rng(0)
        builder.add_body("a", parent="world", joint="revolute", **random_mass(rng))
        builder.add_body("b", parent="a", joint=options.pop("kind", "revolute"), **random_mass(rng), **options)
        builder.add_closure("tie", "point" if not options else "distance", a="world", b="b", **_length(options))
        return builder.model()

    def _length(options):
        return {"length": 1.0} if options else {}

    found = compare(slider(), slider(mimic=("a", 2.0, 0.0)))
    assert ("b", "follows") in quantities(found, "joint") and ("tie", "kind") in quantities(found, "closure")
    assert quantities(compare(slider(), slider(gravity=(0, 0, -1.62))), "robot") == {("slider", "gravity")}
    assert ("b", "kind") in quantities(compare(slider(), slider(kind="ball")), "joint")
    assert compare(slider(), slider(kind="continuous")).same
    with pytest.raises(DalembertError, match="expected two robots or models, got str"):
        compare(slider(), "ur5")


def test_floating_in_a_world_or_by_itself_is_the_same() -> None:
    """A floor makes the world a link of its own, as in MJCF files; the robot is the one that URDF has."""
    robots = []
    for floor in (True, False):
        builder = ModelBuilder("hopper")
        heavy = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.02, 0.03, 0.04])}
        if floor:
            builder.add_body("world", parent="world", joint_name="ground")
            builder.add_frame("corner", body="world", xyz=(1, 1, 0))
        builder.add_body("trunk", parent="world", joint="free", **heavy)
        builder.add_body("leg", parent="trunk", joint="revolute", xyz=(0, 0, -0.3), **heavy)
        robots.append(builder.build())
    for a, b in (robots, robots[::-1]):
        found = compare(a, b)
        assert found.same, str(found)
        assert found.notes == ("hopper floats in a link 'world', which is left out",) and len(found.joints) == 2
    assert not compare(robots[0], robots[1].edit().set_inertia("leg", mass=1.1).done()).same
    assert compare(robots[0], robots[0]).same
