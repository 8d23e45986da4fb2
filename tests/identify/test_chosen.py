"""Fits of chosen parameters by simulation: truth within intervals, bounds, unseen ones, controls, mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, identify
from dalembert.identify.live_names import Chosen
from tolerances import COMPUTED, ROUGH_SLOPE, assert_close

NOISE = 2e-3  # rad, of the encoders
SEEDS = 40
LIKE = 0.15  # relative error of a deviation of 375 samples
COVERED = 0.85  # of 120 intervals of 95 %, of which three share a seed: three standard deviations of their count
NAMES = ("elbow.armature", "elbow.damping", "tool.mass")
TRUTH = {"elbow.armature": 0.12, "elbow.damping": 0.5, "tool.mass": 1.4}


def arm():
    builder = ModelBuilder("arm")
    inertia = np.diag([2e-3, 2e-3, 2e-3])
    builder.add_body("upper", parent="world", joint="revolute", joint_name="shoulder", axis=(0, 1, 0), mass=2.0,
                     com=(0.2, 0, 0), inertia=inertia, damping=0.8, armature=0.1)  # fmt: skip
    builder.add_body("lower", parent="upper", joint="revolute", joint_name="elbow", axis=(0, 1, 0), xyz=(0.4, 0, 0),
                     mass=1.0, com=(0.15, 0, 0), inertia=inertia, damping=0.2)  # fmt: skip
    builder.add_body("tool", parent="lower", joint="prismatic", joint_name="slide", axis=(1, 0, 0), xyz=(0.3, 0, 0),
                     mass=0.5, com=(0.02, 0.01, 0), inertia=inertia, damping=20.0, stiffness=2000.0)  # fmt: skip
    builder.add_actuator("a", "shoulder", gear=20.0)
    builder.add_actuator("b", "elbow", gear=8.0)
    return builder.build()


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.fixture(scope="module")
def clean(robot):
    """A motion of the true robot: times, controls, positions."""
    true = Chosen(robot, NAMES).robot_with(np.array([TRUTH[name] for name in NAMES]))
    t = np.arange(0.0, 1.5, 4e-3)
    controls = 0.8 * np.sin(np.outer(t, [5.0, 7.0]) + np.array([0.0, 1.0]))
    run = true.rollout([0.3, -0.5, 0.0], np.zeros(3), None, 4e-3, len(t) - 1, controls=controls[:-1], every=1)
    return {"t": t, "controls": controls, "q": np.vstack([[0.3, -0.5, 0.0], run.q])}


def noisy(clean, seed):
    return clean | {"q": clean["q"] + NOISE * np.random.default_rng(seed).normal(size=clean["q"].shape)}


def test_without_noise_the_truth_is_found(robot, clean) -> None:
    fit = identify.fit(robot, clean, parameters=NAMES)
    assert fit.converged
    assert_close(fit.x, list(TRUTH.values()), ROUGH_SLOPE)
    assert fit["tool.mass"] == fit.x[2]
    assert fit.robot.joint("elbow").armature[0] == fit["elbow.armature"]
    assert_close(fit.q[0], clean["q"], ROUGH_SLOPE)


def test_intervals_hold_the_truth_as_often_as_they_say(robot, clean) -> None:
    truth = np.array(list(TRUTH.values()))
    inside, widths = 0, []
    for seed in range(SEEDS):
        fit = identify.fit(robot, noisy(clean, seed), parameters=NAMES)
        inside += int(np.sum((fit.interval[:, 0] <= truth) & (truth <= fit.interval[:, 1])))
        widths.append(fit.x - truth)
        assert (np.abs(fit.sigma / NOISE - 1.0) < LIKE).all()
    assert inside >= COVERED * 3 * SEEDS
    assert inside < 3 * SEEDS  # intervals that are too wide would say nothing
    assert np.abs(np.mean(widths, axis=0) / np.std(widths, axis=0)).max() < 3.5 / np.sqrt(SEEDS)


def test_pieces_and_several_logs_agree(robot, clean) -> None:
    logs = [noisy(clean, seed) for seed in (1, 2)]
    whole = identify.fit(robot, logs, parameters=NAMES)
    cut = identify.fit(robot, logs, parameters=NAMES, piece=0.5)
    truth = np.array(list(TRUTH.values()))
    for fit in (whole, cut):
        half = fit.interval[:, 1] - fit.x
        assert (np.abs(fit.x - truth) < 2.0 * half).all()
    assert (np.diff(cut.interval).ravel() > np.diff(whole.interval).ravel()).all()  # starts of their own cost knowledge


def test_torques_in_the_place_of_controls(robot, clean) -> None:
    tau = np.column_stack([20.0 * clean["controls"][:, 0], 8.0 * clean["controls"][:, 1], np.zeros(len(clean["t"]))])
    log = {"t": clean["t"], "q": clean["q"], "tau": tau}
    fit = identify.fit(robot, log, parameters=NAMES)
    assert_close(fit.x, list(TRUTH.values()), ROUGH_SLOPE)


def test_what_the_log_does_not_show_has_no_interval(robot, clean) -> None:
    """A centre of mass along the axes of both turning joints moves nothing."""
    fit = identify.fit(robot, noisy(clean, 0), parameters=["elbow.damping", "tool.com.z", "tool.com.y"])
    assert "tool.com.y" in fit.unseen
    assert "elbow.damping" not in fit.unseen


def test_bounds_hold(robot, clean) -> None:
    fit = identify.fit(robot, clean, parameters=NAMES, bounds={"elbow.armature": (0.0, 0.05)}, start={"tool.mass": 1.0})
    assert fit["elbow.armature"] == pytest.approx(0.05, abs=COMPUTED)
    assert any("at its bound" in line for line in fit.log)
    assert "elbow.armature" in str(fit)


def test_the_inertia_of_a_moved_centre_of_mass(robot) -> None:
    """As the editor's: the same inertia about the centre of mass, elsewhere."""
    body = robot.model.body("lower")
    moved = Chosen(robot, ["lower.com.x", "lower.com.z"]).robot_with(np.array([0.25, -0.1])).model.body("lower")
    m, c = body.inertia.mass, np.array([0.25, 0.0, -0.1])
    expected = np.diag([2e-3] * 3) + m * ((c @ c) * np.eye(3) - np.outer(c, c))
    xx, yy, zz, xy, xz, yz = moved.inertia.parameters()[4:]
    assert_close([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], expected, COMPUTED)
    assert_close(moved.inertia.parameters()[1:4], m * c, COMPUTED)
    heavy = Chosen(robot, ["lower.mass"]).robot_with(np.array([3.0])).model.body("lower")
    assert_close(heavy.inertia.parameters(), 3.0 * body.inertia.parameters(), COMPUTED)


