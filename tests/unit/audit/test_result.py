"""What did not run is not passed: reasons, verdicts, exit codes; singular robots; gravity at its worst."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot, cli, load
from dalembert.audit import RULES, Rule
from dalembert.audit.closed import ClosedManifold, motors
from linkages import crossed, four_bar
from tolerances import COMPUTED, ITERATED

SEARCHED = 1e-4  # of a peak that random poses come near


def reasons(audit) -> dict[str, str]:
    return {item.rule: item.because for item in audit.skipped}


def test_a_payload_that_motors_of_a_parallel_robot_cannot_hold() -> None:
    audit = load("delta").audit(payload=50.0, rules=["headroom"])
    assert [f.where for f in audit.findings] == [f"joint 'motor{k}'" for k in (1, 2, 3)]
    assert "cannot hold" in audit.findings[0].what and audit.failed == ("headroom",)
    assert not audit.ok and audit.steps[3].status == "failed"


def test_a_motor_that_cannot_hold_is_an_error_for_the_command(capsys) -> None:
    """500 kg on a small arm: nobody may conclude from a verdict or an exit code that this works."""
    assert cli.main(["audit", "ur5", "--payload", "500", "--rule", "headroom"]) == 1
    said = capsys.readouterr().out
    assert "error" in said and "cannot hold" in said


def test_a_question_that_cannot_be_answered_is_not_passed(capsys) -> None:
    audit = load("quadruped").audit(payload=500.0, rules=["headroom", "base"])
    assert not audit.ok and not audit.failed and audit.passed == ("base",)
    assert reasons(audit) == {"headroom": "the base is free: holding torques depend on where it stands"}
    content = json.loads(audit.json())
    assert content["not_run"] == [{"rule": "headroom", "because": reasons(audit)["headroom"], "blocked": True}]
    invocation = json.loads(audit.sarif())["runs"][0]["invocations"][0]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["associatedRule"] == {"id": "headroom"}
    assert "not run: headroom, because the base is free" in str(audit)
    assert cli.main(["audit", "quadruped", "--payload", "500", "--rule", "headroom"]) == 1
    assert "because the base is free" in " ".join(capsys.readouterr().out.split())


def test_a_question_that_was_not_asked_costs_nothing() -> None:
    audit = load("quadruped").audit(rules=["headroom"])
    assert audit.ok and not audit.checked and "headroom" in reasons(audit)


def weightless(mass: float, inertia: list[float], com: float) -> ModelBuilder:
    """A joint about z that carries a body whose inertia about that axis is zero."""
    builder = ModelBuilder("weightless")
    builder.add_body("arm", parent="world", joint="revolute", joint_name="first", axis=(0, 1, 0), mass=1.0,
                     com=(0.1, 0, 0), inertia=0.01 * np.eye(3))  # fmt: skip
    builder.add_body("tip", parent="arm", joint="revolute", joint_name="last", axis=(0, 0, 1), xyz=(0.2, 0, 0),
                     mass=mass, com=(0, 0, com), inertia=np.diag(inertia))  # fmt: skip
    return builder


@pytest.mark.parametrize(("mass", "inertia"), [(1.0, [0.0, 0.0, 0.0]), (1.0, [1.0, 1.0, 0.0]), (1.0, [1, 1, 1e-20])])
def test_a_singular_mass_matrix_is_a_finding_and_no_crash(mass: float, inertia: list[float]) -> None:
    audit = Robot(weightless(mass, inertia, 0.3).model()).audit()
    found = {f.rule: f for f in audit.findings}
    assert "joint 'last'" in found["mass-missing"].where and "on its axis" in found["mass-missing"].what
    assert "mass-matrix" in found and "'last'" in found["mass-matrix"].what
    blocked = {item.rule for item in audit.blocked}
    assert {"mass-condition", "inverse-forward", "energy", "step"} <= blocked
    assert not audit.ok and not blocked & set(audit.passed)


def test_rules_that_errors_stop_say_so() -> None:
    audit = Robot(weightless(1.0, [0, 0, 0], 0.0).model()).audit()
    assert set(audit.passed) | {f.rule for f in audit.findings} | set(reasons(audit)) == set(RULES)
    verdicts = {verdict.title: verdict for verdict in audit.steps}
    assert verdicts["Mass matrix"].status == "failed"
    assert verdicts["Integrator and step"].status == "not run"
    assert "mass-missing found an error" in verdicts["Integrator and step"].because


def test_a_rule_that_raises_does_not_end_the_audit(monkeypatch) -> None:
    from dataclasses import replace

    def broken(subject):
        raise ZeroDivisionError("of course")

    monkeypatch.setitem(RULES, "names", replace(RULES["names"], look=broken))
    audit = load("2r").audit(rules=["names", "base"])
    assert not audit.ok and reasons(audit) == {"names": "it ended with ZeroDivisionError: of course"}


def test_steps_without_findings_pass_and_steps_without_rules_do_not() -> None:
    audit = load("3r").audit(rules=["gravity-direction"])
    status = {verdict.title: verdict.status for verdict in audit.steps}
    assert len(status) == 12 and status.pop("Gravity") == "passed" and set(status.values()) == {"not run"}


# ---- gravity at its worst


def random_arm(seed: int, springs: float = 0.0):
    rng = np.random.default_rng(seed)
    builder, parent = ModelBuilder(f"arm {seed}"), "world"
    for k in range(int(rng.integers(3, 7))):
        lower = rng.uniform(-3, 0)
        builder.add_body(
            f"link{k}", parent=parent, joint="prismatic" if rng.random() < 0.2 else "revolute", joint_name=f"j{k}",
            axis=rng.normal(size=3), xyz=rng.uniform(-0.5, 0.5, 3), rpy=rng.uniform(-3, 3, 3),
            mass=rng.uniform(0.2, 3), com=rng.uniform(-0.3, 0.3, 3), inertia=0.1 * np.eye(3),
            lower=lower, upper=lower + rng.uniform(0.3, 5), stiffness=springs,
        )  # fmt: skip
        parent = f"link{k}"
    return builder.build()


@pytest.mark.parametrize(("seed", "springs"), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0), (5, 3.0)])
def test_no_configuration_loads_a_motor_more_than_the_worst(seed: int, springs: float) -> None:
    robot = random_arm(seed, springs)
    rows = robot.audit(rules=["headroom"]).headroom
    q = robot.random(np.random.default_rng(99), 200_000)
    sampled = np.max(np.abs(robot.gravity(q)), axis=0)
    worst = np.array([row.gravity for row in rows])
    assert np.all(worst >= (1 - COMPUTED) * sampled) and np.all(worst <= 1.25 * sampled + ITERATED)
    for k, row in enumerate(rows):  # and it is the load of a configuration within the limits
        assert abs(robot.gravity(row.q)[k]) == pytest.approx(row.gravity)
        limits = [(b.joint.lower[0], b.joint.upper[0]) for b in robot.model.independent if b.joint.nv]
        assert all(low - COMPUTED <= x <= high + COMPUTED for x, (low, high) in zip(row.q, limits, strict=True))


def test_multistart_gradient_ascent_finds_nothing_larger() -> None:
    """A projected gradient with the analytic slope, from other starts, on the arm with the seed of a report."""
    robot = random_arm(4)
    rows = robot.audit(rules=["headroom"]).headroom
    bodies = [b for b in robot.model.independent if b.joint.nv]
    low, high = (np.array([getattr(b.joint, side)[0] for b in bodies]) for side in ("lower", "upper"))
    for k, row in enumerate(rows):
        q = robot.random(np.random.default_rng(5), 300)
        for step in np.geomspace(0.3, 1e-4, 150):
            load = robot.gravity(q)[:, k]
            slope = robot.gravity_derivatives(q)[:, k] * np.sign(load)[:, None]
            q = np.clip(q + step * slope / (np.linalg.norm(slope, axis=1, keepdims=True) + 1e-12), low, high)
        assert np.max(np.abs(robot.gravity(q)[:, k])) <= row.gravity * (
            1 + 10 * ITERATED
        )  # the ascent stops while sweeps still gain 1e-10


def test_joints_without_an_effort_limit_have_their_worst_case_too() -> None:
    builder = ModelBuilder("pendulum")
    builder.add_body("rod", parent="world", joint="continuous", joint_name="pin", axis=(0, 1, 0), mass=1.0,
                     com=(0, 0, -1), inertia=0.1 * np.eye(3))  # fmt: skip
    audit = builder.build().audit(rules=["headroom"])
    assert audit.headroom[0].gravity == pytest.approx(9.81, rel=COMPUTED) and np.isinf(audit.headroom[0].limit)
    assert json.loads(audit.json())["headroom"][0]["limit"] is None
    assert reasons(audit) == {"headroom": "no effort limit is stated for pin"}


# ---- closed loops


def test_the_crank_of_a_four_bar_holds_all_three_links() -> None:
    """Virtual work: the crank's torque is the slope of the potential energy over its angle."""
    angles = np.linspace(-np.pi, np.pi, 2001)
    robot = four_bar()
    q = np.array([crossed(s) for s in angles])
    energy = robot.potential_energy(q)
    sampled = np.max(np.abs(np.gradient(energy, angles)))
    crank = robot.edit().set_joint("joint_A", effort_limit=2000.0)
    for pin in ("joint_B", "joint_C"):
        crank.set_joint(pin, effort_limit=0.0)
    audit = crank.done().audit(rules=["headroom"])
    (row,) = audit.headroom
    assert row.joint == "joint_A" and row.gravity == pytest.approx(sampled, rel=SEARCHED)
    assert "joint 'joint_B'" not in str(audit)


