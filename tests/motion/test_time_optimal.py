"""Time-optimal motions: limits at every instant, a limit reached at every instant, closed forms, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, motion
from tolerances import ITERATED, OPTIMAL, REACHED

COARSE_GRID = 0.01  # time above the optimum on the coarsest grid
DEFAULT_GRID = 2e-3  # time above the optimum on the default grid
FINE_GRID = 2e-4  # between the two finest grids

LIMITS = motion.Limits(velocity=2.0, acceleration=10.0)


def random_points(seed: int, joints: int, count: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (count, joints))


@pytest.mark.parametrize("seed", range(6))
def test_a_limit_is_reached_at_nearly_every_instant_and_none_is_passed(seed):
    points = random_points(seed, 6 + seed % 2)
    velocity = np.random.default_rng(seed).uniform(0.5, 2.0, points.shape[1])
    move = motion.time_optimal(points, motion.Limits(velocity=velocity, acceleration=5.0 * velocity), grid=400)
    assert move.check(velocity=velocity, acceleration=5.0 * velocity)
    t = np.linspace(0.0, move.duration, 4001)[1:-1]
    use = np.maximum(np.abs(move.v(t)) / velocity, np.abs(move.a(t)) / (5.0 * velocity)).max(axis=1)
    assert np.mean(use > 0.97) > 0.97
    assert use.max() <= 1.0 + ITERATED
    np.testing.assert_allclose(move.q([0.0, move.duration]), points[[0, -1]], atol=ITERATED)
    np.testing.assert_allclose(move.v([0.0, move.duration]), 0.0, atol=ITERATED)


def test_stays_on_the_path():
    points = random_points(1, 6)
    line = motion.path(points)
    move = motion.time_optimal(line, LIMITS)
    dense = line.q(np.linspace(0.0, line.duration, 20001))
    for q in move.q(np.linspace(0.0, move.duration, 50)):
        assert np.abs(dense - q).max(axis=1).min() < REACHED


def test_straight_lines_are_trapezoids_with_stops_at_corners():
    points = random_points(2, 3)
    exact = sum(motion.trapezoid(a, b, velocity=2.0, acceleration=10.0).duration for a, b in pairwise(points))
    moves = [motion.time_optimal(motion.path(points, corners=True), LIMITS, grid=grid) for grid in (100, 1000)]
    excess = [move.duration / exact - 1.0 for move in moves]
    assert 0.0 < excess[1] < 100 * OPTIMAL
    assert excess[1] < excess[0] < COARSE_GRID
    fine = moves[1]
    stops = [t for t in fine.curves.times[1:-1] if np.abs(fine.v(t)).max() < 1e-6]
    assert len(stops) == len(points) - 2
    assert fine.check(velocity=2.0, acceleration=10.0)


def test_finer_grids_converge_from_above():
    points = random_points(3, 7)
    durations = [motion.time_optimal(points, LIMITS, grid=grid).duration for grid in (50, 200, 800, 3200)]
    assert np.all(np.diff(durations) < 0.0)
    assert durations[2] / durations[3] - 1.0 < FINE_GRID


def test_torque_limits_hold_between_grid_points(arm):
    points = 0.6 * random_points(4, 6) + [0.0, -1.2, 1.0, 0.0, 0.0, 0.0]
    effort = 0.75 * arm.limits.effort
    limits = motion.Limits(robot=arm, torque=effort)
    move = motion.time_optimal(points, limits)
    assert motion.time_optimal(points, arm).duration < move.duration
    t = np.linspace(0.0, move.duration, 20001)
    use = np.maximum(np.abs(arm.inverse_dynamics(*move.at(t))) / effort, np.abs(move.v(t)) / arm.limits.velocity)
    assert use.max() < 1.0 + 10 * OPTIMAL
    assert np.mean(use.max(axis=1) > 0.9) > 0.8


def test_viscous_friction_counts(arm):
    points = 0.6 * random_points(4, 6) + [0.0, -1.2, 1.0, 0.0, 0.0, 0.0]
    edit = arm.edit()
    for joint in arm.joints:
        edit = edit.set_joint(joint.name, damping=8.0)
    damped = edit.done()
    effort = 0.75 * arm.limits.effort
    move = motion.time_optimal(points, motion.Limits(robot=damped, torque=effort))
    tau = damped.inverse_dynamics(*move.at(np.linspace(0.0, move.duration, 5001)))
    assert np.max(np.abs(tau) / effort) < 1.0 + 10 * OPTIMAL


@pytest.mark.parametrize("jerk", [2000.0, 200.0, 40.0])
def test_jerk_is_kept_on_the_same_path(jerk):
    points = random_points(5, 6)
    fastest = motion.time_optimal(points, LIMITS)
    limits = {"velocity": 2.0, "acceleration": 10.0, "jerk": jerk}
    move = motion.time_optimal(points, motion.Limits(**limits))
    assert move.check(**limits)
    assert fastest.duration < move.duration < 2.0 * fastest.duration
    np.testing.assert_allclose(move.q([0.0, move.duration]), points[[0, -1]], atol=ITERATED)
    knots = move.curves.times[1:-1]
    assert np.abs(move.a(knots - 1e-9) - move.a(knots + 1e-9)).max() < 0.05
    line = motion.path(points)
    dense = line.q(np.linspace(0.0, line.duration, 20001))
    assert max(np.abs(dense - q).max(axis=1).min() for q in move.q(np.linspace(0.0, move.duration, 40))) < REACHED


JERK = {"velocity": 2.0, "acceleration": 10.0, "jerk": 40.0}


@pytest.mark.parametrize("jerk", [5000.0, 200.0, 10.0])
def test_the_shortest_way_with_limited_jerk_along_a_line_is_the_s_curve(jerk):
    """5000: nearly a trapezoid; 10: neither velocity nor acceleration reaches its limit."""
    line, limits = np.array([[0.0, 0.0], [1.0, -0.6]]), JERK | {"jerk": jerk}
    exact = motion.s_curve(*line, **limits).duration
    move = motion.time_optimal(line, motion.Limits(**limits))
    assert 0.0 <= move.duration / exact - 1.0 < DEFAULT_GRID
    assert move.check(**limits)


def test_the_shortest_way_with_limited_jerk_is_that_of_ruckig():
    pytest.importorskip("ruckig", reason="needs the extra 'online'")
    line, share = np.array([[0.2, -0.1, 0.0], [1.4, 0.7, -0.5]]), np.array([1.2, 0.8, 0.5]) / 1.2
    limits = {name: x * share for name, x in JERK.items()}  # all joints need the same time: their way is the line
    ruckig = motion.online(line[0], np.zeros(3), np.zeros(3), line[1], **limits)
    move = motion.time_optimal(line, motion.Limits(**limits), grid=400)
    assert 0.0 <= move.duration / ruckig.duration - 1.0 < 2.5 * FINE_GRID


def test_with_limited_jerk_a_limit_is_reached_nearly_always():
    points = random_points(5, 6)
    moves = [motion.time_optimal(points, motion.Limits(**JERK), grid=grid) for grid in (100, 400)]
    assert moves[1].duration < moves[0].duration < 1.01 * moves[1].duration
    t = np.linspace(0.0, moves[1].duration, 10 * 400 + 1)[1:-1]
    rates = moves[1].v(t), moves[1].a(t), moves[1].jerk(t)
    use = np.max([np.abs(x) / limit for x, limit in zip(rates, JERK.values(), strict=True)], axis=(0, 2))
    assert use.max() <= 1.0 + ITERATED
    assert np.mean(use > 0.95) > 0.9


def test_limited_jerk_and_torque_hold_together(arm):
    points = 0.6 * random_points(4, 6) + [0.0, -1.2, 1.0, 0.0, 0.0, 0.0]
    effort = 0.6 * arm.limits.effort
    limits = motion.Limits(robot=arm, torque=effort, jerk=300.0)
    move = motion.time_optimal(points, limits, grid=100)
    assert move.check(torque=effort * (1.0 + 1e-6), jerk=300.0)
    free = motion.time_optimal(points, motion.Limits(robot=arm, torque=effort), grid=100)
    assert free.duration < move.duration < 1.3 * free.duration


def turned(robot, rotation, place) -> np.ndarray:
    """The free body's configuration after a rotation vector and a translation."""
    return robot.integrate(robot.neutral(), np.concatenate([rotation, place]))


