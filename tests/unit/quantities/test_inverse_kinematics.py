"""Inverse kinematics against closed forms, at limits, in batches, and honest about what cannot be reached."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dalembert import DalembertError, Robot, load
from dalembert.spatial import Pose
from tolerances import COMPUTED, INTEGRATED, ITERATED, REACHED, SOLVER_DEFAULT, assert_close
from trees import random_model

H = np.pi / 2
UR5_A, UR5_D, UR5_ALPHA = (
    [0, -0.425, -0.39225, 0, 0, 0],
    [0.089159, 0, 0, 0.10915, 0.09465, 0.0823],
    [H, 0, 0, H, -H, 0],
)


@pytest.fixture(scope="module")
def ur5() -> Robot:
    return load("ur5")


def link(i: int, angle: float) -> np.ndarray:
    """Standard Denavit-Hartenberg matrix of joint i of the UR5."""
    turned = Pose.from_xyz_rpy((0, 0, UR5_D[i]), (0, 0, angle))
    return (turned @ Pose.from_xyz_rpy((UR5_A[i], 0, 0), (UR5_ALPHA[i], 0, 0))).matrix()


def ur5_solutions(T: np.ndarray) -> np.ndarray:
    """All configurations (≤ 8, 6) of the UR5 that bring tool0 to T: shoulder left or right, wrist, elbow up or down."""
    inverse, (_, a2, a3, *_), (_, _, _, d4, _, d6) = np.linalg.inv(T), UR5_A, UR5_D
    wrist, found = T @ [0, 0, -d6, 1], []
    for shoulder, flip, elbow in product((1, -1), repeat=3):
        q1 = np.arctan2(wrist[1], wrist[0]) + shoulder * np.arccos(d4 / np.hypot(wrist[0], wrist[1])) + H
        s, c = np.sin(q1), np.cos(q1)
        q5 = flip * np.arccos((T[0, 3] * s - T[1, 3] * c - d4) / d6)
        x, y = inverse[:2, 0], inverse[:2, 1]
        q6 = np.arctan2((-x[1] * s + y[1] * c) / np.sin(q5), (x[0] * s - y[0] * c) / np.sin(q5))
        rest = np.linalg.inv(link(0, q1)) @ T @ np.linalg.inv(link(4, q5) @ link(5, q6))
        p = (rest @ [0, -d4, 0, 1])[:3]
        cosine = (p @ p - a2 * a2 - a3 * a3) / (2 * a2 * a3)
        if abs(cosine) > 1.0:
            continue
        q3 = elbow * np.arccos(cosine)
        q2 = -np.arctan2(p[1], -p[0]) + np.arcsin(a3 * np.sin(q3) / np.linalg.norm(p))
        last = np.linalg.inv(link(1, q2) @ link(2, q3)) @ rest
        found.append([q1, q2, q3, np.arctan2(last[1, 0], last[0, 0]), q5, q6])
    return np.array(found)


def turned_apart(q0, q1):
    """Largest difference of angles, whole turns left out."""
    return np.max(np.abs((q0 - q1 + np.pi) % (2 * np.pi) - np.pi), axis=-1)


def targets_with_eight(ur5, count):
    rng, found = np.random.default_rng(7), []
    while len(found) < count:
        T = ur5.pose(ur5.random(rng), "tool0")
        q = ur5_solutions(T)
        if len(q) == 8 and np.all(np.abs(np.sin(q[:, 4])) > 0.2) and np.all(np.abs(np.sin(q[:, 2])) > 0.2):
            found.append((T, q))
    return found


def test_ur5_finds_each_of_the_eight_solutions(ur5):
    for T, q in targets_with_eight(ur5, 5):
        assert_close(ur5.pose(q, "tool0"), np.broadcast_to(T, (8, 4, 4)), COMPUTED)  # the closed form is right
        near = q + np.random.default_rng(1).uniform(-0.05, 0.05, q.shape)
        made = ur5.inverse_kinematics(np.broadcast_to(T, (8, 4, 4)), "tool0", start=near, starts=1)
        assert np.all(made.success)
        assert np.max(turned_apart(made.q, q)) < INTEGRATED
        assert len({tuple(x) for x in made.q.round(5)}) == 8


def test_ur5_from_anywhere_finds_one_of_the_eight(ur5):
    for T, q in targets_with_eight(ur5, 10):
        made = ur5.inverse_kinematics(T, "tool0")
        assert made.success is True
        assert np.min(turned_apart(made.q, q)) < INTEGRATED
        assert made.limit_distance > 0.0


def test_2r_gives_the_two_closed_solutions():
    robot, x, z = load("2r"), 0.35, 0.2
    elbow = np.arccos((x * x + z * z - 2 * 0.09) / (2 * 0.09))
    for sign in (1.0, -1.0):
        q2 = sign * elbow
        q1 = np.arctan2(z, x) - np.arctan2(0.3 * np.sin(q2), 0.3 + 0.3 * np.cos(q2))
        made = robot.inverse_kinematics((x, 0.0, z), "tool", start=[0.1, sign * 0.5], starts=1)
        assert_close(made.q, [q1, q2], 10 * SOLVER_DEFAULT)
        assert made.orientation_error == 0.0  # not asked for


def test_2r_out_of_reach_says_by_how_much():
    robot = load("2r")
    with pytest.raises(DalembertError, match=r"robot '2r' .* frame 'tool' .* off by 0\.4 m"):
        robot.inverse_kinematics((0.8, 0.0, 0.6), "tool")
    made = robot.inverse_kinematics((0.8, 0.0, 0.6), "tool", check=False)
    assert made.success is False
    assert abs(made.position_error - 0.4) < INTEGRATED
    assert_close(robot.pose(made.q, "tool")[:3, 3], [0.48, 0.0, 0.36], REACHED)  # stretched out towards it
    beside = robot.inverse_kinematics((0.3, 0.25, 0.1), "tool", check=False)  # the arm cannot leave its plane
    assert abs(beside.position_error - 0.25) < INTEGRATED


def test_stretched_out_target_is_reached():
    """At the edge of the workspace, where the Jacobian is singular."""
    robot = load("2r")
    made = robot.inverse_kinematics((0.36, 0.0, 0.48), "tool")
    assert made.position_error <= SOLVER_DEFAULT


@pytest.mark.parametrize(("name", "frame"), [("ur5", "tool0"), ("panda", "panda_link8"), ("puma560", "tool")])
def test_batches_of_reachable_targets(name, frame):
    robot = load(name)
    T = robot.pose(robot.random(np.random.default_rng(2), 200), frame).reshape(4, 50, 4, 4)
    made = robot.inverse_kinematics(T, frame, starts=100)
    assert made.q.shape == (4, 50, robot.nq)
    assert np.all(made.success)
    assert_close(robot.pose(made.q, frame), T, 2 * SOLVER_DEFAULT)
    assert np.all(made.limit_distance >= 0.0)
    lower = np.concatenate([joint.lower for joint in robot.joints])
    upper = np.concatenate([joint.upper for joint in robot.joints])
    assert_close(made.limit_distance, np.minimum(made.q - lower, upper - made.q).min(axis=-1), COMPUTED)
    alone = robot.inverse_kinematics(T[2, 7], frame, starts=100)  # the answer does not depend on the company
    assert_close(alone.q, made.q[2, 7], 100 * SOLVER_DEFAULT)


def test_batch_reports_what_it_did_not_reach(ur5):
    T = ur5.pose(ur5.random(np.random.default_rng(3), 6), "tool0")
    T[[1, 4], :3, 3] += (3.0, 0.0, 0.0)
    made = ur5.inverse_kinematics(T, "tool0")
    assert made.success.tolist() == [True, False, True, True, False, True]
    reached = ur5.pose(made.q, "tool0")[:, :3, 3]
    assert_close(made.position_error, np.linalg.norm(reached - T[:, :3, 3], axis=-1), ITERATED)
    assert np.all(made.position_error[[1, 4]] > 1.0)


def test_limits_are_kept_or_not_as_asked():
    """The elbow of the Panda cannot straighten; without limits it may."""
    robot = load("panda")
    q = np.array([0.0, 0.3, 0.0, 1.2, 0.0, 1.5, 0.0])  # joint 4 is limited to [-3.07, -0.07]
    T = robot.pose(q, "panda_link8")
    free = robot.inverse_kinematics(T, "panda_link8", start=q + 0.01, limits=False)
    assert free.success and free.limit_distance < 0.0
    held = robot.inverse_kinematics(T, "panda_link8", start=q, check=False)
    assert held.limit_distance >= 0.0


@pytest.mark.parametrize("seed", range(4))
def test_every_joint_type(seed):
    rng = np.random.default_rng(seed)
    robot = Robot(random_model(rng, n_bodies=10, base=("fixed", "free")[seed % 2]))
    q = robot.random(rng)
    T = robot.pose(q, "tool")
    made = robot.inverse_kinematics(T, "tool", start=robot.integrate(q, 0.1 * rng.normal(size=robot.nv)))
    assert_close(robot.pose(made.q, "tool"), T, 2 * SOLVER_DEFAULT)
    assert_close(robot.normalize(made.q), made.q, COMPUTED)


def test_only_the_named_joints_move():
    robot = load("quadruped")
    leg = [joint.name for joint in robot.joints if joint.name.startswith("RL")]
    start = robot.neutral()
    foot = robot.pose(start, "RL_foot")[:3, 3] + (0.03, 0.02, 0.05)
    made = robot.inverse_kinematics(foot, "RL_foot", start=start, joints=leg)
    moved = np.flatnonzero(made.q != start)
    assert {robot.joint(name).q.start for name in leg} >= set(moved) and len(moved) > 0
    with pytest.raises(DalembertError, match=r"pass start="):
        robot.inverse_kinematics(foot, "RL_foot", joints=leg)


def test_one_target_gives_the_same_however_it_is_written(ur5):
    """Arrays, lists and strided arrays of one target take a short way; batches the general one."""
    q = ur5.random(np.random.default_rng(3))
    T, start = ur5.pose(q, "tool0"), q + 0.05
    usual = ur5.inverse_kinematics(T, "tool0", start=start)
    strided = np.zeros((4, 8))[:, ::2]
    strided[...] = T
    everything = [joint.name for joint in ur5.joints]
    for target, begin, keywords in (
        (T[None], start[None], {}),
        (T.tolist(), start.tolist(), {}),
        (strided, start, {}),
        (T, start, {"joints": everything, "rows": range(6)}),
    ):
        other = ur5.inverse_kinematics(target, "tool0", start=begin, **keywords)
        assert np.array_equal(np.ravel(other.q), usual.q) and np.all(other.success)
        for mine, theirs in zip(usual[2:], other[2:], strict=True):
            assert mine == np.squeeze(theirs)
    place = ur5.inverse_kinematics(T[:3, 3], "tool0", start=start)
    assert np.array_equal(place.q, ur5.inverse_kinematics(T[None, :3, 3], "tool0", start=start).q[0])


def test_rows_ask_for_part_of_the_pose(ur5):
    T = ur5.pose(ur5.random(np.random.default_rng(5)), "tool0")
    turned = ur5.inverse_kinematics(T, "tool0", rows="orientation")
    assert_close(ur5.pose(turned.q, "tool0")[:3, :3], T[:3, :3], 2 * SOLVER_DEFAULT)
    height = ur5.inverse_kinematics(T, "tool0", rows=(5,))
    assert abs(ur5.pose(height.q, "tool0")[2, 3] - T[2, 3]) <= SOLVER_DEFAULT


def test_seed_decides_and_single_precision_stays(ur5):
    T = ur5.pose(ur5.random(np.random.default_rng(6)), "tool0")
    one, same, other = (ur5.inverse_kinematics(T, "tool0", seed=seed).q for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert ur5.inverse_kinematics(T.astype(np.float32), "tool0").q.dtype == np.float32


@pytest.mark.parametrize(
    ("target", "keywords", "words"),
    [
        (np.eye(3)[:2, :2], {}, "shape"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), {}, "not a pose"),
        (2.0 * np.eye(4), {}, "not a pose"),
        (np.full((4, 4), np.nan), {}, "not finite"),
        (np.zeros(3), {"rows": "orientation"}, "needs a target"),
        (np.eye(4), {"start": np.zeros(5)}, "shape"),
        (np.zeros((2, 3)), {"start": np.zeros((3, 6))}, "do not broadcast"),
        (np.eye(4), {"joints": ["elbow"], "start": np.zeros(6)}, "unknown joint 'elbow'"),
        (np.eye(4), {"joints": 3, "start": np.zeros(6)}, "joints is 3"),
        (np.eye(4), {"start": np.full(6, np.nan)}, "inverse_kinematics: start has entries"),
        (np.eye(4), {"start": "home"}, "inverse_kinematics: start is"),
        (np.eye(4), {"tolerance": np.nan}, "tolerance is nan"),
        (np.eye(4), {"tolerance": "fine"}, "tolerance is 'fine'"),
        (np.eye(4), {"max_iterations": 2.5}, "max_iterations is 2.5"),
        (np.eye(4), {"starts": "many"}, "starts is 'many'"),
        (np.eye(4), {"limits": "hard"}, "limits is 'hard'"),
        (np.eye(4), {"seed": -1}, "seed is -1"),
        (np.eye(4), {"rng": 3}, "rng is 3"),
    ],
)
def test_wrong_input_is_refused(ur5, target, keywords, words):
    with pytest.raises(DalembertError, match=words):
        ur5.inverse_kinematics(target, "tool0", **keywords)
    with pytest.raises(DalembertError, match="unknown frame"):
        ur5.inverse_kinematics(np.eye(4), "tol0")


def test_no_step_is_no_success():
    """The error is that of the start, not the zero that no step has replaced."""
    robot = load("ur5")
    q = robot.neutral()
    result = robot.inverse_kinematics(
        robot.pose(q, "tool0"), "tool0", start=q + 0.3, starts=1, max_iterations=0, check=False
    )
    assert not result.success and result.iterations == 0 and result.position_error > 0.1