def test_motors_of_the_delta_balance_the_platform() -> None:
    robot = load("delta")
    manifold = ClosedManifold(robot.without("friction", "damping", "armature"), motors(robot.model))
    q = manifold.sample(np.random.default_rng(3))[::500]
    direction = manifold.tangent(q, np.random.default_rng(4).normal(size=q.shape))
    h = 1e-5
    ends = [manifold.step(q, s * h * direction)[0] for s in (1.0, -1.0)]
    way = robot.difference(ends[1], ends[0])[:, manifold.rows]
    gained = robot.potential_energy(ends[0]) - robot.potential_energy(ends[1])
    np.testing.assert_allclose(np.einsum("bm,bm->b", manifold.holding(q), way), gained, atol=ITERATED)
    rows = robot.audit(rules=["headroom"]).headroom
    assert [row.joint for row in rows] == ["motor1", "motor2", "motor3"]
    assert all(3.8 < row.gravity < 4.1 for row in rows)  # the open tree has 1.47


def test_loops_without_stated_motors_are_not_judged() -> None:
    audit = four_bar().audit(rules=["headroom"])
    assert "which joints are passive" in reasons(audit)["headroom"] and not audit.headroom


def test_limbs_do_not_disturb_each_other() -> None:
    """A trunk with two arms: each shoulder holds its own arm stretched out, the trunk holds both; by hand."""
    builder = ModelBuilder("two arms")
    arm = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": 0.1 * np.eye(3)}
    builder.add_body("trunk", parent="world", joint="continuous", joint_name="waist", axis=(0, 1, 0), mass=2.0,
                     com=(1.0, 0, 0), inertia=0.1 * np.eye(3), effort_limit=90.0)  # fmt: skip
    for name, y in (("left", 0.2), ("right", -0.2)):
        builder.add_body(name, parent="trunk", joint="revolute", joint_name=f"{name}_shoulder", axis=(0, 1, 0),
                         xyz=(1.0, y, 0), lower=-1.0, upper=2.0, effort_limit=9.0, **arm)  # fmt: skip
    rows = {row.joint: row.gravity for row in builder.build().audit(rules=["headroom"]).headroom}
    assert rows["waist"] == pytest.approx(9.81 * (2.0 * 1.0 + 2 * 1.0 * 1.5))
    assert rows["left_shoulder"] == rows["right_shoulder"] == pytest.approx(9.81 * 0.5)


