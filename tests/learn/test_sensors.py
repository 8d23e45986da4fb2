"""Sensors and terrains: what they measure, against closed forms and the ray caster."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, learn
from dalembert.dynamics.collision import HeightField
from learning import FEET, crawler, crawler_environment, pole_environment, table_robot
from tolerances import ACCUMULATED, COMPUTED, ROUNDING, assert_close

pytest.importorskip("gymnasium")
REWARD = {"none": lambda s: 0.0 * s.t}
POINTS = np.array([[0.0, 0.0], [0.4, 0.0], [0.0, 0.3], [-0.2, -0.5]])
G = 9.81


def hills() -> HeightField:
    xs = np.arange(-3.0, 3.01, 0.25)
    return HeightField(xs, xs, 0.2 * np.random.default_rng(0).uniform(-1.0, 1.0, (len(xs), len(xs))))


def test_a_height_scan_turns_with_the_yaw_alone_and_is_what_rays_find():
    robot, field = crawler(), hills()

    def start(random):
        q = np.zeros(robot.nq, object)
        angles = random.uniform(-1.0, 1.0, 4)
        quaternion = np.array([1.0, 0.3 * angles[0], 0.3 * angles[1], angles[2]], object)
        from dalembert.math import sqrt

        q[:3], q[3:7] = [0.3, -0.2, 1.0], quaternion / sqrt(quaternion @ quaternion)
        return q

    env = learn.Environment(
        robot, contact=Contact(terrain=field), action=learn.JointTargets(kp=1.0, kd=0.1), reset=start, reward=REWARD,
        sensors={"scan": learn.height_scan(POINTS, longest=5.0)},
        observe={"scan": lambda s: s.sensors["scan"], "q": lambda s: s.q},
    )  # fmt: skip
    obs, _ = env.vector(6).reset()
    scan, q = np.split(obs, [4], axis=1)
    for row, state in zip(scan, q, strict=True):
        R = robot.pose(state, "trunk")[:3, :3]
        yaw = np.arctan2(R[1, 0], R[0, 0])
        c, s = np.cos(yaw), np.sin(yaw)
        places = state[:2] + POINTS @ np.array([[c, s], [-s, c]])
        origins = np.column_stack([places, np.full(4, state[2])])
        below = np.array([field(x, y) for x, y in places])
        assert_close(row, state[2] - below, ACCUMULATED)
        hits = robot.raycast(state, origins, np.array([0.0, 0.0, -1.0]), contact=Contact(terrain=field))
        free = hits.body == len(robot.bodies)  # rays that no part of the robot itself stops
        assert free.sum() >= 2
        assert_close(row[free], hits.distance[free], ACCUMULATED)


def test_a_height_scan_under_an_overhang_sees_the_ground():
    """Rays begin at the robot, not above it: a table over it is not the ground, one below it is."""
    robot = table_robot()
    env = learn.Environment(
        robot, contact=Contact(ground=0.0), action=learn.JointTargets(kp=1.0, kd=0.1), reward=REWARD,
        sensors={"scan": learn.height_scan([[0.0, 0.0], [3.0, 0.0]], body="ball", longest=9.0)},
        observe={"scan": lambda s: s.sensors["scan"]},
    )  # fmt: skip
    below = env.replace(reset=np.array([0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0])).vector(1).reset()[0][0]
    assert_close(below, [0.5, 0.5], COMPUTED)
    above = env.replace(reset=np.array([0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0])).vector(1).reset()[0][0]
    assert_close(above, [0.95, 2.0], COMPUTED)  # the top of the plate is at 1.05 m


def test_what_is_deeper_than_the_longest_ray_reads_as_that():
    env = crawler_environment(
        sensors={"scan": learn.height_scan(POINTS, longest=0.1)}, observe={"scan": lambda s: s.sensors["scan"]}
    )
    assert_close(env.vector(1).reset()[0][0], np.full(4, 0.1), ROUNDING)


def test_an_inertial_unit_at_rest_falling_and_turning():
    observe = {"imu": lambda s: s.sensors["imu"], "v": lambda s: s.sensors["v"]}
    sensors = {"imu": learn.imu(), "v": learn.frame_velocity("front_left")}
    env = crawler_environment(reset=None, sensors=sensors, observe=observe, done={}, episode=None)
    vec = env.vector(1)
    vec.reset()
    for _ in range(60):
        obs, *_ = vec.step(np.zeros((1, 4)))
    assert_close(obs[0, :6], [0.0, 0.0, 0.0, 0.0, 0.0, G], 1e6 * ACCUMULATED)
    start = crawler().neutral()
    start[2] = 5.0
    vec = env.replace(reset=(start, np.array([0, 0, 2.0, 0.3, 0, 0, 0, 0, 0, 0]))).vector(1)
    obs, _ = vec.reset()
    assert_close(obs[0, 6:], [0.0, 0.0, 2.0, 0.3 - 2.0 * 0.1, 2.0 * 0.2, 0.0], COMPUTED)
    obs, *_ = vec.step(np.zeros((1, 4)))
    assert np.abs(obs[0, 3:6]).max() < 1e-3 * G  # in free fall nothing is felt


def test_joint_encoders_are_relative_to_the_start():
    env = pole_environment(
        sensors={"joints": learn.joint_encoders()},
        observe={"joints": lambda s: s.sensors["joints"]},
        reset=np.array([0.4]),
    )
    vec = env.vector(1)
    assert not vec.reset()[0].any()


def test_terrain_puts_robots_on_patches_of_their_kind_and_level():
    ground = learn.terrains(rough=0.1, stairs=0.15, levels=4, size=6.0, spacing=0.1)
    env = crawler_environment(
        contact=Contact(friction=0.7), terrain=ground, reset=None, done={}, observe={"q": lambda s: s.q},
        feet=(),
    )  # fmt: skip
    vec = env.vector(12)
    obs, _ = vec.reset()
    level = vec.state()["level"]
    assert set(level[:, 1]) == {0.0, 1.0}
    assert set(level[:, 0]) <= {0.0, 1.0, 2.0}
    assert len(set(level[:, 0])) > 1
    middle = (level + 0.5) * 6.0
    assert_close(obs[:, :2], middle, COMPUTED)
    heights = np.array([ground.field(x, y) for x, y in middle])
    assert_close(obs[:, 2], 0.23 + heights, COMPUTED)
    for _ in range(10):
        obs, *_ = vec.step(np.zeros((12, 4)))
    assert np.abs(obs[:, 2] - 0.23 - heights).max() < 0.05


def test_levels_follow_the_distance():
    ground = learn.terrains(rough=0.1, levels=5, size=6.0)
    stream = learn_stream()

    def moved(level, way, command=(), time=10.0):
        return ground.moved(np.array([level, 0.0]), np.array([way, 0.0, 0.0]), np.asarray(command), time, stream)[0]

    assert moved(2.0, 3.1) == 3.0
    assert moved(2.0, 2.0) == 2.0
    assert moved(2.0, 1.0) == 1.0
    assert moved(0.0, 0.0) == 0.0
    assert moved(2.0, 1.0, (0.1, 0.0, 0.0)) == 2.0  # half as far as commanded is enough
    assert moved(2.0, 1.0, (0.5, 0.0, 0.0)) == 1.0
    assert 0.0 <= moved(4.0, 3.5) <= 4.0


def learn_stream():
    from dalembert.study.distributions.stream import Stream

    return Stream.of((1.0, 2.0), 3.0, 4.0)


@pytest.mark.parametrize("kind", ["slopes", "rough", "stairs", "gaps", "stones", "boxes"])
def test_each_kind_of_terrain_has_a_platform_and_grows_harder(kind):
    ground = learn.terrains(levels=3, size=6.0, spacing=0.1, **{kind: 0.3})
    n, z = 60, ground.field.z
    middle = [z[k * n + 30 - 9 : k * n + 30 + 10, 30 - 9 : 30 + 10] for k in range(3)]
    for patch in middle:
        assert np.ptp(patch) == 0.0
    spread = [np.abs(np.diff(z[k * n : (k + 1) * n, :n])).sum() for k in range(3)]
    assert min(spread) > 0.0
    if kind != "stones":  # harder ones are fewer
        assert spread[2] > spread[0]
    assert np.isfinite(z).all()
    assert len(FEET) == 4
