"""Options and small conveniences of the quantities: several frames, rows, relative poses, limits, singular states."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, load
from tolerances import RECURSION, SOLVE, assert_close
from trees import random_model


@pytest.fixture(scope="module")
def robot():
    return load("ur5")


@pytest.fixture(scope="module")
def q(robot):
    return robot.random(np.random.default_rng(0), 3)


def test_jacobian_of_several_frames_and_of_rows(robot, q):
    names = ("tool0", "forearm_link")
    for name, state in (("jacobian", (q,)), ("jacobian_rate", (q, 0.5 * q))):
        method = getattr(robot, name)
        single = [method(*state, frame, axes="body") for frame in names]
        for _ in range(2):  # before and after the fast call
            stacked = method(*state, names, axes="body")
            assert np.array_equal(stacked, np.concatenate(single, axis=-2))
            assert np.array_equal(method(*state, list(names), axes="body"), stacked)
        assert np.array_equal(method(*state, names, axes="body", rows=(11, 0)), stacked[:, [11, 0]])
        assert np.array_equal(method(*state, names, axes="body", rows="position"), stacked[:, [3, 4, 5, 9, 10, 11]])
        assert np.array_equal(method(*state, "tool0", axes="body"), single[0])
        with pytest.raises(DalembertError, match="different numbers from 0 to 5"):
            method(*state, "tool0", rows=(6,))
        with pytest.raises(DalembertError, match="which frame"):
            method(*state, [])


def test_relative_poses(robot, q):
    X = robot.pose(q, "tool0", relative_to="forearm_link")
    assert_close(robot.pose(q, "forearm_link") @ X, robot.pose(q, "tool0"), RECURSION)
    assert_close(robot.pose(q, "tool0", relative_to="tool0"), np.broadcast_to(np.eye(4), (3, 4, 4)), RECURSION)
    assert np.array_equal(robot.pose(q, "tool0", relative_to=None), robot.pose(q, "tool0"))
    with pytest.raises(DalembertError, match="unknown frame 'nose'"):
        robot.pose(q, "tool0", relative_to="nose")


def test_center_of_mass_jacobian():
    for seed in range(3):
        robot, rng = Robot(random_model(seed)), np.random.default_rng(seed)
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        momentum = robot.centroidal_momentum(q, v)[3:]
        assert_close(robot.center_of_mass_jacobian(q) @ v * robot.total_mass, momentum, SOLVE)


def test_limits(robot):
    limits = robot.limits
    for joint in robot.joints:
        assert np.array_equal(limits.lower[joint.q], joint.lower) and np.array_equal(limits.upper[joint.q], joint.upper)
        assert np.array_equal(limits.velocity[joint.v], joint.velocity_limit)
        assert np.array_equal(limits.effort[joint.v], joint.effort_limit)


def test_limits_of_followers_and_free_bases():
    builder = ModelBuilder("gripper")
    box = {"mass": 1.0, "inertia": np.eye(3), "joint": "prismatic", "axis": (1, 0, 0)}
    builder.add_body("left", parent="world", **box, lower=-1.0, upper=1.0, velocity_limit=4.0, effort_limit=5.0)
    limits = {"lower": -0.5, "upper": 0.1, "velocity_limit": 1.0, "effort_limit": 3.0}
    builder.add_body("right", parent="world", **box, **limits, mimic=("left", -2.0, 0.0))
    builder.add_body("ball", parent="world", mass=1.0, inertia=np.eye(3), joint="free")
    found = builder.build().limits
    np.testing.assert_allclose(found.lower, [-0.05, *[-np.inf] * 7], rtol=RECURSION)
    np.testing.assert_allclose(found.upper, [0.25, *[np.inf] * 7], rtol=RECURSION)
    np.testing.assert_allclose(found.velocity, [0.5, *[np.inf] * 6], rtol=RECURSION)
    np.testing.assert_allclose(found.effort, [5.0, *[np.inf] * 6], rtol=RECURSION)


def test_linearize_for_some_motors(robot, q):
    v, tau = np.linspace(-1, 1, 6), np.linspace(1, 2, 6)
    for step in (None, 0.01):
        whole = robot.linearize(q[0], v, tau, step=step)
        some = robot.linearize(q[0], v, tau, step=step, actuated=("wrist_1_joint", "elbow_joint"))
        assert_close(some.A, whole.A, SOLVE)
        assert_close(some.B, whole.B[:, [2, 3]], SOLVE)
        one = robot.linearize(q, v, tau, step=step, actuated="elbow_joint").B
        assert one.shape == (3, 12, 1)
        assert_close(one[0, :, 0], whole.B[:, 2], SOLVE)
    with pytest.raises(DalembertError, match="unknown joint 'knee'"):
        robot.linearize(q[0], v, tau, actuated="knee")


def test_a_step_beyond_all_numbers_is_told(robot, q):
    v = np.zeros(6)
    with pytest.raises(DalembertError, match=r"linearize: over step=10000 s deviations .* take a shorter step"):
        robot.linearize(q[0], v, v, step=1e4)
    assert not np.isfinite(robot.linearize(q[0], v, v, step=1e4, check=False).A).all()


def singular() -> Robot:
    """A point mass on a universal joint: where it stands on the first axis, that one moves no mass."""
    builder = ModelBuilder("mast")
    builder.add_body("turn", parent="world", joint="revolute", axis=(0, 0, 1))
    builder.add_body("tilt", parent="turn", joint="revolute", axis=(1, 0, 0), mass=1.0, com=(0, 0, 0.5))
    return builder.build()


def test_singular_mass_matrices_are_told():
    robot, v, tau = singular(), np.zeros(2), np.ones(2)
    good, bad = np.array([0.0, 0.3]), np.zeros(2)
    assert np.isfinite(robot.forward_dynamics(good, v, tau)).all()
    for _ in range(2):  # before and after the fast call
        with pytest.raises(DalembertError, match=r"forward_dynamics: the mass matrix .* joint 'turn' moves no mass"):
            robot.forward_dynamics(bad, v, tau)
        with pytest.raises(DalembertError, match=r"forward_dynamics of state 2: .* joint 'turn'"):
            robot.forward_dynamics(np.stack([good, good, bad]), v, tau)
        with pytest.raises(DalembertError, match="joint 'turn'"):
            robot.forward_dynamics(*(x.astype(np.float32) for x in (bad, v, tau)))
        with pytest.raises(DalembertError, match="joint 'turn'"):
            robot.linearize(bad, v, tau)
    assert np.isinf(robot.forward_dynamics(bad, v, tau, check=False)[0])
    with pytest.raises(DalembertError, match="accelerations of robot 'mast' are too large"):
        robot.forward_dynamics(good, v, np.array([1e308, 1e308]))
    with pytest.raises(DalembertError, match="q\\[0\\] is nan"):
        robot.forward_dynamics(np.array([np.nan, 0.3]), v, tau)


def test_one_line_representations(robot, q):
    v = np.zeros((3, 6))
    for thing in (robot.joints[0], robot.bodies[1], robot.frames[0], robot.peak_reactions(q, v, v)):
        assert len(repr(thing)) < 120 and "\n" not in repr(thing)
