"""Loads and friction from simulated logs of robots that have them."""

from dataclasses import replace

import numpy as np
import pytest

from dalembert import DalembertError, identify, load
from faulty_logs import motion_of
from simulated import SimulatedLog, log_of, with_friction

MASS = 0.02  # of a payload found from torques with noise
COM = 8e-3  # of its centre of mass [m]: three deviations of 0.5 kg beside 0.3 N·m of noise in either log
COULOMB = 0.02  # of friction found from a sweep of speeds with noise
NEAR_REST = 0.03  # of what only the slowest, or the fastest, speeds show
EXACT_CURVE = 0.01  # of friction from torques without noise: the Stribeck speed is searched on a grid
STRIBECK = 0.15  # of the speed at which static friction has gone


@pytest.fixture(scope="module")
def robot():
    return load("ur10e")


@pytest.fixture(scope="module")
def motion(robot):
    return identify.excitation(robot, duration=14.0, rate=100.0, starts=1)


@pytest.mark.parametrize("mass", [0.5, 5.0])
def test_payload(robot, motion, mass):
    """Mass within 2 %, centre of mass within 8 mm, beside a torque noise of 0.3 N·m."""
    truth = with_friction(robot)
    com = (0.02, -0.03, 0.06)
    loaded = truth.edit().payload(mass, frame="tool0", com=com).done()
    empty = log_of(truth, motion, noise=0.3)
    load_log = log_of(loaded, motion, noise=0.3, seed=7)
    payload = identify.payload(robot, empty, load_log, frame="tool0")
    assert payload.mass == pytest.approx(mass, rel=MASS)
    np.testing.assert_allclose(payload.com, com, atol=COM)
    assert abs(payload.mass - mass) < 4.0 * payload.deviation[0]
    assert np.all(np.abs(payload.com - com) < 4.0 * payload.deviation[1:4] / mass)
    tau = payload.robot.inverse_dynamics(motion.q, motion.v, motion.a)
    assert np.abs(tau - loaded.inverse_dynamics(motion.q, motion.v, motion.a)).max() < 2.0


def test_payload_frame_is_the_tool_unless_given(robot, motion):
    payload = identify.payload(
        robot, log_of(robot, motion), log_of(robot.edit().payload(2.0, frame="tool0").done(), motion)
    )
    assert payload.frame == "tool0"
    assert payload.mass == pytest.approx(2.0, rel=MASS)


def test_logs_in_the_wrong_order_are_named(robot, motion):
    loaded = robot.edit().payload(2.0, frame="tool0").done()
    empty, full = log_of(robot, motion, noise=0.3), log_of(loaded, motion, noise=0.3, seed=7)
    with pytest.raises(DalembertError, match="2 kg less than the one without; are the two exchanged"):
        identify.payload(robot, full, empty)
    assert identify.payload(robot, empty, log_of(robot, motion, noise=0.3, seed=7)).mass < 0.05  # noise, and no load


def test_payload_moments_that_do_not_show_are_infinitely_uncertain(robot, motion):
    """Poses at rest show the mass and where its centre is, and nothing of how it is spread."""
    rng = np.random.default_rng(3)
    q, still = robot.random(rng, 200), np.zeros((200, robot.nv))
    loaded = robot.edit().payload(2.0, frame="tool0").done()
    rest = SimulatedLog(np.arange(200.0), q, still, still, loaded.inverse_dynamics(q, still, still))
    payload = identify.payload(robot, log_of(robot, motion), rest, frame="tool0")
    assert np.all(np.isfinite(payload.deviation[:4]))
    assert np.all(np.isinf(payload.deviation[4:]))


def sweeps(robot, joint, law, offset=0.3):
    """Each way at twelve speeds, torques with a friction law."""
    speeds = np.geomspace(0.005, 2.0, 12)
    step = 0.01
    rows = np.concatenate([np.full(60, s * side) for s in speeds for side in (1.0, -1.0)])
    q = np.zeros((len(rows), robot.nq))
    v, a = np.zeros((len(rows), robot.nv)), np.zeros((len(rows), robot.nv))
    v[:, joint] = rows
    q[:, joint] = np.cumsum(rows) * step
    tau = robot.without("friction", "damping").inverse_dynamics(q, v, a)
    tau[:, joint] += law(rows) + offset
    return SimulatedLog(np.arange(len(rows)) * step, q, v, a, tau)


def test_friction_sweep_finds_the_curve():
    robot = load("ur5")

    def law(v):
        return np.sign(v) * (1.5 + 0.8 * np.exp(-((v / 0.05) ** 2))) + 0.6 * v

    sweep = identify.friction_sweep(robot, sweeps(robot, 1, law))
    (joint,) = sweep.joints
    assert joint.joint == "shoulder_lift_joint"
    assert joint.coulomb == pytest.approx(1.5, rel=COULOMB)
    assert joint.static == pytest.approx(2.3, rel=NEAR_REST)
    assert joint.viscous == pytest.approx(0.6, rel=NEAR_REST)
    assert joint.offset == pytest.approx(0.3, abs=COULOMB)
    assert joint.stribeck_speed == pytest.approx(0.05, rel=STRIBECK)
    found = sweep.robot.joint("shoulder_lift_joint")
    assert found.friction[0] == pytest.approx(1.5, rel=COULOMB)
    assert found.stribeck[0] == pytest.approx(0.8, rel=NEAR_REST)
    assert len(sweep.skipped) == 5
    assert "left out" in sweep.table()


