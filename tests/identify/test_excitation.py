"""Excitation: within every limit at every instant, and better than chance."""

import sys

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, identify, load
from dalembert.identify.base import base_of
from dalembert.identify.columns import columns
from dalembert.identify.optimum import Information, best_motion
from dalembert.identify.series import Fourier, PointToPoint, joint_limits
from dalembert.logs import read_trajectory
from dalembert.model.geometry import Sphere
from tolerances import COMPUTED, INTEGRATED, ITERATED, ROUGH_SLOPE, SLOPE

NEARLY = 1.05  # "D" and "A" want nearly the same motion, and an optimum of either is a local one

SAMPLED_ACCELERATION = 0.02  # differences of samples of fast harmonics [rad/s²]


@pytest.fixture(scope="module")
def panda():
    return load("panda")


@pytest.mark.parametrize("kind", ["fourier", "points"])
def test_limits_hold_at_ten_kilohertz(panda, kind):
    motion = identify.excitation(panda, duration=12.0, starts=1, acceleration=15.0, kind=kind).resampled(10_000.0)
    joints = panda.joints
    lower, upper, fast, effort = (
        np.concatenate([getattr(j, f) for j in joints]) for f in ("lower", "upper", "velocity_limit", "effort_limit")
    )
    assert np.all(motion.q > lower) and np.all(motion.q < upper)
    assert np.all(np.abs(motion.v) < fast)
    assert np.all(np.abs(motion.a) < 15.0)
    assert np.all(np.abs(panda.inverse_dynamics(motion.q, motion.v, motion.a)) < effort)


@pytest.mark.parametrize("kind", ["fourier", "points"])
def test_velocities_and_accelerations_are_the_rates(panda, kind):
    motion = identify.excitation(panda, duration=12.0, starts=1, kind=kind).resampled(5000.0)
    np.testing.assert_allclose(np.gradient(motion.q, motion.t, axis=0)[2:-2], motion.v[2:-2], atol=ROUGH_SLOPE)
    np.testing.assert_allclose(np.gradient(motion.v, motion.t, axis=0)[2:-2], motion.a[2:-2], atol=SAMPLED_ACCELERATION)
    for x in (motion.v, motion.a):
        np.testing.assert_allclose(x[[0, -1]], 0.0, atol=ITERATED)


def test_better_than_random_series():
    robot = load("ur5")
    motion = identify.excitation(robot, starts=6)
    base, limits = base_of(columns(robot)), joint_limits(robot, 0.05, None, None, None, None)
    information = Information(base, limits, Fourier(5, 16.0))
    rng = np.random.default_rng(0)
    random = [
        information.condition_of(Fourier(5, 16.0).scaled(rng.normal(size=(6, 10)), limits).motion) for _ in range(200)
    ]
    assert motion.condition < 0.6 * min(random)


@pytest.mark.parametrize("criterion", ["condition", "D", "A"])
@pytest.mark.parametrize("family", [Fourier(3, 10.0), PointToPoint(5, 10.0)])
def test_slopes_against_differences(family, criterion):
    robot = load("scara")
    limits = joint_limits(robot, 0.05, 2.0, None, None, None)
    information = Information(base_of(columns(robot, ("viscous",), True)), limits, family, criterion)
    rng = np.random.default_rng(2)
    theta, step = rng.normal(size=(2, robot.nv, family.size + 2))
    slope = information.value(theta, 4).slope
    ahead, behind = (information.value(theta + sign * 1e-6 * step, 4).smooth for sign in (1.0, -1.0))
    assert (ahead - behind) / 2e-6 == pytest.approx(float(np.sum(slope * step)), rel=10 * SLOPE, abs=INTEGRATED)


def test_torque_limits_draw_the_motion_in():
    strong = load("2r")
    weak = strong.edit()
    for joint in strong.joints:
        weak = weak.set_joint(joint.name, effort_limit=17.0)
    robot = weak.done()
    motion = identify.excitation(robot, duration=8.0, starts=1, velocity=10.0)
    assert np.abs(robot.inverse_dynamics(motion.q, motion.v, motion.a)).max() < 17.0
    assert any("torque" in note for note in motion.log)


