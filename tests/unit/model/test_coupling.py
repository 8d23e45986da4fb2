"""Joints that follow others: how they are stated, what the model makes of them, what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder
from dalembert.dynamics import algorithms as alg
from dalembert.model import Coupled
from tolerances import PRODUCT, assert_close

ARM = {"mass": 1.0, "com": (0.1, 0.2, 0.0)}


def gripper(ratio=-2.0, offset=0.3, **right):
    """Two fingers on a hand: the right one, added first, follows the left one."""
    builder = ModelBuilder("gripper")
    builder.add_body("hand", parent="world", joint="prismatic", **ARM)
    builder.add_body(
        "right", parent="hand", joint="revolute", joint_name="r", mimic=("l", ratio, offset), **ARM, **right
    )
    builder.add_body("left", parent="hand", joint="revolute", joint_name="l", lower=-1.0, upper=1.0, **ARM)
    return builder


def test_coordinates_are_counted_once():
    robot = gripper().build()
    assert (robot.nq, robot.nv, robot.model.coupled) == (2, 2, True)
    assert [(j.name, j.q, j.v) for j in robot.joints] == [
        ("hand", slice(0, 1), slice(0, 1)),
        ("r", slice(1, 2), slice(1, 2)),
        ("l", slice(1, 2), slice(1, 2)),
    ]
    assert [body.name for body in robot.model.independent] == ["world", "hand", "left"]


def test_what_people_see_is_the_follower_by_itself():
    robot = gripper(lower=-0.5, upper=0.7, damping=0.4, effort_limit=3.0).build()
    follower, leader = robot.joint("r"), robot.joint("l")
    assert (follower.kind, follower.leader, follower.ratio, follower.offset) == ("revolute", "l", -2.0, 0.3)
    assert (leader.leader, leader.ratio, leader.offset) == (None, 1.0, 0.0)
    assert (follower.lower, follower.upper, follower.damping, follower.effort_limit) == (-0.5, 0.7, 0.4, 3.0)


def test_fields_as_the_leader_feels_them():
    fields = {"armature": 0.1, "damping": 0.2, "friction": 0.3, "slip_speed": 0.5, "stiffness": 0.4, "rest": 0.7}
    fields |= {"stribeck": 0.7, "stribeck_speed": 0.9, "continuous_limit": 2.0}
    joint = gripper(**fields, lower=-0.5, upper=0.7, velocity_limit=4.0, effort_limit=3.0).model().joint("r").joint
    assert isinstance(joint, Coupled)
    felt = {"armature": 0.4, "damping": 0.8, "friction": 0.6, "slip_speed": 0.25, "stiffness": 1.6, "rest": -0.2,
            "lower": -0.2, "upper": 0.4, "velocity_limit": 2.0, "effort_limit": 6.0,
            "stribeck": 1.4, "stribeck_speed": 0.45, "continuous_limit": 4.0}  # fmt: skip
    for name, value in felt.items():
        assert_close(np.ravel(getattr(joint, name)), [value], PRODUCT)


def test_random_obeys_the_tightest_limits():
    q = alg.random(gripper(lower=-0.5, upper=0.7).model(), np.random.default_rng(0), 200)[:, 1]
    assert -0.2 <= q.min() < -0.18 and 0.38 < q.max() <= 0.4
    with pytest.raises(DalembertError, match=r"'l' and those that follow it \('r'\) have no position"):
        alg.random(gripper(lower=5.0, upper=6.0).model(), np.random.default_rng(0))


def test_chains_lead_to_the_joint_that_has_the_coordinate():
    builder = ModelBuilder("chain")
    builder.add_body("a", parent="world", joint="screw", pitch=0.1, mimic=("b", 2.0, 0.1), **ARM)
    builder.add_body("b", parent="a", joint="prismatic", mimic=("c", -3.0, 0.5), **ARM)
    builder.add_body("c", parent="b", joint="continuous", **ARM)
    robot = builder.build()
    assert (robot.nq, robot.joint("a").leader, robot.joint("a").ratio) == (1, "c", -6.0)
    assert_close(robot.joint("a").offset, 1.1, PRODUCT)


def test_without_takes_the_effects_of_followers_too():
    robot = gripper(armature=0.5, damping=0.5, friction=0.5, stiffness=0.5).build()
    bare = robot.without("armature", "damping", "friction", "springs")
    expected = gripper().build()
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    assert np.array_equal(bare.inverse_dynamics(q, v, a), expected.inverse_dynamics(q, v, a))
    assert not np.allclose(robot.inverse_dynamics(q, v, a), expected.inverse_dynamics(q, v, a))
    assert bare.joint("r").leader == "l"


def test_coupling_is_part_of_the_fingerprint_and_survives_a_pickle():
    model = gripper().model()
    assert model == gripper().model()
    assert len({m.fingerprint for m in (model, gripper(ratio=2.0).model(), gripper(offset=0.0).model())}) == 3
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert again.joint("r").joint.ratio == -2.0


def test_a_coordinate_that_moves_no_mass_is_refused():
    builder = ModelBuilder("ghost")
    builder.add_body("arm", parent="world", joint="revolute", **ARM)
    builder.add_body("ghost", parent="arm", joint="revolute")
    builder.add_body("echo", parent="arm", joint="revolute", mimic=("ghost", 1.0, 0.0))
    with pytest.raises(DalembertError, match="joint 'ghost' moves no mass"):
        alg.forward_dynamics(builder.model(), np.zeros(2), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("joint", "mimic", "message"),
    [
        ("revolute", ("nobody", 1.0, 0.0), "joint 'b': unknown leading joint 'nobody'"),
        ("revolute", ("b", 1.0, 0.0), r"joint 'b' follows itself \(b → b\)"),
        ("revolute", ("hold", 1.0, 0.0), "the fixed joint 'hold' cannot lead, since it has 0 coordinates"),
        ("revolute", ("wrist", 1.0, 0.0), "the ball joint 'wrist' cannot lead, since it has 4 coordinates"),
        ("planar", ("arm", 1.0, 0.0), "the planar joint 'b' cannot follow, since it has 3 coordinates"),
        ("revolute", ("arm", 0.0, 0.0), "expected finite numbers and a ratio other than 0"),
        ("revolute", ("arm", np.nan, 0.0), "expected finite numbers and a ratio other than 0"),
        ("revolute", "arm", "mimic is 'arm', expected"),
        ("revolute", ("arm", "x"), "mimic is .*, expected"),
        ("revolute", (3, 1.0, 0.0), "mimic is .*, expected"),
    ],
)
def test_what_cannot_be_is_refused(joint, mimic, message):
    builder = ModelBuilder("bad")
    builder.add_body("arm", parent="world", joint="revolute")
    builder.add_body("hold", parent="arm")
    builder.add_body("wrist", parent="arm", joint="ball")
    with pytest.raises(DalembertError, match=message):
        builder.add_body("b", parent="arm", joint=joint, mimic=mimic)
        builder.model()