def test_friction_sweep_in_one_direction_is_refused():
    robot = load("2r")
    log = sweeps(robot, 0, lambda v: np.sign(v))
    one = log.v[:, 0] > 0.0
    half = SimulatedLog(log.t[one], log.q[one], log.v[one], log.a[one], log.tau[one])
    with pytest.raises(DalembertError, match="one direction"):
        identify.friction_sweep(robot, half)


def test_fast_sweeps_are_not_lumped_together():
    """Sweeps over the same range: fast ones have few samples. Their speeds stay apart, and the curve is exact."""
    robot = load("2r")

    def law(v):
        return np.sign(v) * (1.2 + 0.5 * np.exp(-((v / 0.05) ** 2))) + 0.4 * v

    paces = np.array([s * x for x in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0) for s in (1.0, -1.0)])
    v = np.concatenate([np.full(int(10.0 / abs(pace)), pace) for pace in paces])
    rows = np.zeros((len(v), 2))
    log = SimulatedLog(np.arange(len(v)) * 0.01, rows, rows.copy(), rows, np.zeros_like(rows))
    log.v[:, 0] = v
    log.tau = robot.without("friction", "damping").inverse_dynamics(log.q, log.v, log.a)
    log.tau[:, 0] += law(v)
    (joint,) = identify.friction_sweep(robot, log).joints
    np.testing.assert_allclose(joint.speeds, [*paces[1::2], *paces[::2]])
    found = (joint.coulomb, joint.static, joint.viscous, joint.stribeck_speed)
    np.testing.assert_allclose(found, (1.2, 1.7, 0.4, 0.05), rtol=EXACT_CURVE)
    log.tau = -log.tau
    with pytest.raises(DalembertError, match=r"pushes with the motion.*turn its sign round"):
        identify.friction_sweep(robot.edit().gravity((0.0, 0.0, 0.0)).done(), log)


GAINS = np.array([12.0, 12.0, 12.0, 10.7, 10.7, 10.7])
KNOWN = 0.02  # of gains from two logs with noise
CENTRE = (0.02, 0.1, 0.05)


def currents(seeds, loads, motion=motion_of, noise=0.1):
    """Logs of currents of a UR10e, without and with loads."""
    robot = load("ur10e")
    logs = []
    for seed, mass in zip(seeds, loads, strict=True):
        arm = with_friction(robot)
        arm = arm.edit().payload(mass, frame="tool0", com=CENTRE).done() if mass else arm
        t, q, v, a = motion(robot, seed)
        tau = arm.inverse_dynamics(q, v, a) + noise * np.random.default_rng(seed).normal(size=q.shape)
        logs.append(SimulatedLog(t, q, v, a, tau / GAINS))
    return robot, logs


def test_gains_do_not_take_a_centre_of_mass_that_was_not_given_as_zero():
    robot, logs = currents((1, 2), (0.0, 4.0))
    found = identify.drive_gains(robot, *logs, mass=4.0, frame="tool0")
    assert found.seen.all()
    np.testing.assert_allclose(found.gains, GAINS, rtol=KNOWN)
    assert np.all(np.abs(found.gains - GAINS) < 4.0 * found.deviation)
    np.testing.assert_allclose(found.com, CENTRE, atol=COM)


def test_gains_that_gravity_cannot_see_are_not_known():
    """At rest in many poses: the vertical pan joint carries nothing, with the load or without."""

    def poses(robot, seed):
        q = robot.random(np.random.default_rng(seed), 400)
        return np.arange(400.0), q, np.zeros_like(q), np.zeros_like(q)

    robot, logs = currents((1, 2), (0.0, 4.0), poses)
    found = identify.drive_gains(robot, *logs, mass=4.0, frame="tool0")
    assert not found.seen[0] and np.isnan(found.gains[0]) and np.isinf(found.deviation[0])
    assert "shoulder_pan_joint   not known" in found.table()
    assert found.seen[1] and found.gains[1] == pytest.approx(GAINS[1], rel=KNOWN)


def test_the_deviation_of_a_payload_includes_that_of_the_gains():
    robot, logs = currents((1, 2, 3), (0.0, 4.0, 2.5))
    gains = identify.drive_gains(robot, *logs[:2], mass=4.0, frame="tool0")
    rough = replace(gains, gains=1.05 * gains.gains, deviation=0.05 * gains.gains)  # calibrated to 5 %
    sure = identify.payload(robot, logs[0], logs[2], frame="tool0", gains=gains)
    unsure = identify.payload(robot, logs[0], logs[2], frame="tool0", gains=rough)
    assert abs(sure.mass - 2.5) < 4.0 * sure.deviation[0]
    assert sure.deviation[0] < abs(unsure.mass - 2.5) < 4.0 * unsure.deviation[0]