def test_a_step_that_passed_names_its_remarks() -> None:
    audit = load("ur5").audit(rules=["friction-missing"])
    (friction,) = [verdict for verdict in audit.steps if verdict.title == "Friction"]
    assert friction.noted == ("friction-missing",)
    assert str(friction) == " 8 Friction: passed, with a remark: friction-missing"


def test_an_audit_comes_back_from_another_process() -> None:
    audit = load("2r").audit(rules=["names", "base"])
    back = pickle.loads(pickle.dumps(audit))
    assert str(back) == str(audit) and back.rules["names"] is RULES["names"]


def test_an_audit_comes_back_where_its_rules_were_never_loaded(tmp_path) -> None:
    arm = load("2r")
    arm.audit(rules=["names"])  # enters the rule of the room above, which a process that audits nothing does not have
    of_a_notebook = Rule("of a notebook", "intent", "info", "", "", lambda subject: ())
    (tmp_path / "audit.pkl").write_bytes(pickle.dumps(arm.audit(rules=["closed-loop", of_a_notebook])))
    code = "import pickle, sys; audit = pickle.load(open(sys.argv[1], 'rb')); print(audit.rules.keys(), audit)"
    command = [sys.executable, "-c", code, tmp_path / "audit.pkl"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONUTF8": "1"})
    assert "closed-loop" in told.stdout and "of a notebook" in told.stdout


def test_gravity_of_a_linkage_drawn_in_the_plane_is_a_remark() -> None:
    """A mechanism as the guide draws it, in x and y; a robot whose gravity points sideways is warned of."""
    drawn = load("pendulum").audit(rules=["gravity-direction"])
    assert [f.severity for f in drawn.findings] == ["info"] and not drawn.failed
    tilted = load("2r").edit().gravity((0.0, -9.81, 0.0)).done().audit(rules=["gravity-direction"])
    assert [f.severity for f in tilted.findings] == ["warning"]
