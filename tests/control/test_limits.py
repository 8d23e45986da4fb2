"""Limits of inverse kinematics and of the whole-body program: distances, regions, joints; their order; own ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dalembert import DalembertError, control, function, load, scene
from dalembert.shapes import Box, Sphere
from tolerances import COMPUTED, ITERATED, REACHED, SLOPE, SOLVER_DEFAULT, assert_close

START = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
STAND_OFF = 0.02
KEPT = 1e-5  # m: by how much steps of finite length may pass a distance that they follow
RIM = 5e-4  # m: how near to the stand-off a goal leads where the nearest points jump between corners of a hull
HIGHER = 1.005  # of the manipulability of a start: what its null space leaves to gain, and some of it


@pytest.fixture(scope="module")
def walled():
    """A UR5 in front of a wall."""
    robot = scene(load("ur5"), wall=Box((0.02, 1.6, 1.6)), at={"wall": (-0.75, 0.0, 0.4)})
    return robot, [("world", "wrist_2_link"), ("world", "wrist_3_link"), ("world", "forearm_link")]


def behind_the_wall(robot):
    goal = robot.pose(START, "tool0")
    goal[0, 3] = -0.85
    return control.Frame(frame="tool0", goal=goal, rows_of="position")


def test_a_goal_behind_a_wall_is_reached_up_to_the_stand_off(walled) -> None:
    robot, pairs = walled
    goal = behind_the_wall(robot)
    through = control.inverse_kinematics(robot, [goal]).solve(START)
    assert robot.distance(through.q, pairs).min() < 0.0
    avoid = control.CollisionAvoidance(pairs=pairs, stand_off=STAND_OFF)
    reached = control.inverse_kinematics(robot, [goal], [avoid]).solve(START)
    assert robot.distance(reached.q, pairs).min() == pytest.approx(STAND_OFF, abs=RIM)
    assert reached.errors[0] < 0.3
    assert robot.distance(reached.q, pairs).min() > STAND_OFF - KEPT
    assert reached.beyond[0] <= KEPT


def test_a_loop_in_time_never_passes_the_stand_off(walled) -> None:
    """At a steady rate; a start that is too near moves away."""
    robot, pairs = walled
    goal = behind_the_wall(robot)
    avoid = control.CollisionAvoidance(pairs=pairs, stand_off=STAND_OFF)
    ik = control.inverse_kinematics(robot, [goal], [avoid], step=0.01)
    q, nearest = START, []
    for _ in range(400):
        q = robot.integrate(q, ik(q))
        nearest.append(robot.distance(q, pairs).min())
    assert min(nearest) > STAND_OFF - 10 * KEPT
    assert nearest[-1] == pytest.approx(STAND_OFF, abs=RIM)
    wider = control.CollisionAvoidance(pairs=pairs, stand_off=2 * STAND_OFF)
    away = control.inverse_kinematics(robot, [goal], [wider], step=0.01)
    for _ in range(200):
        q = robot.integrate(q, away(q))
    assert robot.distance(q, pairs).min() == pytest.approx(2 * STAND_OFF, abs=RIM)


def test_a_region_bounds_a_point_and_the_rest_is_reached() -> None:
    robot = load("ur5")
    goal = robot.pose(START, "tool0")
    goal[:3, 3] += [0.0, 0.15, -0.1]
    task = control.Frame(frame="tool0", goal=goal)
    most = goal[1, 3] - 0.04
    region = control.Region(frame="tool0", high=(np.inf, most, np.inf))
    reached = control.inverse_kinematics(robot, [task], [region]).solve(START, tolerance=1e-10)
    assert reached.converged
    assert robot.pose(reached.q, "tool0")[1, 3] == pytest.approx(most, abs=SLOPE)
    same = control.Region(frame="tool0", normals=[[0.0, 2.0, 0.0]], offsets=[2.0 * most])
    again = control.inverse_kinematics(robot, [task], [same]).solve(START, tolerance=1e-10)
    assert_close(again.q, reached.q, 10 * SLOPE)


def test_regions_of_other_frames_turn_with_them() -> None:
    """The numbers of a region seen from the forearm, and their slopes, against differences."""
    robot = load("ur5")
    region = control.Region(frame="tool0", low=(-1.0, -0.1, 0.0), root="forearm_link")
    middle = control.Region(low=(0.0, 0.0, 0.0))
    for limit, points in (
        (region, lambda q: (np.linalg.inv(robot.pose(q, "forearm_link")) @ robot.pose(q, "tool0"))[:3, 3]),
        (middle, robot.center_of_mass),
    ):
        s = control.Situation(robot, 0.0, START, np.zeros(6), np.zeros(0))
        x = limit.bounded(s)
        assert_close(x.h, points(START), COMPUTED)
        ways = 1e-6 * np.eye(6)
        slopes = np.array([(points(START + d) - points(START - d)) / 2e-6 for d in ways]).T
        assert_close(x.J, slopes, SLOPE)


def test_limits_count_before_later_tasks_and_after_earlier_ones() -> None:
    """A region of priority 1 yields to the pose of priority 0, as little as possible, and the posture yields to it."""
    robot = load("panda")
    q = robot.neutral() + 0.0
    q[:7] = [0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.6]
    frame = robot.frames[-1].name
    pose = robot.pose(q, "panda_link8" if "panda_link8" in [f.name for f in robot.frames] else frame)
    tool = "panda_link8" if "panda_link8" in [f.name for f in robot.frames] else frame
    elbow = robot.pose(q, "panda_link4")[:3, 3]
    away = q.copy()
    away[0] += 0.5
    tasks = [control.Frame(frame=tool, goal=pose), control.Posture(goal=away, priority=2)]
    aside = control.Region(frame="panda_link4", low=(-np.inf, elbow[1] + 0.03, -np.inf), priority=1, gain=1.0)
    reached = control.inverse_kinematics(robot, tasks, [aside]).solve(q, max_iterations=500)
    assert reached.errors[0] < 10 * SOLVER_DEFAULT
    assert robot.pose(reached.q, "panda_link4")[1, 3] > elbow[1] + 0.03 - 1e3 * SLOPE
    too_far = control.Region(frame="panda_link4", low=(-np.inf, elbow[1] + 2.0, -np.inf), priority=1, gain=1.0)
    moved = control.inverse_kinematics(robot, tasks, [too_far]).solve(q, max_iterations=500)
    assert moved.errors[0] < REACHED
    assert moved.beyond[0] > 1.0
    assert robot.pose(moved.q, "panda_link4")[1, 3] > robot.pose(reached.q, "panda_link4")[1, 3]


def test_joint_limits_of_places_and_speeds() -> None:
    robot = load("ur5")
    task = control.Posture(goal=START + 0.5)
    elbow = robot.joint("elbow_joint").q
    limit = control.JointLimit(joints="elbow_joint", upper=START[elbow][0] + 0.2, gain=1.0)
    reached = control.inverse_kinematics(robot, [task], [limit]).solve(START)
    expected = START + 0.5
    expected[elbow] = START[elbow] + 0.2
    assert_close(reached.q, expected, 10 * SLOPE)
    slow = control.JointLimit(speed=[0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    d = control.inverse_kinematics(robot, [control.Posture(goal=START + 0.5, gain=1.0)], [slow], step=0.1)(START)
    assert_close(d, [0.01, 0.02, 0.03, 0.01, 0.02, 0.03], ITERATED)


def test_a_frame_in_another_frame() -> None:
    """Tool and forearm: the relative pose is reached, whatever the base does; slopes against differences."""
    robot = load("ur5")

    def relative(q):
        return np.linalg.inv(robot.pose(q, "upper_arm_link")) @ robot.pose(q, "tool0")

    goal = relative(START + np.array([0.0, 0.0, 0.2, 0.1, -0.1, 0.2]))
    task = control.Frame(frame="tool0", goal=goal, root="upper_arm_link")
    hold = control.JointLimit(joints=robot.joints[0].name, lower=START[0], upper=START[0])
    reached = control.inverse_kinematics(robot, [task], [hold]).solve(START)
    assert reached.error < 10 * SOLVER_DEFAULT
    assert_close(relative(reached.q), goal, 10 * SOLVER_DEFAULT)
    v = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3])
    s = control.Situation(robot, 0.0, START, v, np.zeros(0))

    def twist(t):
        q = START + t * v
        A = task.rows(s._replace(q=q)).A
        return A @ v

    still = task.rows(control.Situation(robot, 0.0, START, v, np.zeros(0)))
    kp, kd = task.gains
    free = still.b - kp * task.displacement(s).b + kd * still.A @ v
    assert_close(-free, (twist(1e-6) - twist(-1e-6)) / 2e-6, SLOPE, 1.0)
    place = (relative(START + 1e-6 * v) - relative(START - 1e-6 * v))[:3, 3] / 2e-6
    assert_close((still.A @ v)[3:], place, SLOPE)


def test_gain_and_damping_of_one_task() -> None:
    """gain takes its share of the error; lm_damping shortens the step to e / (1 + λ e²) for one freedom."""
    robot = load("ur5")
    goal = START + 0.4 * np.eye(6)[0]
    d = control.inverse_kinematics(robot, [control.Posture(goal=goal, gain=0.25)], step=1.0)(START)
    assert_close(d, [0.1, 0, 0, 0, 0, 0], 10 * SLOPE)
    damped = control.inverse_kinematics(robot, [control.Posture(goal=goal, gain=1.0, lm_damping=10.0)], step=1.0)(START)
    assert damped[0] == pytest.approx(0.4 / (1.0 + 10.0 * 0.16 + 1e-6), abs=ITERATED)


def test_manipulability_is_raised_along_the_null_space() -> None:
    robot = load("panda")
    tool = robot.frames[-1].name
    q = robot.neutral() + 0.0
    q[:7] = [0.1, 0.6, 0.2, -1.2, 0.1, 1.0, 0.6]
    task = control.Manipulability(frame=tool, priority=1)

    def measure(q):
        J = robot.jacobian(q, tool)[3:]
        return np.sqrt(np.linalg.det(J @ J.T))

    fixed = control.Frame(frame=tool, goal=robot.pose(q, tool))
    ik = control.inverse_kinematics(robot, [fixed, task], step=0.1)
    d = ik(q)
    assert measure(robot.integrate(q, d)) > measure(q)
    higher = control.Manipulability(frame=tool, priority=1, stride=0.1)
    reached = control.inverse_kinematics(robot, [fixed, higher]).solve(q, tolerance=1e-5, max_iterations=1500)
    assert measure(reached.q) > HIGHER * measure(q)
    assert_close(robot.pose(reached.q, tool), robot.pose(q, tool), REACHED)


@dataclass(frozen=True, eq=False, kw_only=True)
class Level(control.Task):
    """The tool's z axis points up or down: its x and y parts are 0."""

    frame: str

    def displacement(self, s):
        J, z = s.robot.jacobian(s.q, self.frame)[:3], s.robot.pose(s.q, self.frame)[:3, 2]
        turn = np.array([[0, z[2], -z[1]], [-z[2], 0, z[0]]])
        return control.Wanted(turn @ J, -z[:2])


