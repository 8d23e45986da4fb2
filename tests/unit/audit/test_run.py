"""The audit: a clean robot is clean, every injected fault is found by the rule made for it, output formats."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, load
from dalembert.audit import RULES, Suppression, read_suppressions, run_audit
from dalembert.motion import quintic

SEARCHED = 1e-3  # of a peak that is found by search over poses
FLAT = 0.01  # a peak of gravity is flat: its place is not found better

ARM = """
<robot name="arm">
  <link name="base"><inertial><origin xyz="0 0 0.05"/><mass value="4"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/></inertial></link>
  <link name="left_upper"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.042" iyz="0" izz="0.043"/></inertial></link>
  <link name="left_lower"><inertial><origin xyz="0.15 0 0"/><mass value="2"/>
    <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.016" iyz="0" izz="0.017"/></inertial></link>
  <link name="right_upper"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.042" iyz="0" izz="0.043"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="left_upper"/><origin xyz="0 0.1 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="60" velocity="3"/>
    <dynamics damping="0.1" friction="0"/><dalembert armature="0.1"/></joint>
  <joint name="elbow" type="revolute"><parent link="left_upper"/><child link="left_lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2.5" upper="2.5" effort="25" velocity="4"/></joint>
  <joint name="other" type="revolute"><parent link="base"/><child link="right_upper"/><origin xyz="0 -0.1 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="60" velocity="3"/></joint>
  <link name="tool"/>
  <joint name="tool_joint" type="fixed"><parent link="left_lower"/><child link="tool"/><origin xyz="0.3 0 0"/></joint>
