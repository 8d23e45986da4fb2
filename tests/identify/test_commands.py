"""`dalembert excite` and `dalembert identify`, from a motion to a robot file and a page."""

import json

import numpy as np
import pytest

from dalembert import identify, load, write_trajectory
from dalembert.cli import main
from simulated import log_of, with_friction

FITTED = 0.1  # of friction from one short log with noise
DELAY = 1e-3  # of a delay from a log with that period [s]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    robot, folder = load("2r"), tmp_path_factory.mktemp("logs")
    for number in (1, 2):
        motion = identify.excitation(robot, duration=8.0, rate=100.0, starts=1, velocity=4.0, seed=number)
        log = log_of(with_friction(robot, 0.3, 0.1), motion, noise=0.02, seed=number)
        write_trajectory(folder / f"log{number}.csv", robot, log)
    return folder


def test_excite_writes_a_motion(tmp_path, capsys):
    assert main(["excite", "2r", "--out", str(tmp_path / "motion.csv"), "--duration", "7", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["condition"] < 20.0
    assert (tmp_path / "motion.csv").stat().st_size > 1000


def test_identify_from_log_to_robot_and_page(files, capsys):
    arguments = ["identify", "2r", str(files / "log1.csv"), "--validate", str(files / "log2.csv")]
    arguments += ["--out", str(files / "arm.urdf"), "--report", str(files / "page.html")]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "held-out log" in text
    assert "passed" in text
    assert "audit of the result: " in text and "checked, none failed" in text
    assert "Parameters identified by method 'physical' from" in (files / "arm.urdf").read_text("utf-8")
    assert load(files / "arm.urdf").joint("shoulder").friction[0] == pytest.approx(0.3, rel=FITTED)
    page = (files / "page.html").read_text("utf-8")
    assert "What the data cannot tell" in page
    assert "<svg" in page


def test_a_bad_fit_is_exit_code_1_and_a_bad_log_is_2(files, capsys):
    arguments = ["identify", "2r", str(files / "log1.csv"), "--friction", "none", "--json"]
    assert main(arguments) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["ok"] is False and content["status"] in ("in doubt", "failed")
    assert {joint["status"] for joint in content["joints"].values()} <= {"passed", "in doubt", "failed"}
    assert content["held_out"] is False
    assert main(["identify", "ur5", str(files / "log1.csv")]) == 2


def test_one_rule_in_every_command(files, capsys):
    """A wrist in another unit is a small part of all torques: its joint decides, in every command."""
    robot = load("2r")
    log = identify.read_log(files / "log1.csv", robot)
    rows = {"t": log.t} | {f"q.{n}": log.q[:, k] for k, n in enumerate(robot.model.freedom_names)}
    for name, factors in (("sound", (1.0, 1.0)), ("faulty", (1.0, 3.0))):
        tau = log.tau * factors
        np.savez(files / f"{name}.npz", **rows, **{f"tau.{n}": tau[:, k] for k, n in enumerate(("shoulder", "elbow"))})
    identified = files / "arm.urdf"
    sound, faulty = str(files / "sound.npz"), str(files / "faulty.npz")
    assert main(["identify", "2r", sound, "--out", str(identified)]) == 0
    for arguments, code in (
        (["identify", "2r", faulty], 1),
        (["identify", "2r", sound, "--validate", faulty], 1),
        (["audit", str(identified), "--rule", "log-torque", "--motion", sound], 0),
        (["audit", str(identified), "--rule", "log-torque", "--motion", faulty], 1),
        (["diagnose", "--robot", str(identified), "--motion", sound], 0),
        (["diagnose", "--robot", str(identified), "--motion", faulty], 1),
        (["torques", str(identified), sound], 0),
        (["torques", str(identified), faulty], 1),
        (["report", str(identified), "--trajectory", faulty, "--no-scene", "--out", str(files / "page.html")], 1),
    ):
        assert main(arguments) == code, arguments
    assert "elbow" in capsys.readouterr().out


def test_the_verdict_is_that_of_the_file_written(tmp_path, capsys):
    """Torques with an offset that no file can hold: the fit explains them, the file does not, and says so."""
    robot = load("2r")
    motion = identify.excitation(robot, duration=8.0, rate=100.0, starts=1, velocity=4.0)
    log = log_of(with_friction(robot, 0.3, 0.1), motion, noise=0.02)
    log.tau += np.array([0.0, 1.5])
    write_trajectory(tmp_path / "log.csv", robot, log)
    out = tmp_path / "arm.urdf"
    assert main(["identify", "2r", str(tmp_path / "log.csv"), "--out", str(out), "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["joints"]["elbow"]["status"] != "passed" and content["joints"]["shoulder"]["status"] == "passed"
    assert content["calibrated_percent"] < 1.0
    left = log.tau - load(out).inverse_dynamics(log.q, log.v, log.a)
    share = 100.0 * np.linalg.norm(left) / np.linalg.norm(log.tau)
    assert content["total_percent"] == pytest.approx(share, rel=FITTED)
    comment = out.read_text("utf-8")
    assert f"leaves {share:.2f} % of the torques" in comment and "Offsets of the measured torques" in comment


def test_torques_that_lag_are_noted_and_shifted_back(tmp_path, capsys):
    robot = load("2r")
    motion = identify.excitation(robot, duration=8.0, rate=200.0, starts=1, velocity=4.0)
    log = log_of(with_friction(robot, 0.3, 0.1), motion, noise=0.02)
    log.tau = np.column_stack([np.interp(log.t - 0.02, log.t, column) for column in log.tau.T])
    write_trajectory(tmp_path / "log.csv", robot, log)
    shares = []
    for options in ([], ["--align"]):
        main(["identify", "2r", str(tmp_path / "log.csv"), "--json", *options])
        content = json.loads(capsys.readouterr().out)
        shares.append(content["total_percent"])
        assert content["delay"] == pytest.approx(0.02, abs=DELAY)
        assert any("torques lag behind the motion" in note for note in content["log"]) == (not options)
    assert shares[1] < 0.5 * shares[0]
