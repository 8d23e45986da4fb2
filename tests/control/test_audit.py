"""The audit of a controller, its command, and the audit's step that uses it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dalembert import DalembertError, Sampled, control, load
from dalembert.cli import main
from dalembert.control.audit import Loop
from tolerances import PRINTED, REACHED

GOAL = np.array([0.6, -0.4])


@pytest.fixture(scope="module")
def arm():
    return load("2r").without("friction", "damping")


def topics(audit, severity):
    return {finding.topic for finding in audit.findings if finding.severity == severity}


def test_computed_torque_is_what_it_says(arm) -> None:
    audit = control.audit(control.computed_torque(arm, GOAL, 20.0), GOAL)
    np.testing.assert_allclose(audit.poles, np.full(4, -20.0), rtol=10 * PRINTED)
    assert audit.ok and audit.robust == 1.0
    assert "lowest ratio" in str(audit)


def test_saturation_is_not_known_where_no_motor_has_a_limit(arm) -> None:
    limitless = arm.edit()
    for joint in arm.joints:
        limitless = limitless.set_joint(joint.name, effort_limit=np.inf)
    audit = control.audit(control.computed_torque(robot := limitless.done(), GOAL, 20.0), GOAL, robot=robot)
    assert np.isnan(audit.saturation) and "saturation" in topics(audit, "info")


def test_a_loop_without_damping_rings(arm) -> None:
    """Held for a period T, torques are T/2 late, which takes kp T/2 from kd."""
    w, ratio, period = 20.0, 0.1, 1e-3
    audit = control.audit(control.computed_torque(arm, GOAL, w, ratio), GOAL, period=period)
    assert abs(audit.damping - (ratio - w * period / 4.0)) < 10 * PRINTED and "damping" in topics(audit, "warning")


def test_the_gain_margin_is_that_of_the_sampled_law(arm) -> None:
    """A double integrator under kp and kd, each held for T, is stable up to kd T = 2, and less with a delay."""
    w, period = 20.0, 1e-3
    law = control.computed_torque(arm, GOAL, w)
    at_once, late = (control.audit(law, GOAL, period=period, delay=delay) for delay in (0.0, 10 * period))
    most = 2.0 / (2.0 * w * period)
    assert most <= at_once.gain_margin < 1.06 * most  # the next factor that is tried
    assert late.gain_margin < 0.2 * most and late.disk_margin < at_once.disk_margin
    for factor, stable in ((0.9, True), (1.1, False)):
        gain = factor * late.gain_margin
        stronger = control.computed_torque(arm, GOAL, w * np.sqrt(gain), np.sqrt(gain))
        sampled = Sampled(stronger, period, 10 * period)
        end = arm.rollout(GOAL + 1e-4, np.zeros(2), sampled, period, 4000, check=False)
        assert (np.abs(end.q - GOAL).max() < REACHED) == stable


def test_a_slow_late_loop_that_rings_is_warned_of(arm) -> None:
    """Continuous, its damping ratio is 1; every 20 ms and 20 ms late it is near its margins."""
    audit = control.audit(control.computed_torque(arm, GOAL, 15.0), GOAL, period=0.02, delay=0.02)
    assert {"damping", "gain margin", "disk margin", "delay margin"} <= topics(audit, "warning")


def test_the_delay_margin_is_that_of_a_rollout(arm) -> None:
    """Of a double pole at ω, the loop ω² (1 + 2 s / ω) / s² crosses 1 at ω √(2 + √5), with atan(2 √(2 + √5)) left."""
    w, period = 30.0, 1e-3
    law = control.computed_torque(arm, GOAL, w)
    audit = control.audit(law, GOAL, period=period)
    crossing = w * np.sqrt(2.0 + np.sqrt(5.0))
    left = np.arctan(2.0 * crossing / w)
    expected = left / crossing - 0.5 * period  # sampling itself is late by half a period
    assert abs(audit.delay_margin - expected) <= 1.5 * period
    for late, stable in ((-4, True), (4, False)):
        delay = audit.delay_margin + late * period
        late_law = Sampled(law, period, round(delay / period) * period)
        end = arm.rollout(GOAL + 1e-4, np.zeros(2), late_law, period, 4000, check=False)
        assert (np.abs(end.q - GOAL).max() < REACHED) == stable


def test_the_delay_margin_is_that_of_the_loop_with_all_its_late_answers() -> None:
    """The eigenvalues of the whole loop, whose state holds every answer on its way, for one delay after the other."""
    rng, margins = np.random.default_rng(5), []
    for period in (1e-3, 5e-3, 2e-2) * 8:
        n = int(rng.integers(1, 4))
        stiffness = np.diag(rng.uniform(50.0, 2000.0, n)) + 20.0 * rng.normal(size=(n, n))
        damping = np.diag(2.0 * rng.uniform(0.1, 1.5) * np.sqrt(np.diag(stiffness)))
        A = np.block([[np.zeros((n, n)), np.eye(n)], [10.0 * rng.normal(size=(n, n)), -rng.uniform(0, 2) * np.eye(n)]])
        B, K = np.vstack([np.zeros((n, n)), np.eye(n)]), np.hstack([stiffness, damping])
        loop = Loop.sampled(A, B, K, period, int(rng.integers(0, 3)))
        one_by_one = (k - 1 for k in range(200) if not replace(loop, late=loop.late + k).stable())
        margins.append(loop.delay_margin())
        assert margins[-1] == next(one_by_one, 199)
    assert min(margins) == -1 and max(margins) > 15


def test_a_robot_of_six_joints_is_audited_within_seconds() -> None:
    """Its loop with 200 late answers has 1200 states and more; none of its eigenvalues are needed."""
    ur5, calls = load("ur5"), []
    with pytest.MonkeyPatch.context() as patch:
        eigenvalues = np.linalg.eigvals
        patch.setattr(np.linalg, "eigvals", lambda a: calls.append(np.shape(a)[-1]) or eigenvalues(a))
        control.audit(control.computed_torque(ur5, np.full(6, 0.3), 20.0), np.full(6, 0.3), duration=0.1)
    assert calls and max(calls) <= 12


def test_slow_sampling_and_full_motors_are_errors_and_warnings(arm) -> None:
    slow = control.audit(control.computed_torque(arm, GOAL, 40.0), GOAL, period=0.06)
    assert not slow.ok and "delay margin" in topics(slow, "error")
    far = control.audit(control.computed_torque(arm, GOAL, 60.0), GOAL, GOAL + 1.5, duration=0.1)
    assert far.saturation > 0.1 and "saturation" in topics(far, "warning")


def test_the_model_matters_to_a_regulator_of_an_unstable_equilibrium() -> None:
    acrobot = load("acrobot")
    audit = control.audit(control.lqr(acrobot, [np.pi, 0.0]), [np.pi, 0.0], [np.pi - 0.04, 0.02])
    assert audit.robust < 1.0 and audit.gain_reduction > 0.1


def test_bad_input_is_named(arm) -> None:
    with pytest.raises(DalembertError, match="does not say of which robot"):
        control.audit(lambda t, q, v: -v, GOAL)
    with pytest.raises(DalembertError, match="period -1"):
        control.audit(control.computed_torque(arm, GOAL), GOAL, period=-1)


def test_the_command(capsys, tmp_path) -> None:
    picture = tmp_path / "run.png"
    assert main(["control", "2r", "--frequency", "15", "--plot", str(picture), "--duration", "0.5"]) == 0
    assert "delay margin" in capsys.readouterr().out and picture.stat().st_size > 10_000
    assert main(["control", "2r", "--rate", "12", "--frequency", "60", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert not said["ok"] and said["delay_margin"] < 0.0
    assert main(["control", "2r", "--law", "pidd"]) == 2
    assert main(["control", "acrobot"]) == 2
    assert "no motor" in capsys.readouterr().err
    assert main(["control", "2r", "--resonance", "5", "--frequency", "60"]) == 2


def test_the_audit_of_a_robot_tries_the_stated_controller(tmp_path) -> None:
    robot, file = load("2r"), tmp_path / "expect.toml"
    for kd, found in ((40.0, False), (2.0, True)):
        file.write_text(f"[controller]\nkp = 400.0\nkd = {kd}\nrate = 1000.0\n")
        audit = robot.audit(rules=["closed-loop"], expect=file)
        assert any(each.rule == "closed-loop" for each in audit.findings) == found