@pytest.mark.parametrize("jerk", [None, 60.0])
def test_a_free_body_turns_in_the_time_of_a_trapezoid(jerk):
    drone = dalembert.load("quadrotor")
    start, end = turned(drone, np.zeros(3), np.zeros(3)), turned(drone, [0.0, 2.5, 0.0], np.zeros(3))
    limits = {"velocity": 2.0, "acceleration": 10.0} | ({} if jerk is None else {"jerk": jerk})
    exact = (motion.trapezoid if jerk is None else motion.s_curve)([0.0], [2.5], **limits).duration
    move = motion.time_optimal(np.array([start, end]), motion.Limits(robot=drone, torque=np.inf, **limits))
    assert 0.0 <= move.duration / exact - 1.0 < DEFAULT_GRID
    np.testing.assert_allclose(drone.difference(move.q(move.duration), end), 0.0, atol=ITERATED)


@pytest.mark.parametrize("corners", [False, True])
def test_free_bases_keep_to_limits_of_their_rates(corners):
    drone, rng = dalembert.load("quadrotor"), np.random.default_rng(1)
    points = np.array([turned(drone, *rng.uniform(-1.2, 1.2, (2, 3))) for _ in range(4)])
    line = motion.path(points, corners=corners, robot=drone)
    limits = {"velocity": 2.0, "acceleration": 10.0}
    move = motion.time_optimal(line, motion.Limits(robot=drone, torque=np.inf, **limits))
    t = np.linspace(0.0, move.duration, 4001)[1:-1]
    use = np.maximum(np.abs(move.v(t)) / 2.0, np.abs(move.a(t)) / 10.0).max(axis=1)
    assert use.max() < 1.0 + 2 * OPTIMAL and np.mean(use > 0.97) > 0.95
    np.testing.assert_allclose(drone.difference(move.q([0.0, move.duration]), points[[0, -1]]), 0.0, atol=ITERATED)
    smooth = motion.time_optimal(line, motion.Limits(robot=drone, torque=np.inf, jerk=100.0, **limits))
    assert smooth.check(torque=np.inf, jerk=100.0 * (1.0 + 1e-4), **limits)
    assert move.duration < smooth.duration < 1.2 * move.duration
    stops = np.abs(smooth.v(smooth.curves.times)).max(axis=1) < 1e-6
    assert stops.sum() == (4 if corners else 2)