def test_mistakes_are_named(robot, clean) -> None:
    good = {"parameters": ["elbow.armature"]}
    mistakes = [
        (clean, {"parameters": ["elbow.armatur"]}, "did you mean 'elbow.armature'"),
        (clean, {"parameters": []}, "expected names"),
        (clean, {"parameters": "elbow.armature"}, "expected names"),
        (clean, {"parameters": ["elbow.armature"] * 2}, "twice"),
        (clean, {**good, "bounds": {"nose": (0, 1)}}, "unknown parameter 'nose'"),
        (clean, {**good, "bounds": {"elbow.armature": (1, 0)}}, "low < high"),
        (clean, {**good, "start": {"elbow.armature": -1.0}}, "outside its bounds"),
        (clean, {**good, "friction": ()}, "does not go with chosen parameters"),
        (clean, {**good, "substeps": 0}, "whole number"),
        ({"t": clean["t"], "q": clean["q"]}, good, "controls or tau"),
        (clean | {"q": clean["q"][:, :2]}, good, "shapes"),
        (clean | {"q": np.full_like(clean["q"], np.nan)}, good, "gaps"),
        (clean | {"t": clean["t"] ** 2}, good, "evenly spaced"),
        ([], good, "got none"),
    ]
    for log, options, words in mistakes:
        with pytest.raises(DalembertError, match=words):
            identify.fit(robot, log, **options)
    with pytest.raises(DalembertError, match="are of chosen parameters"):
        identify.fit(robot, clean, bounds={"elbow.armature": (0, 1)})