def test_links_keep_their_distance():
    """An arm whose range lets its hand into its base."""
    builder = ModelBuilder("arm")
    rod = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": np.diag([0.01, 0.02, 0.02]), "lower": -3.0, "upper": 3.0}
    rod |= {"velocity_limit": 3.0}
    builder.add_body("base", parent="world", mass=1.0)
    builder.add_body("upper", parent="base", joint="revolute", joint_name="shoulder", axis=(0, 1, 0), **rod)
    builder.add_body(
        "fore", parent="upper", joint="revolute", joint_name="elbow", axis=(0, 1, 0), xyz=(0.4, 0, 0), **rod
    )
    builder.add_geometry(Sphere(0.15), body="base", role="collision")
    builder.add_geometry(Sphere(0.05), body="upper", xyz=(0.2, 0, 0), role="collision")
    builder.add_geometry(Sphere(0.1), body="fore", xyz=(0.4, 0, 0), role="collision")
    robot = builder.build()
    free, kept = (identify.excitation(robot, 8.0, starts=1, seed=8, clearance=c) for c in (None, 0.02))
    assert robot.distance(free.q).min() < 0.0
    assert robot.distance(kept.resampled(5000.0).q).min() >= 0.02
    assert any("distance of" in note for note in kept.log)
    with pytest.raises(DalembertError, match="no collision shapes"):
        identify.excitation(load("2r"), clearance=0.02)


def test_saved_motion_reads_back(tmp_path):
    robot = load("2r")
    motion = identify.excitation(robot, duration=6.0, starts=1, rate=50.0, velocity=3.0)
    motion.save(tmp_path / "motion.csv")
    back = read_trajectory(tmp_path / "motion.csv", robot)
    np.testing.assert_allclose(back.q, motion.q, atol=COMPUTED)
    np.testing.assert_allclose(back.a, motion.a, atol=COMPUTED)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"duration": 3.0}, "two ramps"),
        ({"harmonics": 0}, "harmonics"),
        ({"kind": "random"}, "kind"),
        ({"kind": "points", "moves": 1}, "moves"),
        ({"margin": 1.5}, "margin"),
        ({"lower": 1.0, "upper": 0.5}, "leave nothing to move"),
        ({"velocity": 0.0}, "velocity limit of 0 leaves nothing to move"),
        ({"acceleration": 0.0}, "acceleration limit of 0 leaves nothing to move"),
        ({"allowed": lambda q: -np.ones(len(q))}, "not allowed"),
    ],
)
def test_bad_input(options, text):
    with pytest.raises(DalembertError, match=text):
        identify.excitation(load("2r"), starts=1, **options)


def weak(share: float):
    """The UR5, whose motors give so much of what gravity asks for at most."""
    arm = load("ur5").without("friction", "damping")
    most = np.abs(arm.gravity(arm.random(np.random.default_rng(0), 2000))).max(axis=0)
    edit = arm.edit()
    for joint, load_ in zip(arm.joints, most, strict=True):
        edit = edit.set_joint(joint.name, effort_limit=share * load_ + 0.1)
    return edit.done()


def test_weak_motors_move_where_they_can_hold_the_robot():
    robot = weak(0.5)
    motion = identify.excitation(robot, starts=1, rate=100.0)
    tau = robot.inverse_dynamics(motion.q, motion.v, motion.a)
    assert np.all(np.abs(tau).max(axis=0) <= 0.95 * robot.limits.effort + ITERATED)
    assert motion.condition < 1000.0 and "because of the torque" in motion.log[0]


def test_a_joint_that_gravity_overloads_everywhere_is_named_before_the_search(monkeypatch):
    monkeypatch.setattr(sys.modules["dalembert.identify.excitation"], "best_motion", None)
    with pytest.raises(DalembertError, match="gravity and friction load joint 'shoulder_lift_joint'"):
        identify.excitation(load("ur5").edit().set_joint("shoulder_lift_joint", effort_limit=1e-3).done())


def test_a_joint_without_a_motor_is_refused():
    with pytest.raises(DalembertError, match="joint 'hinge' has an effort limit of 0"):
        identify.excitation(load("cartpole"))


def test_free_bases_are_refused_with_a_cure():
    with pytest.raises(DalembertError, match="base='fixed'"):
        identify.excitation(load("quadruped"))


def test_each_criterion_is_best_at_what_it_measures():
    robot = load("puma560")
    base, limits = base_of(columns(robot, (), False)), joint_limits(robot, 0.05, 4.0, None, None, None)
    problems = [Information(base, limits, Fourier(5, 8.0), criterion) for criterion in ("condition", "D", "A")]
    motions = [best_motion(problem, 2, np.random.default_rng(4)) for problem in problems]
    for k, problem in enumerate(problems):
        measures = [problem.measure(motion) for motion in motions]
        assert measures[k] < NEARLY * min(measures)
    with pytest.raises(DalembertError, match="criterion"):
        identify.excitation(robot, criterion="E")