</robot>
"""
DYNAMIC = ("gravity", "mass-matrix", "passivity", "integrator")  # steps whose rules compile the robot
STATIC = [name for name, rule in RULES.items() if rule.step not in DYNAMIC] + ["mass-missing", "gravity-direction"]
LOWER = 'ixx="0.003" ixy="0" ixz="0" iyy="0.016" iyz="0" izz="0.017"'


def audited(*changes: tuple[str, str], rules: list[str] | None = None, **options):
    text = ARM
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return load(text).audit(rules=STATIC if rules is None else rules, **options)


def said(audit, severity: str | None = None) -> set[str]:
    return {f.rule for f in audit.findings if severity in (None, f.severity)}


def test_a_sound_robot_has_no_findings_beyond_info() -> None:
    audit = load(ARM).audit()
    assert audit.ok and not audit.failed
    assert said(audit) <= {"base", "mass-condition", "step"}
    assert len(audit.passed) > 20
    assert [row.joint for row in audit.headroom] == ["shoulder", "elbow", "other"]


def lower(xx: str, xy: str, xz: str, yy: str, yz: str, zz: str) -> tuple[str, str]:
    """Another tensor for the link left_lower."""
    return LOWER, f'ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"'


def _ball(radius: float, x: float = 0.15) -> tuple[str, str]:
    """Gives the link left_lower a ball for its shape."""
    shape = f'<visual><origin xyz="{x} 0 0"/><geometry><sphere radius="{radius}"/></geometry></visual>'
    return '<link name="left_lower">', f'<link name="left_lower">{shape}'


FAULTS = {
    # name: (rule, severity, changes)
    "negative mass": ("inertia-possible", "error", ('<mass value="2"/>', '<mass value="-2"/>')),
    "negative moment": ("inertia-possible", "error", lower("-0.003", "0", "0", "0.016", "0", "0.017")),
    "triangle broken": ("inertia-possible", "error", lower("0.003", "0", "0", "0.016", "0", "0.17")),
    "decimal point lost": ("inertia-possible", "error", lower("0.003", "0", "0", "16", "0", "0.017")),
    "product too large": ("inertia-possible", "error", lower("0.003", "0.01", "0", "0.016", "0", "0.017")),
    "product sign": ("inertia-possible", "error", lower("0.003", "0", "-0.012", "0.016", "0", "0.017")),
    "mass left out": ("inertia-possible", "error", ('<mass value="2"/>', '<mass value="0"/>')),
    "zero tensor": ("inertia-missing", "warning", lower("0", "0", "0", "0", "0", "0")),
    "rounding of a zero tensor": (
        "inertia-missing", "warning", lower("1e-20", "0", "0", "1e-20", "0", "1e-20"),
    ),
    "kg mm² as kg m²": ("inertia-size", "warning", lower("3000", "0", "0", "16000", "0", "17000")),
    "g cm² as kg m²": ("inertia-size", "warning", lower("30000", "0", "0", "160000", "0", "170000")),
    "com in millimetres": ("com-far", "warning", ('<origin xyz="0.15 0 0"/>', '<origin xyz="150 0 0"/>')),
    "com in centimetres": ("com-far", "warning", ('<origin xyz="0.15 0 0"/>', '<origin xyz="15 0 0"/>')),
    "grams": ("total-mass", "warning", ('<mass value="4"/>', '<mass value="40000"/>')),
    "tonnes": (
        "total-mass", "warning",
        *((f'<mass value="{m}"/>', f'<mass value="{m}e-5"/>') for m in ("4", "3", "2", "3")),
    ),
    "left heavier than right": ("left-right", "warning", ('<mass value="3"/>', '<mass value="3.5"/>')),
    "range of nothing": ("limits-empty", "warning", ('lower="-2.5" upper="2.5"', 'lower="0" upper="0"')),
    "range in degrees": ("limits-degrees", "warning", ('lower="-2.5" upper="2.5"', 'lower="-145" upper="145"')),
    "one side in degrees": ("limits-degrees", "warning", ('lower="-2.5" upper="2.5"', 'lower="-0.1" upper="180"')),
    "speed missing": ("limits-missing", "info", (' velocity="4"', "")),
    "effort missing": ("limits-missing", "info", ('effort="25"', "")),
    "no effort": ("limits-zero-effort", "info", ('effort="25"', 'effort="0"')),
    "zero out of reach": ("neutral-outside", "info", ('lower="-2.5" upper="2.5"', 'lower="0.5" upper="2.5"')),
    "blank in a name": ("names", "info", ('name="elbow"', 'name="the elbow"')),
    "letters beyond ASCII in a name": ("names", "info", ('name="elbow"', 'name="coude\u00e9"')),
    "no rotors": ("rotors-missing", "info", ('<dalembert armature="0.1"/>', "")),
    "no friction": ("friction-missing", "info", ('<dynamics damping="0.1" friction="0"/>', "")),
    "trunk nailed down": ("base", "info", ('<link name="base">', '<link name="base">')),
    "product left out": ("import", "warning", (LOWER, 'ixx="0.003" ixy="0" ixz="0" iyy="0.016" izz="0.017"')),
    "axis not of length 1": ("import", "warning", ('<axis xyz="0 1 0"/>', '<axis xyz="0 3 0"/>')),
    "second inertial": (
        "import", "warning",
        ('<link name="tool"/>', '<link name="tool"><inertial><mass value="1"/><mass value="2"/>'
         '<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>'),
    ),
    "shape in millimetres": ("density", "warning", _ball(300)),
    "shape in kilometres": ("density", "warning", _ball(1e-4)),
    "density of a feather": ("shape", "info", _ball(1)),
    "density beyond lead": ("shape", "info", _ball(0.01)),
    "centre of mass outside the shape": ("shape", "info", _ball(0.12, 0.5)),
    "moments of another body": ("moments", "info", _ball(0.12)),
    "joint without a load": (
        "mass-missing", "error",
        ('<link name="tool"/>', '<link name="tool"/><link name="bare"/><joint name="idle" type="continuous">'
         '<parent link="tool"/><child link="bare"/><axis xyz="0 1 0"/></joint>'),
    ),
    "placeholders": (
        "inertia-placeholder", "warning",
        *(
            (old, 'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"')
            for old in (LOWER, *2 * ('ixx="0.005" ixy="0" ixz="0" iyy="0.042" iyz="0" izz="0.043"',))
        ),
        *((f'<mass value="{m}"/>', '<mass value="1"/>') for m in ("3", "2", "3")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_an_injected_fault_is_found(fault: str) -> None:
    rule, severity, *changes = FAULTS[fault]
    audit = audited(*changes)
    assert rule in said(audit, severity), str(audit)
    if severity == "error":
        assert not audit.ok and audit.failed
    if fault != "trunk nailed down":
        assert rule not in said(audited())  # and only then


@pytest.mark.parametrize(
    ("efforts", "payload", "held"),
    [((60, 25), 0.0, ()), ((60, 25), 5.0, ("shoulder",)), ((20, 25), 0.0, ("shoulder",)), ((60, 3), 0.0, ("elbow",))],
)
def test_motors_are_asked_what_they_can_hold(efforts: tuple, payload: float, held: tuple[str, ...]) -> None:
    changes = [(f'effort="{old}"', f'effort="{new}"') for old, new in zip((60, 25), efforts, strict=True)]
    text = ARM
    for old, new in changes:
        text = text.replace(old, new, 1)
    audit = load(text).audit(rules=["headroom"], payload=payload, frame="tool")
    assert tuple(f.where for f in audit.findings) == tuple(f"joint '{name}'" for name in held)


def test_headroom_finds_the_stretched_arm() -> None:
    rows = {row.joint: row for row in load(ARM).audit().headroom}
    stretched = 9.81 * (3 * 0.2 + 2 * 0.55)
    assert rows["shoulder"].gravity == pytest.approx(stretched, rel=SEARCHED)
    assert rows["shoulder"].ratio == pytest.approx(60 / stretched, rel=SEARCHED)
    np.testing.assert_allclose(np.cos(rows["shoulder"].q[:2]), 1.0, atol=FLAT)


@pytest.mark.parametrize(("changes", "stiff"), [([], False), ([('damping="0.1"', 'damping="500"')], True)])
def test_step_is_named_for_stiff_joints(changes: list, stiff: bool) -> None:
    assert ("step" in said(audited(*changes, rules=["step"]))) == stiff


class Liar:
    """A robot one of whose answers is wrong."""

    def __init__(self, robot, method: str, change) -> None:
        self._robot, self._method, self._change = robot, method, change

    def __getattr__(self, name: str):
        if name == "without":
            return lambda *effects: Liar(self._robot.without(*effects), self._method, self._change)
        given = getattr(self._robot, name)
        return (lambda *a, **k: self._change(given(*a, **k))) if name == self._method else given


def _leaking(run):
    """The run with a tenth of its kinetic energy lost at the end."""
    energy = SimpleNamespace(
        kinetic=run.energy.kinetic * np.linspace(1, 0.9, len(run.t)), potential=run.energy.potential
    )
    return SimpleNamespace(energy=energy, t=run.t)


LIES = {
    "gravity-by-hand": ("gravity", lambda g: 1.01 * g),
    "mass-matrix": ("mass_matrix", lambda M: M + np.triu(0.01 * M, 1)),
    "passivity": ("passivity_residual", lambda r: r + 1e-3),
    "inverse-forward": ("forward_dynamics", lambda a: 1.001 * a),
    "derivatives": ("inverse_dynamics_derivatives", lambda d: d._replace(dq=1.01 * d.dq)),
    "energy": ("simulate", _leaking),
    "mass-condition": ("mass_matrix", lambda M: M + 1e4 * np.diag([1.0, 0.0, 0.0])),
}


@pytest.mark.parametrize("rule", LIES)
def test_a_broken_law_is_found(rule: str) -> None:
    robot = load(ARM)
    assert rule not in said(run_audit(robot, rules=[rule]))
    assert rule in said(run_audit(Liar(robot, *LIES[rule]), rules=[rule]))


def test_an_indefinite_mass_matrix_is_found() -> None:
    liar = Liar(load(ARM), "mass_matrix", lambda M: M - 10 * np.eye(3))
    assert "not positive definite" in str(run_audit(liar, rules=["mass-matrix"]))


def test_suppressions_accept_findings_with_a_reason(tmp_path) -> None:
    file = tmp_path / "audit.toml"
    file.write_text("[[accept]]\nrule = 'inertia-possible'\nwhere = \"link 'left_lo*\"\nreason = 'a float'\n", "utf-8")
    change = lower("0.003", "0", "0", "0.016", "0", "0.17")
    audit = audited(change, accept=read_suppressions(file))
    assert audit.ok and not audit.failed and "accepted: a float" in str(audit)
    other = Suppression("inertia-possible", "no", "link 'base'")
    assert not audited(change, accept=[other]).ok


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[accept]]\nrule = 'limit-empty'\nreason = 'x'\n", "did you mean 'limits-empty'"),
        ("[[accept]]\nrule = 'limits-empty'\n", "has no reason"),
        ("[[accept]]\nrule = 'limits-empty'\nreason = 'x'\nwher = 'y'\n", "did you mean 'where'"),
        ("[[accepted]]\nrule = 'limits-empty'\n", r"expected \[\[accept\]\] tables"),
        ("[[accept]\n", "cannot be read"),
    ],
)
def test_wrong_suppressions_are_explained(tmp_path, text: str, message: str) -> None:
    file = tmp_path / "audit.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(DalembertError, match=message):
        read_suppressions(file)


def test_json_and_sarif_hold_the_findings() -> None:
    audit = audited(('<mass value="2"/>', '<mass value="-2"/>'))
    content = json.loads(audit.json())
    assert content["facts"]["nv"] == 3 and not content["ok"]
    assert [f["rule"] for f in content["findings"]] == [f.rule for f in audit.findings]
    run = json.loads(audit.sarif("my robots/arm é.urdf"))["runs"][0]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(STATIC)
    worst = run["results"][0]
    assert (worst["ruleId"], worst["level"]) == ("inertia-possible", "error")
    assert worst["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20robots/arm%20%C3%A9.urdf"


def test_the_tightest_motor_is_in_the_text() -> None:
    assert "tightest motor: joint 'shoulder_lift_joint' holds" in str(load("ur5e").audit(payload=5.0))


def test_a_robot_that_cannot_move_has_no_laws_to_try() -> None:
    builder = ModelBuilder("block")
    builder.add_body("block", parent="world", mass=1.0, inertia=np.eye(3))
    audit = builder.build().audit()
    assert audit.ok and not audit.failed and not audit.headroom and "mass-matrix" not in audit.passed
    assert {"mass-matrix", "passivity", "headroom"} <= {item.rule for item in audit.skipped}


def test_unknown_rules_are_named() -> None:
    with pytest.raises(DalembertError, match="unknown rule 'headrom': did you mean 'headroom'"):
        load(ARM).audit(rules=["headrom"])


def test_a_log_without_efforts_is_not_said_to_agree_with_the_model() -> None:
    """That the log has no NaN is no answer to the question of step 12."""
    robot = load("2r")
    move = quintic(robot.neutral(), robot.neutral() + 0.5, 1.0, robot=robot)
    step = robot.audit(rules=["log-finite", "log-torque"], motion=move.sample(0.01)).steps[-1]
    assert step.status == "not run" and step.passed == ("log-finite",) and "no efforts" in str(step)
    tau = robot.inverse_dynamics(*move.at(move.sample(0.01).t))
    step = robot.audit(rules=["log-finite", "log-torque"], motion=replace(move.sample(0.01), tau=tau)).steps[-1]
    assert step.status == "passed"


def test_what_is_no_log_of_the_robot_is_refused() -> None:
    robot = load("2r")
    move = quintic(robot.neutral(), robot.neutral() + 0.5, 1.0, robot=robot)
    for motion in ("log.csv", move, 3):
        with pytest.raises(DalembertError, match=r"without t, .*expected a log"):
            robot.audit(motion=motion)
    with pytest.raises(DalembertError, match=r"q of the log has shape \(101, 2\), expected \(101, 6\) for robot 'ur5'"):
        load("ur5").audit(motion=move.sample(0.01))
