"""The bundled quadruped walks on the ground of the contact room: planner, program and torques at their rates."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, Run, Sampled, control, elements, load
from dalembert.control import gait
from dalembert.control.legs import Intent
from dalembert.math import minimum, where
from dalembert.spatial import so3
from tolerances import COMPUTED, CONTACT_SOLVER, DIFFERENCE, INTEGRATED, ITERATED

SPEED = 0.05  # of the mean speed of a gait
SIDEWAYS = 0.1  # of the way of a gait that is slower to start sideways
SWAY = 5e-3  # of what a standing robot believes [m, m/s]
FILTERED = 0.05  # of an angle that a complementary filter forgets, sample by sample
STANDING = 0.01  # a robot that stands still sways less [m/s, rad/s]

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
RADIUS = 0.02


def standing(robot) -> np.ndarray:
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] -= min(robot.pose(q, foot)[2, 3] for foot in FEET) - RADIUS
    return q


def speed_up(t):
    return np.array([minimum(t, 1.0), 0.0 * t, 0.0 * t])  # 1 m/s after a second


def trot(seconds: float, robot=None, law=None, **options) -> Run:
    own = load("quadruped")
    q = standing(own)
    law = control.legs(own, FEET, q, speed_up) if law is None else law
    contact = options.pop("contact", Contact(friction=0.6))
    robot = own if robot is None else robot
    return robot.simulate(q, np.zeros(own.nv), seconds, law, step=1e-3, contact=contact, record=0.01, **options)


def tilt(run: Run) -> float:
    return max(np.abs(so3.to_rpy(so3.from_quaternion(q[3:7]))[:2]).max() for q in run.q)


def speed(run: Run, begin: float, end: float) -> float:
    k, n = np.searchsorted(run.t, [begin - 1e-9, end - 1e-9])
    return float((run.q[n, 0] - run.q[k, 0]) / (run.t[n] - run.t[k]))


def push(force: float, begin: float, axis=(0.0, 1.0, 0.0)) -> elements.Thruster:
    """A push on the trunk that lasts a tenth of a second."""
    return elements.Thruster("trunk", lambda t: where(t < begin, 0.0, where(t < begin + 0.1, force, 0.0)), axis)


@pytest.mark.long
def test_it_trots_though_it_starts_sideways() -> None:
    """The compiled program is that of the guide page, found in the cache."""
    robot = load("quadruped")
    q, v = standing(robot), np.zeros(18)
    v[4] = 0.3
    law = control.legs(robot, FEET, q, velocity=(0.5, 0.0, 0.0))
    run = robot.simulate(q, v, 2.0, law, step=1e-3, contact=Contact(friction=0.6))
    assert "inside the compiled step" in " ".join(run.log)
    assert speed(run, 1.0, 2.0) == pytest.approx(0.5, rel=SPEED)
    assert abs(run.v[-1, 4]) < 0.1 and tilt(run) < 0.1
    assert run.contacts.ratio.max() < 1.0 + CONTACT_SOLVER and run.contacts.unsettled == 0
    assert min(max(heights) for heights in zip(*foot_heights(run), strict=True)) > RADIUS + 0.04  # all are lifted


@pytest.mark.long
@pytest.mark.parametrize("force", [120.0, -120.0])
def test_it_is_pushed_and_trots_on(force: float) -> None:
    """12 N·s, which moves it sideways at 1 m/s."""
    run = trot(4.0, elements=[push(force, 1.8)])
    assert np.abs(run.v[:, 4]).max() > 0.6  # it was pushed
    assert speed(run, 3.0, 4.0) == pytest.approx(1.0, rel=2.0 * SPEED)
    assert abs(run.v[-1, 4]) < 0.15 and tilt(run) < 0.3
    assert run.contacts.ratio.max() < 1.0 + CONTACT_SOLVER and run.contacts.unsettled == 0


@pytest.mark.long
def test_it_trots_by_its_sensors() -> None:
    """The base is estimated from an IMU with constant errors and the legs."""
    own = load("quadruped")
    sensors = control.Sensors(gyroscope=(2e-3, -2e-3, 1e-3), accelerometer=(0.05, -0.05, 0.05))
    run = trot(10.0, law=control.legs(own, FEET, standing(own), speed_up, sensors=sensors))
    assert speed(run, 3.0, 10.0) == pytest.approx(1.0, rel=SPEED)
    assert tilt(run) < 0.15 and abs(run.q[-1, 2] - standing(own)[2]) < 0.03


def foot_heights(run: Run) -> list[list[float]]:
    robot = load("quadruped")
    return [[float(robot.pose(q, foot)[2, 3]) for foot in FEET] for q in run.q[::5]]


@pytest.mark.long
def test_it_trots_for_thirty_seconds() -> None:
    run = trot(30.0)
    assert speed(run, 2.0, 30.0) == pytest.approx(1.0, rel=SPEED)
    assert tilt(run) < 0.1 and abs(run.q[-1, 1]) < 0.2
    loaded = run.contacts.normal_force > 5.0
    assert run.contacts.ratio[loaded].max() < 1.0 + CONTACT_SOLVER
    assert np.mean(run.contacts.ratio[loaded] > 0.999) < 0.02  # slipping: some, as they come down
    assert run.contacts.normal_force.max() < 3.0 * 12.0 * 9.81


@pytest.mark.long
@pytest.mark.parametrize("share", [0.8, 1.2])
def test_masses_may_be_wrong_by_a_fifth(share: float) -> None:
    run = trot(6.0, robot=load("quadruped").edit().scale(mass=share).done())
    assert speed(run, 2.0, 6.0) == pytest.approx(1.0, rel=SPEED)
    assert tilt(run) < 0.2


@pytest.mark.long
def test_it_climbs_a_step() -> None:
    robot = load("quadruped")

    def ground(x, y):
        return where(x < 1.0, 0.0, 0.05)

    law = control.legs(robot, FEET, standing(robot), (0.4, 0.0, 0.0), ground=ground, clearance=0.1)
    run = trot(6.0, law=law, contact=Contact(terrain=ground, friction=0.6))
    assert speed(run, 1.0, 6.0) == pytest.approx(0.4, rel=SPEED) and tilt(run) < 0.3
    assert min(robot.pose(run.q[-1], foot)[2, 3] for foot in FEET) > 0.05


@pytest.mark.long
def test_it_turns_and_walks_sideways() -> None:
    robot = load("quadruped")
    turn = control.legs(robot, FEET, standing(robot), (0.3, 0.0, 0.5))
    run = trot(6.0, law=turn)
    yaw = np.unwrap([so3.to_rpy(so3.from_quaternion(q[3:7]))[2] for q in run.q])
    assert yaw[-1] == pytest.approx(3.0, rel=SPEED) and tilt(run) < 0.1
    aside = trot(4.0, law=control.legs(robot, FEET, standing(robot), (0.0, 0.3, 0.0)))
    assert aside.q[-1, 1] == pytest.approx(1.2, rel=SIDEWAYS) and abs(aside.q[-1, 0]) < 0.1


@pytest.mark.long
def test_a_biped_that_is_pushed_stands_again() -> None:
    robot = load("biped")
    q = robot.neutral()
    for side in ("left", "right"):
        for joint, angle in (("hip_pitch", -0.25), ("knee", 0.5), ("ankle_pitch", -0.25)):
            q[robot.joint(f"{side}_{joint}").q] = angle
    q[2] -= robot.pose(q, "left_sole")[2, 3]
    place = robot.center_of_mass(q)
    place[0] = 0.05
    tasks = [
        control.CenterOfMass(goal=place, weight=10.0, frequency=4.0),
        control.Frame(frame="trunk", goal=robot.pose(q, "trunk"), rows_of="orientation", weight=5.0, frequency=8.0),
        control.Momentum(weight=0.01, frequency=5.0),
        control.Posture(goal=q, weight=np.r_[np.zeros(6), np.full(12, 0.05)], frequency=6.0),
    ]
    soles = [
        control.Support(frame=f"{side}_sole", size=(0.11, 0.045), center=(0.05, 0.0)) for side in ("left", "right")
    ]
    law, contact = Sampled(control.whole_body(robot, tasks, soles), 2e-3), Contact(friction=0.8)
    settled = robot.rollout(q, np.zeros((4, robot.nv)), law, 1e-3, 2000, contact=contact)
    pushed = settled.v.copy()
    pushed[0, 3], pushed[1, 3], pushed[2, 4], pushed[3, 4] = 0.3, -0.3, 0.3, -0.3  # m/s, to all sides
    # a sole of which 11 cm lie behind the centre of mass, 1 m up, stops at most 0.11 √9.81 = 0.34 m/s
    run = robot.rollout(settled.q, pushed, law, 1e-3, 3000, contact=contact, every=100)
    assert np.abs(run.v[:, -1]).max() < STANDING
    assert np.abs([robot.center_of_mass(x)[:2] - place[:2] for x in run.q[:, -1]]).max() < 0.02
    assert np.abs(run.q[:, :, :2] - settled.q[:, None, :2]).max(axis=(1, 2)).min() > 0.02  # they were moved


def test_an_intent_survives_being_flat() -> None:
    rng = np.random.default_rng(0)
    intent = Intent(*rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3)), *rng.normal(size=(2, 4, 3)))
    for part, again in zip(intent, Intent.of(intent.flat()), strict=True):
        np.testing.assert_array_equal(part, again)


def test_swings_and_clocks_have_true_rates() -> None:
    s, h = np.linspace(0.05, 0.95, 7), 1e-6
    for shape in (gait.ease, gait.lift):
        _, slope, curvature = shape(s)
        np.testing.assert_allclose((shape(s + h)[0] - shape(s - h)[0]) / (2 * h), slope, atol=3 * DIFFERENCE)
        np.testing.assert_allclose((shape(s + h)[1] - shape(s - h)[1]) / (2 * h), curvature, atol=INTEGRATED)
        assert shape(0.0)[0] == 0.0 and shape(0.0)[1] == 0.0 and shape(1.0)[1] == 0.0
    assert gait.ease(1.0)[0] == 1.0 and gait.lift(0.5)[0] == 1.0 and gait.lift(1.0)[0] == 0.0
    clock = gait.trot(0.3)
    np.testing.assert_array_equal(clock.standing(0.1), clock.stands(0.1))
    np.testing.assert_array_equal(clock.count([0.0, 0.31]), [[0, -1, -1, 0], [1, 0, 0, 1]])


def test_feet_land_where_the_rule_says() -> None:
    """At the speed that is asked for, half of a stance ahead of where they stand; further out when it is too fast."""
    robot = load("quadruped")
    q = standing(robot)
    law = control.legs(robot, FEET, q, (0.5, 0.0, 0.0))
    walker = law.inputs["program"].law.__self__
    v = np.zeros(robot.nv)
    v[3] = 0.5
    state = walker.start(q, v)
    intent = Intent.of(walker.steps(0.075, q, v, state)[0])  # feet in the air have half of their swing left
    there = robot.pose(q, "FR_foot")[:3, 3] + [0.5 * (0.5 * 0.15 + 0.5 * 0.15), 0.0, 0.0]
    np.testing.assert_allclose(intent.landing[1], there, atol=ITERATED)
    np.testing.assert_allclose(intent.feet[0, 0], robot.pose(q, "FL_foot")[:3, 3], atol=COMPUTED)
    v[4] = 0.2
    sideways = Intent.of(walker.steps(0.075, q, v, state)[0])
    assert sideways.landing[1, 1] - there[1] == pytest.approx(0.2 * (0.075 + walker.capture))


def test_what_a_standing_robot_believes_does_not_drift() -> None:
    """An accelerometer that is wrong by 0.1 m/s² alone would be 5 cm off after a second."""
    robot = load("quadruped")
    q, v = standing(robot), np.zeros(robot.nv)
    sensors = control.Sensors(accelerometer=(0.1, 0.0, 0.0), gyroscope=(0.0, 0.0, 0.0))
    law = control.legs(robot, FEET, q, gait=gait.stand(), sensors=sensors)
    odometry = law.inputs["program"].inputs["seen"].law.__self__
    state = odometry.start(q, v)
    for k in range(1000):
        believed, state = odometry.sense(1e-3 * k, q, v, state)
    assert 1e-4 < abs(believed[robot.nq + 3]) < SWAY
    assert np.abs(believed[:3] - q[:3]).max() < SWAY
    tilted = odometry.start(robot.integrate(q, np.r_[0.05, np.zeros(robot.nv - 1)]), v)  # it believes that it leans
    for k in range(1000):
        believed, tilted = odometry.sense(1e-3 * k, q, v, tilted)
    assert so3.to_rpy(so3.from_quaternion(believed[3:7]))[0] == pytest.approx(0.05 * np.exp(-0.2), rel=FILTERED)


def test_bad_input() -> None:
    robot, arm = load("quadruped"), load("ur5")
    q = standing(robot)
    for build, words in (
        (lambda: control.legs(arm, ["tool0"], np.zeros(6)), "no free base"),
        (lambda: control.legs(robot, FEET[:2], q), "gait is for 4 feet, and there are 2"),
        (lambda: control.legs(robot, ["paw"] * 4, q), "paw"),
        (lambda: control.legs(robot, FEET, q[:5]), "standing has shape"),
        (lambda: control.legs(robot, FEET, q, 1.0), "velocity has shape"),
        (lambda: control.legs(robot, FEET, q, clearance=0.0), "clearance is 0.0"),
        (lambda: control.legs(robot, FEET, q, margin=1.5), "margin is 1.5"),
    ):
        with pytest.raises(DalembertError, match=words):
            build()
    assert isinstance(control.legs(robot, FEET, q), Sampled)


@pytest.mark.long
def test_a_velocity_is_an_input_of_rollouts() -> None:
    """Each motion of a batch has its own command, and another command compiles nothing."""
    robot = load("quadruped")
    q, asked = standing(robot), np.array([[0.3, 0.0, 0.0], [0.0, 0.1, 0.5]])
    law, settings = control.legs(robot, FEET, q), {"contact": Contact(friction=0.6)}
    start = np.tile(q, (2, 1)), np.zeros((2, robot.nv))
    both = robot.rollout(*start, law, 1e-3, 100, parameters={"velocity": asked}, **settings)
    for k, velocity in enumerate(asked):
        stated = control.legs(robot, FEET, q, velocity=tuple(velocity))
        alone = robot.rollout(q, np.zeros(robot.nv), stated, 1e-3, 100, **settings)
        np.testing.assert_allclose(both.q[k], alone.q, atol=CONTACT_SOLVER)
    still = robot.rollout(*start, law, 1e-3, 100, parameters={"velocity": 0.0 * asked}, **settings)
    assert np.abs(still.q - both.q).max() > CONTACT_SOLVER