def test_a_motion_that_rests_at_its_ends_is_a_path_too():
    slow = motion.quintic(np.zeros(3), [1.0, 2.0, -1.0], 5.0)
    move = motion.time_optimal(slow, LIMITS)
    exact = motion.trapezoid(np.zeros(3), [1.0, 2.0, -1.0], velocity=2.0, acceleration=10.0).duration
    assert exact < move.duration < 1.02 * exact
    assert move.check(velocity=2.0, acceleration=10.0)


def test_joints_that_do_not_move_and_limits_that_are_none():
    points = random_points(6, 3)
    points[:, 1] = 0.3
    move = motion.time_optimal(points, motion.Limits(velocity=[2.0, np.inf, np.inf], acceleration=[10.0, 5.0, 20.0]))
    assert move.check(velocity=[2.0, 1e9, 1e9], acceleration=[10.0, 5.0, 20.0])
    np.testing.assert_allclose(move.q(np.linspace(0, move.duration, 20))[:, 1], 0.3)


def test_limits_that_exclude_the_start_are_named(arm):
    points = np.array([[0.0, -1.2, 7.0, 0.0, 0.0, 0.0], [0.0, -1.2, 1.0, 0.0, 0.0, 0.0]])
    with pytest.raises(
        DalembertError, match=r"0 % of the way along it, elbow_joint is at 7 rad, beyond its limit of 6\.28"
    ):
        motion.time_optimal(points, motion.Limits(robot=arm, acceleration=5.0))
    assert motion.time_optimal(points, motion.Limits(acceleration=5.0)).duration > 0.0  # of no robot