@dataclass(frozen=True, eq=False, kw_only=True)
class Reach(control.Limit):
    """Squared distance of a frame from the axis of the base, at most."""

    frame: str
    most: float

    def bounded(self, s):
        p, J = s.robot.pose(s.q, self.frame)[:2, 3], s.robot.jacobian(s.q, self.frame)[3:5]
        return control.Bounded(np.array([p @ p]), 2.0 * (p @ J)[None], np.array([-np.inf]), np.array([self.most**2]))


def test_tasks_and_limits_of_ones_own() -> None:
    robot = load("ur5")
    far = control.Frame(frame="tool0", goal=np.array([-0.7, -0.3, 0.4]))
    ik = control.inverse_kinematics(robot, [Level(frame="tool0"), far], [Reach(frame="tool0", most=0.55)])
    reached = ik.solve(START)
    X = robot.pose(reached.q, "tool0")
    assert np.hypot(*X[:2, 3]) == pytest.approx(0.55, abs=1e2 * SLOPE)
    weighted = control.inverse_kinematics(robot, [Level(frame="tool0"), control.Posture(goal=START, weight=1e-6)])
    assert_close(robot.pose(weighted.solve(START).q, "tool0")[:2, 2], [0.0, 0.0], 1e4 * SLOPE)


@pytest.mark.long
def test_the_whole_body_program_keeps_limits_while_it_moves() -> None:
    """Trunk asked to go 15 cm to the side: its region ends after 3 cm, and the motion never passes it."""
    robot = load("quadruped")
    q = robot.neutral()
    q[2], q[7:] = 0.3, np.tile([0.0, 0.8, -1.6], 4)
    feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    X = robot.pose(q, "trunk")
    X[1, 3] += 0.15
    tasks = [control.Frame(frame="trunk", goal=X, weight=100.0), control.Posture(goal=q, weight=0.1)]
    supports = [control.Support(frame=foot, friction=0.6) for foot in feet]
    region = control.Region(frame="trunk", high=(np.inf, 0.03, np.inf))
    law = control.whole_body(robot, tasks, supports, limits=[region])
    free = control.whole_body(robot, tasks, supports)
    ends = []
    for each in (law, free):
        x, v, most = q, np.zeros(18), 0.0
        for _ in range(100):
            tick = each.solve(0.0, x, v)
            v = v + 4e-3 * tick.a
            x = robot.integrate(x, 4e-3 * v)
            most = max(most, x[1])
        ends.append(most)
    assert ends[0] < 0.03 + 2 * REACHED
    assert ends[1] > 0.05
    assert any("Region(trunk)" in name for name in law.rows)


