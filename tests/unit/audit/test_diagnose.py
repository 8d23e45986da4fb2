"""Symptoms in words, and logs whose residual names the term of the dynamics that is missing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dalembert import DalembertError, cli, load
from dalembert.audit import diagnose
from dalembert.audit.diagnose import matching, residual_terms
from dalembert.audit.symptoms import SYMPTOMS
from dalembert.logs import write_trajectory
from dalembert.sizing import efforts, standard_motion
from damaged import arm, slow_log

IN_OTHER_WORDS = {
    "torques are too small when I accelerate hard": 0,
    "feedforward is too low at slow speed": 1,
    "the simulation blows up": 2,
    "my quaternion is no longer normalised": 3,
    "the arm sinks while it holds still": 4,
    "the quadruped slips sideways": 5,
    "tracking gets worse at higher speed, the error grows": 6,
    "cartesian controller unstable at a singularity": 7,
    "QP says infeasible": 8,
    "joint goes through its stop": 9,
    "robot takes off from the ground": 10,
    "satellite attitude overshoots": 11,
    "inverse dynamics returns nan": 12,
    "identified mass is negative": 13,
    "zmp leaves the support polygon": 14,
}


@pytest.mark.parametrize("text", IN_OTHER_WORDS)
def test_symptoms_are_understood_in_other_words(text: str) -> None:
    assert SYMPTOMS[IN_OTHER_WORDS[text]] in matching(text)[:1]


def test_fifteen_symptoms_each_with_checks_and_cures() -> None:
    assert len(SYMPTOMS) == 15 and len(set(IN_OTHER_WORDS.values())) == 15
    assert all(cause.check and cause.fix for symptom in SYMPTOMS for cause in symptom.causes)


def test_a_symptom_alone_gives_the_usual_order() -> None:
    (diagnosis,) = diagnose("position drifts during a hold")
    assert [s.cause for s in diagnosis.suspects] == list(SYMPTOMS[4].causes)
    assert all(s.weight == 0.0 for s in diagnosis.suspects)


TERMS = {  # the real robot, whose log is explained by a model without it
    "friction": lambda: arm().edit().set_joint("upper_joint", friction=30.0, damping=9.0).done(),
    "rotor": lambda: arm().edit().set_joint("upper_joint", armature=20.0).done(),
    "gravity": lambda: arm().edit().set_inertia("upper", mass=25.0).done(),
}  # fmt: skip


@pytest.mark.parametrize("term", TERMS)
def test_the_residual_of_a_log_names_what_is_missing(term: str) -> None:
    log = slow_log(TERMS[term](), scale=1.5)
    missed, shares = residual_terms(arm(), log)
    assert missed > 0.05 and max(shares, key=shares.__getitem__) == term and shares[term] > 0.9
    named = diagnose(robot=arm(), motion=log)
    assert named[0].suspects[0].cause.term == term, str(named[0])


def test_a_wrong_sign_and_a_missing_coriolis_term() -> None:
    log = slow_log(arm(), scale=4.0)
    assert log.tau is not None
    assert residual_terms(arm(), replace(log, tau=-log.tau))[1]["sign"] > 0.99
    smooth = arm().without("friction", "damping")
    turning = smooth.bias(log.q, log.v) - smooth.gravity(log.q)
    _, shares = residual_terms(arm(), replace(log, tau=log.tau - turning))
    assert max(shares, key=shares.__getitem__) == "coriolis"


def test_a_log_that_the_model_explains_accuses_nobody() -> None:
    notes = diagnose("tracking error grows with speed", arm(), motion=slow_log(arm()))[0].notes
    assert any("agrees with the model" in note for note in notes)


def test_questions_that_cannot_be_answered() -> None:
    with pytest.raises(DalembertError, match="no symptom sounds like"):
        diagnose("purple")
    with pytest.raises(DalembertError, match="give a symptom in words"):
        diagnose()
    with pytest.raises(DalembertError, match="needs the robot"):
        diagnose("drifts", motion=slow_log(arm()))


def test_the_command(tmp_path, capsys) -> None:
    assert cli.main(["diagnose"]) == 0
    assert capsys.readouterr().out.count("\n") == 16
    assert cli.main(["diagnose", "arm sinks", "--robot", "2r", "--payload", "100"]) == 0
    assert "motors are too weak" in capsys.readouterr().out.split("2.")[0]
    robot = load("2r")
    file = tmp_path / "log.csv"
    log = slow_log(robot)
    assert log.tau is not None
    write_trajectory(file, robot, replace(log, tau=log.tau + 2.0 * np.sign(log.v)))
    assert cli.main(["diagnose", "--robot", "2r", "--motion", str(file), "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert "friction" in content[0]["suspects"][0]["cause"]
    assert cli.main(["diagnose", "drifts", "--motion", str(file)]) == 2


def test_a_log_of_a_robot_with_loops_is_compared_with_the_closed_mechanism() -> None:
    robot = load("four_bar")
    run = efforts(robot, standard_motion(robot, 61))
    log = replace(run.motion, tau=run.tau)
    assert robot.audit(rules=["log-torque"], motion=log).passed == ("log-torque",)
    lighter = robot.edit().set_inertia("rocker", mass=10.0).done()
    audit = lighter.audit(rules=["log-torque"], motion=log)
    assert [f.where for f in audit.findings] == ["joint 'crank_joint'"]
    (diagnosis,) = diagnose("position drifts during a hold", lighter, motion=log)
    assert any("loops" in note for note in diagnosis.notes)


def test_moments_of_inertia_are_no_cause_of_a_drift_during_a_hold() -> None:
    """Panda's base, which is fixed to the world, was blamed for its moments of inertia."""
    robot = load("panda")
    (drift,) = diagnose("position drifts during a hold", robot)
    (slow,) = diagnose("inverse-dynamics torque too small at high acceleration", robot)
    cited = {finding.rule for suspect in drift.suspects for finding in suspect.findings}
    assert "moments" not in cited
    assert any(finding.rule == "moments" for suspect in slow.suspects for finding in suspect.findings)
    for each in (drift, slow):
        assert not any("panda_link0" in finding.where for suspect in each.suspects for finding in suspect.findings)