def test_limits_that_exclude_the_path_are_named(arm):
    points = np.array([[0.0, -0.2, 0.2, 0.0, 0.0, 0.0], [0.3, 0.0, 0.3, 0.0, 0.0, 0.0]])
    with pytest.raises(
        DalembertError, match=r"shoulder_lift_joint takes .* only to hold its place, and its limit is 5"
    ):
        motion.time_optimal(points, motion.Limits(robot=arm, torque=5.0))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: motion.time_optimal(random_points(0, 3), motion.Limits(velocity=1.0)),
            "no joint has a limit of accel",
        ),
        (lambda: motion.time_optimal(random_points(0, 3, 1), LIMITS), "one point only"),
        (lambda: motion.time_optimal(np.ones((3, 2)), LIMITS), "one point only"),
        (lambda: motion.time_optimal(random_points(0, 3), 3.0), "limits are motion.Limits"),
        (
            lambda: motion.time_optimal(random_points(0, 3), motion.Limits(acceleration=[1.0, 0.0, 1.0])),
            "coordinate 1 is 0",
        ),
        (
            lambda: motion.time_optimal(random_points(0, 3), motion.Limits(acceleration=1.0, torque=1.0)),
            "need the robot",
        ),
        (lambda: motion.time_optimal(random_points(0, 3), LIMITS, grid=0), "grid is 0"),
        (lambda: motion.time_optimal(random_points(0, 3), dalembert.load("ur5")), "3 coordinates, robot"),
    ],
)
def test_bad_input_is_named(build, words):
    with pytest.raises(DalembertError, match=words):
        build()


def test_online_motion_from_a_moving_state():
    pytest.importorskip("ruckig", reason="needs the extra 'online'")
    q, v, a, target = np.array([0.0, 0.5]), np.array([0.5, -3.0]), np.zeros(2), np.array([1.0, 1.0])
    limits = {"velocity": 1.0, "acceleration": 2.0, "jerk": 10.0}
    move = motion.online(q, v, a, target, **limits)
    np.testing.assert_allclose(move.q([0.0, move.duration]), [q, target], atol=ITERATED)
    np.testing.assert_allclose(move.v([0.0, move.duration]), [v, np.zeros(2)], atol=ITERATED)
    assert not move.check(velocity=1.0)  # joint 1 begins too fast
    assert move.check(velocity=[1.0, 3.2], acceleration=2.0, jerk=10.0)


def test_online_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ruckig", None)
    with pytest.raises(DalembertError, match="dalembert\\[online\\]"):
        motion.online([0.0], [0.0], [0.0], [1.0], velocity=1.0, acceleration=1.0, jerk=1.0)


def test_corners_are_stops_with_limited_jerk_too():
    points = random_points(7, 3, 4)
    limits = {"velocity": 2.0, "acceleration": 10.0, "jerk": 150.0}
    move = motion.time_optimal(motion.path(points, corners=True), motion.Limits(**limits))
    assert move.check(**limits)
    for corner in points[1:-1]:
        t = move.curves.times[np.argmin(np.abs(move.q(move.curves.times) - corner).max(axis=1))]
        np.testing.assert_allclose(move.q(t), corner, atol=ITERATED)
        np.testing.assert_allclose(move.v(t), 0.0, atol=OPTIMAL)