def test_accelerations_that_limits_allow_have_the_curvature() -> None:
    """h + ḣT + ½ḧT² of the row is that of the numbers along the motion, with the rate of their slopes."""
    robot = load("ur5")
    limit = control.Region(frame="tool0", high=(0.5, 0.5, 0.5))
    rng, T = np.random.default_rng(0), 0.1
    v, a = rng.normal(size=6), rng.normal(size=6)

    def row(q, v):
        s = control.Situation(robot, 0.0, q, v, np.zeros(0))
        A, _, high = limit.rows(s, T)
        return np.concatenate([A, high[:, None]], axis=1)

    rows = function(row, robot)(START, v)

    def height(t):
        return robot.pose(START + t * v + 0.5 * t * t * a, "tool0")[:3, 3]

    h = 1e-4
    rate, bend = (height(h) - height(-h)) / (2 * h), (height(h) - 2 * height(0.0) + height(-h)) / (h * h)
    room = 0.5 - height(0.0) - rate * T - 0.5 * bend * T * T
    left = (rows[:, -1] - rows[:, :-1] @ a) * T * T / 2
    assert_close(left, room, 10 * SLOPE)


def test_mistakes_are_named() -> None:
    robot, arm = load("quadruped"), load("ur5")
    task = control.Posture(goal=START)
    wrong = [
        ("gain is 2", [control.CollisionAvoidance(gain=2.0)]),
        ("nothing is bounded", [control.Region(frame="tool0")]),
        ("low ≤ high", [control.Region(frame="tool0", low=(1, 0, 0), high=(0, 0, 0))]),
        ("frame 'nose'", [control.Region(frame="nose", low=(0, 0, 0))]),
        ("as many", [control.Region(frame="tool0", normals=[[1, 0, 0]], offsets=[])]),
        ("lower bound is above", [control.JointLimit(lower=1.0, upper=0.0)]),
        ("needs the step", [control.JointLimit(speed=1.0)]),
        ("expected Limits, got Posture", [task]),
        ("stand_off is -1", [control.CollisionAvoidance(stand_off=-1.0)]),
    ]
    for words, limits in wrong:
        with pytest.raises(DalembertError, match=words):
            control.inverse_kinematics(arm, [task], limits)
    with pytest.raises(DalembertError, match="gain and lm_damping belong to inverse kinematics"):
        control.whole_body(robot, [control.Posture(goal=robot.neutral(), gain=0.5)])
    with pytest.raises(DalembertError, match="over a horizon"):
        control.whole_body(robot, [], limits=[control.Region(low=(0, 0, 0))], horizon=None)
    with pytest.raises(DalembertError, match="gain and frequency"):
        control.inverse_kinematics(arm, [control.Posture(goal=START, gain=0.5, frequency=5.0)], step=0.1)
    with pytest.raises(TypeError, match="must define bounded"):
        control.inverse_kinematics(arm, [task], [control.Limit()])(START)
    ball = scene(arm, ball=Sphere(0.05), at={"ball": (2.0, 0.0, 0.0)})
    with pytest.raises(DalembertError, match="link"):
        control.inverse_kinematics(ball, [task], [control.CollisionAvoidance(pairs=[("world", "nose")])])
