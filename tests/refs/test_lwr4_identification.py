"""A real robot: KUKA LWR4 logs (every eighth sample), one to fit, one to judge.

Published: 2.15 % left over on the first, 2.81 % on the second, with viscous and Coulomb friction and offsets.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dalembert import identify, load

DELAY = 0.01  # the log has none [s]

DATA = Path(__file__).with_name("data")


@dataclass
class RecordedLog:
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


@pytest.fixture(scope="module")
def robot():
    return load(DATA / "lwr4.urdf")


def recorded(number):
    with np.load(DATA / f"lwr4_log_{number}.npz") as file:
        names = ("times", "positions", "velocities", "accelerations", "torques")
        return RecordedLog(*(np.asarray(file[name], float) for name in names))


def test_friction_is_not_taken_for_a_delay(robot):
    """Slow motions, friction of another law than the model's: it looks like delays of tens of milliseconds."""
    delays = identify.delays(robot, recorded(1))
    assert np.abs(delays.each).max() > 0.02
    assert abs(delays.common) < DELAY


def test_base_parameters(robot):
    assert identify.base_parameters(robot).rank == 43


@pytest.mark.parametrize(
    ("method", "fitted", "other"), [("least-squares", 2.2, 2.4), ("weighted", 2.25, 2.45), ("physical", 2.27, 2.45)]
)
def test_left_over(robot, method, fitted, other):
    """With the offsets of the torque sensors taken off, as published; the file itself, without them, leaves more.

    Least squares finds friction below zero, which no file can hold: with it, it would leave over 2.0 %.
    """
    log, held_out = recorded(1), recorded(2)
    fit = identify.fit(robot, log, method=method)
    assert fit.validate(log).calibrated_percent < fitted
    validation = fit.validate(held_out)
    assert validation.calibrated_percent < other
    assert other < validation.total_percent < 8.0
    assert validation.factory_total > 9.0


def test_joints_that_the_model_does_not_explain_are_named(robot):
    """The two strong joints pass; 94 % of the torque of the last one is left over, and it does not."""
    fit = identify.fit(robot, recorded(1))
    verdict = fit.validate(recorded(2))
    assert not verdict.ok and verdict.status == "in doubt"
    assert [v.joint for v in verdict.verdicts if v.status == "passed"] == ["lwr_1_joint", "lwr_3_joint"]
    assert "joint 'lwr_6_joint': in doubt: 94" in verdict.table()


@pytest.mark.parametrize("swapped", ["fitted", "judged"])
def test_swapped_torques_of_a_real_log_do_not_pass(robot, swapped):
    """4.97 % of all torques are left over where those of joints 4 and 6 are swapped in the fitted log."""
    logs = {"fitted": recorded(1), "judged": recorded(2)}
    logs[swapped].tau[:, [4, 6]] = logs[swapped].tau[:, [6, 4]]
    fit = identify.fit(robot, logs["fitted"], check=False)
    verdict = fit.validate(logs["judged"])
    statuses = {v.joint: v.status for v in verdict.verdicts}
    assert "failed" in (statuses["lwr_4_joint"], statuses["lwr_6_joint"]) and not verdict.ok
    assert "passed" not in (statuses["lwr_4_joint"], statuses["lwr_6_joint"])


def test_physical_fit_is_a_possible_robot_where_least_squares_is_not(robot):
    log, rng = recorded(1), np.random.default_rng(0)
    possible = identify.fit(robot, log)
    assert np.linalg.eigvalsh(possible.robot.mass_matrix(robot.random(rng, n=10_000))).min() > 0.0
    masses, stated = (np.array([b.mass for b in r.bodies[1:]]) for r in (possible.robot, robot))
    assert np.all((masses / stated > 1.0 / 3.0) & (masses / stated < 3.0))
    plain = identify.fit(robot, log, method="weighted").robot
    assert np.linalg.eigvalsh(plain.mass_matrix(robot.random(rng, n=2000))).min(axis=1).max() < 0.0
