"""Motions of frames, of robots that follow them, Fourier series, files."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, motion
from dalembert.spatial import so3
from tolerances import COMPUTED, DIFFERENCE, ITERATED, ROUGH_SLOPE, SLOPE, SOLVER_DEFAULT

HOME = np.array([0.0, -1.2, 1.5, -1.0, -1.5, 0.0])


@pytest.fixture(scope="module")
def ends(arm):
    X0 = arm.pose(HOME, "tool0")
    X1 = X0.copy()
    X1[:3, 3] += [0.1, 0.2, -0.1]
    X1[:3, :3] = X0[:3, :3] @ so3.exp(np.array([0.3, 0.5, 0.2]))
    return X0, X1


@pytest.mark.parametrize("build", [motion.slerp, motion.screw, lambda a, b, T: motion.poses([a, b, a], duration=T)])
def test_twists_are_those_of_the_poses(ends, build):
    path, e = build(*ends, 2.0), 1e-5
    for t in (0.3, 0.7, 1.6):
        rate = (path.pose(t + e) - path.pose(t - e)) / (2 * e)
        turning = rate[:3, :3] @ path.pose(t)[:3, :3].T
        V = path.velocity(t)
        np.testing.assert_allclose(V[3:], rate[:3, 3], atol=3 * DIFFERENCE)
        np.testing.assert_allclose(V[:3], [turning[2, 1], turning[0, 2], turning[1, 0]], atol=3 * DIFFERENCE)
        np.testing.assert_allclose(
            path.acceleration(t), (path.velocity(t + e) - path.velocity(t - e)) / (2 * e), atol=SLOPE
        )


def test_slerp_is_straight_and_screw_keeps_its_axis(ends):
    X0, X1 = ends
    t = np.linspace(0.0, 1.0, 9)
    straight = motion.slerp(X0, X1).pose(t)[:, :3, 3] - X0[:3, 3]
    way = (X1 - X0)[:3, 3]
    np.testing.assert_allclose(np.cross(straight, way), 0.0, atol=COMPUTED)
    twist = motion.screw(X0, X1).velocity(np.linspace(0.1, 0.9, 9))
    axes = twist[:, :3] / np.linalg.norm(twist[:, :3], axis=1, keepdims=True)
    np.testing.assert_allclose(axes, axes[:1].repeat(9, axis=0), atol=ITERATED)


def _flat(path, t):
    return np.concatenate([path.pose(t[0]).ravel(), path.velocity(t[0]), path.acceleration(t[0])])


def test_frames_compile(arm, ends):
    path = motion.slerp(*ends, 2.0)
    compiled = dalembert.function(partial(_flat, path), arm, t=1)
    np.testing.assert_allclose(compiled([0.7]), _flat(path, np.array([0.7])), atol=COMPUTED)


@pytest.mark.parametrize("build", [motion.slerp, motion.screw])
def test_a_robot_follows_a_frame(arm, ends, build):
    path = build(*ends, 2.0)
    move = motion.follow(arm, path, "tool0", start=HOME)
    t = np.linspace(0.0, 2.0, 333)
    np.testing.assert_allclose(arm.pose(move.q(t), "tool0"), path.pose(t), atol=100 * SOLVER_DEFAULT)
    np.testing.assert_allclose(arm.velocity(move.q(t), move.v(t), "tool0"), path.velocity(t), atol=10 * ROUGH_SLOPE)
    assert np.abs(move.q(0.0) - HOME).max() < 100 * SOLVER_DEFAULT


def test_poses_out_of_reach_are_named(arm, ends):
    X0, _ = ends
    far = X0.copy()
    far[0, 3] += 3.0
    with pytest.raises(DalembertError, match=r"cannot be reached .* 'tool0' comes no nearer than"):
        motion.follow(arm, motion.slerp(X0, far), "tool0", start=HOME)
    with pytest.raises(DalembertError, match="is not a pose"):
        motion.slerp(X0, 2.0 * X0)
    with pytest.raises(DalembertError, match="not the motion of a frame"):
        motion.follow(arm, [X0], "tool0")


def test_fourier_rates_and_extremes(arm):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 6, 3))
    move = motion.fourier(np.zeros(6), A, B, 4.0, periods=1.5, robot=arm)
    t, e = np.linspace(0.1, 5.9, 31), 1e-5
    np.testing.assert_allclose(move.v(t), (move.q(t + e) - move.q(t - e)) / (2 * e), atol=3 * DIFFERENCE)
    np.testing.assert_allclose(move.a(t), (move.v(t + e) - move.v(t - e)) / (2 * e), atol=3 * DIFFERENCE)
    fine = np.linspace(0.0, 6.0, 60001)
    for order in range(4):
        extremes, values = move.extremes(order), move.series.at(fine, order)
        assert np.all(extremes.greatest >= values.max(axis=0) - ITERATED)
        np.testing.assert_allclose(extremes.greatest, values.max(axis=0), atol=10 * ROUGH_SLOPE)
        np.testing.assert_allclose(extremes.least, values.min(axis=0), atol=10 * ROUGH_SLOPE)
    compiled = dalembert.function(partial(_state, move), arm, t=1)
    times = np.array([-1.0, 0.0, 1.3, 6.0, 7.0])
    np.testing.assert_allclose(compiled(times[:, None]), np.concatenate(move.at(times), axis=1), atol=COMPUTED)
    assert not move.check(velocity=1e-3)
    assert move.slower(2.0).extremes(1).greatest == pytest.approx(0.5 * move.extremes(1).greatest)
    with pytest.raises(DalembertError, match="expected finite numbers \\(6, harmonics\\)"):
        motion.fourier(np.zeros(6), A[:3], B, 4.0)


def _state(move, t):
    return np.concatenate(move.at(t[0]))


def test_files_keep_a_motion(tmp_path, arm, quadruped):
    Q = quadruped.random(np.random.default_rng(4), 3)
    for robot, move in (
        (arm, motion.via([HOME, HOME + 0.5, HOME], [0.0, 1.0, 2.0], robot=arm)),
        (quadruped, motion.spline(Q, [0.0, 1.0, 2.0], robot=quadruped)),
    ):
        move.save(tmp_path / "move.csv", step=0.01)
        again = motion.load(tmp_path / "move.csv", robot)
        t = np.linspace(0.0, 2.0, 57)
        np.testing.assert_allclose(robot.difference(again.q(t), move.q(t)), 0.0, atol=100 * ITERATED)
        np.testing.assert_allclose(again.v(t), move.v(t), atol=ROUGH_SLOPE)


def test_plots(arm, quadruped):
    pytest.importorskip("matplotlib")
    figure = motion.quintic(HOME, HOME + 1.0, robot=arm).plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["q [rad]", "v [rad/s]", "a [rad/s²]"]
    Q = quadruped.random(np.random.default_rng(4), 2)
    assert len(motion.quintic(*Q, robot=quadruped).plot().axes[0].lines) >= 19
