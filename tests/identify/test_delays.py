"""Torques that are later than the motion."""

import numpy as np
import pytest

from dalembert import identify, load
from simulated import SimulatedLog, log_of, with_friction

DELAY = 1e-3  # of the delay of one joint, from samples 1 to 2 ms apart [s]
COMMON_DELAY = 2e-4  # of the delay of all joints together [s]


@pytest.fixture(scope="module")
def robot():
    return load("ur10e")


@pytest.fixture(scope="module")
def log(robot):
    return log_of(
        with_friction(robot), identify.excitation(robot, duration=10.0, rate=250.0, starts=1), noise=0.3, seed=2
    )


def late(log, seconds):
    """The log with the torques of joint k later by seconds[k]."""
    tau = [np.interp(log.t - s, log.t, column) for s, column in zip(seconds, log.tau.T, strict=True)]
    return SimulatedLog(log.t, log.q, log.v, log.a, np.column_stack(tau))


@pytest.mark.parametrize("seconds", [0.0, 0.009, -0.02])
def test_delay_of_each_joint(robot, log, seconds):
    truth = seconds * (1.0 + np.arange(6) / 10.0)
    delays = identify.delays(robot, late(log, truth))
    np.testing.assert_array_less(np.abs(delays.each - truth), 5.0 * delays.each_deviation + 1e-4)
    assert delays.each_deviation.max() < DELAY
    assert delays.notable == (seconds != 0.0)


def test_aligned_log_fits_as_well_as_one_without_delay(robot, log):
    shifted = late(log, np.full(6, 0.02))
    aligned = identify.delays(robot, shifted).aligned(shifted)
    fits = [(identify.fit(robot, each, method="weighted"), each) for each in (log, shifted, aligned)]
    left = [fit.validate(each).total_percent for fit, each in fits]
    assert left[1] > 2.0 * left[0]
    assert left[2] < 1.1 * left[0]
    assert len(aligned.t) < len(log.t)  # samples without a torque are dropped
    assert any("shifted back" in note for note in aligned.log)


def test_missing_torques_are_left_out(robot, log):
    shifted = late(log, np.full(6, 0.01))
    shifted.tau[100:140, 2] = np.nan
    delays = identify.delays(robot, shifted)
    np.testing.assert_allclose(delays.each, 0.01, atol=DELAY)
    assert delays.common == pytest.approx(0.01, abs=COMMON_DELAY)
    assert abs(delays.common - 0.01) < 4.0 * delays.deviation
