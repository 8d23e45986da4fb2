"""Logs as robots give them: noise of every colour, motor side, couplings, files without names, parts of a log."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert import DalembertError, identify, load
from dalembert.cli import main
from dalembert.identify.read import best_trajectory
from dalembert.logs import Log, trajectory
from faulty_logs import motion_of, truth_of
from tolerances import PRINTED

NOISE = 3e-4  # rad, filtered before it was logged
COUPLING = np.array([[100.0, 0.0], [40.0, -80.0]])
COMMANDS = ("audit", "diagnose", "identify", "report", "size", "torques", "view")


def noisy(rate: float, hold: int = 1, seed: int = 0) -> tuple[Log, np.ndarray]:
    """A log of a UR5 whose positions have filtered noise, or are held for some rows, and the true accelerations."""
    robot, rng = load("ur5"), np.random.default_rng(seed)
    t, q, v, a = motion_of(robot, seed, rate=rate, duration=8.0)
    tau = truth_of(robot).inverse_dynamics(q, v, a)
    tau += 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    width = max(2, int(rate / 100.0))
    error = np.apply_along_axis(np.convolve, 0, NOISE * rng.normal(size=q.shape), np.ones(width) / width**0.5, "same")
    measured = np.repeat(q[::hold], hold, axis=0)[: len(q)] if hold > 1 else q + error
    return Log(robot, t, measured, tau=tau), a


@pytest.mark.parametrize(("rate", "hold"), [(100.0, 1), pytest.param(1000.0, 1, marks=pytest.mark.long), (5000.0, 5)])
def test_the_bandwidth_is_right_at_every_rate(rate, hold):
    """Noise that is not white cannot be told from motion by positions alone; the fit passes with the default."""
    log, a = noisy(rate, hold)
    motion = best_trajectory(log)
    inner = slice(len(a) // 20, -len(a) // 20)
    error = np.sqrt(np.mean((motion.a - a)[inner] ** 2, axis=0) / np.mean(a[inner] ** 2, axis=0))
    assert error.max() < 0.1
    assert any("Hz" in note for note in motion.log)
    fit = identify.fit(log.robot, motion)
    assert fit.doubts == () and fit.training.ok, fit.training.table()


def test_the_choice_says_what_was_chosen_and_why():
    log, _ = noisy(1000.0)
    (note,) = [note for note in best_trajectory(log).log if "was chosen of" in note]
    assert "predicts the torques of the other half best" in note and "where the positions alone leave" in note


def test_a_bandwidth_that_is_too_wide_is_not_called_a_wrong_unit():
    log, _ = noisy(1000.0)
    fit = identify.fit(log.robot, trajectory(log, bandwidth=250.0), check=False)
    assert not any("units" in doubt.cure for doubt in fit.doubts), fit.doubts


def test_noisy_accelerations_of_a_file_are_replaced():
    log, a = noisy(500.0)
    v = np.gradient(log.q, log.t, axis=0)
    differenced = Log(log.robot, log.t, log.q, v, np.gradient(v, log.t, axis=0), log.tau)
    motion = best_trajectory(differenced)
    assert np.std(motion.a - a) < 0.1 * np.std(differenced.a - a)
    assert any("where the file alone leaves" in note for note in motion.log)


@pytest.fixture
def motors(tmp_path):
    """A log of a 2R arm as its drives give it: angles of coupled motors, torques before the gears; no line of names."""
    robot = load("2r")
    t, q, v, a = motion_of(robot, 1, rate=200.0, duration=10.0)
    tau = robot.inverse_dynamics(q, v, a) + 0.1 * np.tanh(50.0 * v)
    rows = np.column_stack([t, q @ COUPLING.T + 3.0, np.linalg.solve(COUPLING.T, tau.T).T])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",")
    text = f"[motors]\ncoupling = {COUPLING.tolist()}\nzero = [3.0, 3.0]\n"
    (tmp_path / "sensors.toml").write_text(text)
    return robot, tmp_path, t, q, tau


def test_coupled_motors_in_a_file_without_names(motors):
    robot, folder, _, q, tau = motors
    columns = {"t": "c1", "q": "c2-c3", "tau": "c4-c5"}
    sensors = identify.MotorSide(COUPLING, zero=3.0)
    log = identify.read_log(folder / "log.csv", robot, columns=columns, sensors=sensors)
    np.testing.assert_allclose(log.q, q, atol=PRINTED)
    np.testing.assert_allclose(log.tau, tau, atol=PRINTED)
    assert any("couplings between joints" in note for note in log.log)
    assert any("no line of names" in note for note in log.log)
    with pytest.raises(DalembertError, match="--column t=c1"):
        identify.read_log(folder / "log.csv", robot)
    with pytest.raises(DalembertError, match="coupling is singular"):
        identify.read_log(folder / "log.csv", robot, columns=columns, sensors=identify.MotorSide(np.ones((2, 2))))


def test_a_part_of_a_log_is_read(motors):
    robot, folder, t, q, _ = motors
    columns, sensors = {"t": "c1", "q": "c2-c3", "tau": "c4-c5"}, identify.MotorSide(COUPLING, zero=3.0)
    log = identify.read_log(folder / "log.csv", robot, columns=columns, sensors=sensors, cut=(2.0, 5.0))
    np.testing.assert_allclose(log.q, q[(t >= 2.0) & (t <= 5.0)], atol=PRINTED)
    assert log.t[0] == 0.0 and any("cut to 2 … 5 s" in note for note in log.log)
    with pytest.raises(DalembertError, match="leaves 0 rows"):
        identify.read_log(folder / "log.csv", robot, columns=columns, sensors=sensors, cut=(50.0, 60.0))


def test_the_options_of_the_commands(motors, capsys):
    _, folder, *_ = motors
    options = [
        "--column",
        "t=c1",
        "--column",
        "q=c2-c3",
        "--column",
        "tau=c4-c5",
        "--sensors",
        str(folder / "sensors.toml"),
    ]
    options += ["--cut", "1:9", "--bandwidth", "20"]
    assert main(["identify", "2r", str(folder / "log.csv"), "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "passed"
    assert main(["diagnose", "--robot", "2r", "--motion", str(folder / "log.csv"), *options]) in (0, 1)
    assert main(["identify", "2r", str(folder / "log.csv"), *options[:-4], "--cut", "9"]) == 2
    assert "--cut 9: expected FROM:TO" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_a_log_takes_the_options(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    main([command, "--help"])
    text = capsys.readouterr().out
    assert all(option in text for option in ("--bandwidth", "--unit", "--column", "--topic", "--sensors", "--cut"))


def test_both_spellings_of_a_joint_are_refused(tmp_path):
    (tmp_path / "log.csv").write_text("t,shoulder,elbow,q.elbow\n0,0,0,1\n0.1,0,0,1\n0.2,0,0,1\n")
    with pytest.raises(DalembertError, match=r"'q\.elbow' and 'elbow' could both be"):
        identify.read_motion(tmp_path / "log.csv", load("2r"))


def test_torques_that_are_all_zero_are_refused():
    log, _ = noisy(100.0)
    motion = trajectory(log)
    with pytest.raises(identify.LogError, match=r"all torques \(tau\) are 0"):
        identify.fit(log.robot, trajectory(Log(log.robot, log.t, log.q, motion.v, motion.a, np.zeros_like(log.tau))))
