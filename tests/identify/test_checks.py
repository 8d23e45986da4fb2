"""Logs that make no sense are refused, and the reason names the joint."""

import numpy as np
import pytest

from dalembert import DalembertError, identify, load
from simulated import SimulatedLog, log_of, with_friction


@pytest.fixture(scope="module")
def robot():
    return load("ur5")


@pytest.fixture(scope="module")
def log(robot):
    motion = identify.excitation(robot, duration=12.0, rate=100.0, starts=1)
    return log_of(with_friction(robot), motion)


def damaged(log, **fields):
    return SimulatedLog(**{**vars(log), **fields})


def refused(robot, log):
    with pytest.raises(identify.LogError) as error:
        identify.fit(robot, log)
    return str(error.value)


def test_healthy_log_raises_no_doubt(robot, log):
    assert identify.fit(robot, log).doubts == ()


@pytest.mark.parametrize("factor", [1e-3, 1e3, 0.01])
def test_unit_of_the_torque(robot, log, factor):
    assert "times the model's" in refused(robot, damaged(log, tau=factor * log.tau))


def test_sign_of_one_torque(robot, log):
    tau = log.tau.copy()
    tau[:, 1] *= -1.0
    assert "'shoulder_lift_joint': its torque has the opposite sign" in refused(robot, damaged(log, tau=tau))


def test_swapped_channels(robot, log):
    tau = log.tau[:, [0, 2, 1, 3, 4, 5]]
    text = refused(robot, damaged(log, tau=tau))
    assert "swapped" in text
    assert "'shoulder_lift_joint'" in text
    assert "'elbow_joint'" in text


def test_saturated_torque(robot, log):
    limit = 0.7 * log.tau[:, 1].max()
    tau = log.tau.copy()
    tau[:, 1] = np.minimum(tau[:, 1], limit)
    assert "saturated" in refused(robot, damaged(log, tau=tau))


def test_constant_velocity_only(robot, log):
    t = np.linspace(0.0, 1.0, 500)
    v = np.tile(np.full(6, 0.5), (500, 1))
    q, a = v * t[:, None], np.zeros_like(v)
    steady = SimulatedLog(t, q, v, a, robot.inverse_dynamics(q, v, a))
    assert "constant velocity" in refused(robot, steady)


def test_log_of_another_robot(robot, log):
    rng = np.random.default_rng(0)
    text = refused(robot, damaged(log, tau=rng.permutation(log.tau) @ rng.normal(size=(6, 6))))
    assert "little to do with the model" in text or "swapped" in text or "opposite sign" in text
    with pytest.raises(DalembertError, match=r"shape \(.*7\), expected \(T, 6\)"):
        identify.fit(robot, damaged(log, q=np.zeros((len(log.t), 7))))


def test_velocity_in_degrees(robot, log):
    assert "times the rate of its position" in refused(robot, damaged(log, v=np.degrees(log.v)))


def test_numbers_that_are_missing(robot, log):
    q = log.q.copy()
    q[5, 2] = np.nan
    assert "no number in row 5" in refused(robot, damaged(log, q=q))


def test_missing_torques_are_left_out(robot, log):
    tau = log.tau.copy()
    tau[::3, 2] = np.nan
    fit = identify.fit(robot, damaged(log, tau=tau))
    assert fit.data.rows[2] < fit.data.rows[1]
    assert fit.validate(log).total_percent < 1.0
    assert [str(doubt) for doubt in fit.doubts] == [
        "joint 'elbow_joint': its torque is NaN in 33 % of the samples; they are left out"
    ]


@pytest.mark.filterwarnings("error:overflow", "error:invalid value")
def test_torques_that_are_no_numbers_are_told_and_none_at_all_are_refused(robot, log):
    tau = log.tau.copy()
    tau[:, 2] = np.nan
    (doubt,) = identify.fit(robot, damaged(log, tau=tau)).doubts
    assert "'elbow_joint': its torque is NaN throughout" in str(doubt)
    assert "all torques are NaN" in refused(robot, damaged(log, tau=np.full_like(tau, np.nan)))
    tau[7, 4] = np.inf
    assert "'wrist_2_joint': its torque is infinite in row 7" in refused(robot, damaged(log, tau=tau))


def test_log_without_torques(robot, log):
    with pytest.raises(DalembertError, match="no torques"):
        identify.fit(robot, damaged(log, tau=None))


def test_positions_that_jump_are_named(robot, log):
    q = log.q.copy()
    q[600:, 2] += 0.5
    assert "'elbow_joint': its position jumps between rows 600 and 601" in refused(robot, damaged(log, q=q))


def test_a_short_log_finds_no_absurd_offset(robot, log):
    few = SimulatedLog(*(getattr(log, kind)[:30] for kind in ("t", "q", "v", "a", "tau")))
    fit = identify.fit(robot, few, check=False)
    assert np.abs(fit.offsets).max() < 10.0 * np.abs(few.tau).max()


def test_excitation_takes_settings_once():
    robot = load("2r")
    given = identify.ExcitationSettings(margin=0.3, rate=50.0, starts=1, velocity=2.0)
    named = identify.excitation(robot, duration=6.0, margin=0.3, rate=100.0, starts=1, velocity=2.0)
    once = identify.excitation(robot, duration=6.0, settings=given, rate=100.0)
    assert np.array_equal(once.q, named.q) and len(once.t) == 601
    with pytest.raises(DalembertError, match=r"expected dalembert\.identify\.ExcitationSettings"):
        identify.excitation(robot, settings={"rate": 50.0})
