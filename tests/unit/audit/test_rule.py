"""A rule written outside the package, with public names: it runs, an edit of it is seen, and it can be handed over.

A rule that finds nothing to look at does not pass: it did not run, and says why.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, cli, load
from dalembert.audit import RULES, Found, NotRun, Subject, rule

BALL = {"mass": 1.0, "com": (0.0, 0.0, 0.1), "inertia": 0.01 * np.eye(3)}
ALWAYS = {"import", "names", "base"}
FILE = """
from dalembert.audit import Found, NotRun, rule

@rule("tool-mass", "inertia", "{severity}", reason="tools here weigh at most {most} kg", cure="use a lighter tool")
def tool_mass(subject):
    carried = subject.model.bodies[-1].inertia.mass
    if not carried:
        raise NotRun("there is no tool")
    if carried > {most}:
        yield Found(f"link '{{subject.model.bodies[-1].name}}'", f"weighs {{carried:g}} kg")
"""


@pytest.fixture(autouse=True)
def rules_as_before():
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


def test_a_rule_of_ones_own_and_its_edit(tmp_path, capsys) -> None:
    file = tmp_path / "my_rules.py"
    command = ["audit", "2r", "--rules", str(file), "--rule", "tool-mass", "--fail-on", "warning"]
    file.write_text(FILE.format(severity="warning", most=0.1), "utf-8")
    assert cli.main(command) == 1
    assert "weighs" in capsys.readouterr().out
    file.write_text(FILE.format(severity="warning", most=100), "utf-8")
    assert cli.main(command) == 0
    file.write_text(FILE.format(severity="info", most=0.1), "utf-8")
    assert cli.main(command) == 0
    assert "weighs" in capsys.readouterr().out


def test_a_rule_is_part_of_every_audit_once_entered() -> None:
    @rule("names-short", "intent", "info", reason="long names are hard to read", cure="shorten them")
    def names_short(subject: Subject):
        for body in subject.model.bodies:
            if len(body.name) > 4:
                yield Found(f"link '{body.name}'", "has a long name")

    audit = load("2r").audit(rules=["names-short"])
    assert {f.where for f in audit.findings} == {"link 'link1'", "link 'link2'"}
    assert load("2r").audit(rules=[names_short]).findings == audit.findings  # or handed over as it is

    @rule("names-short", "intent", "info", reason="long names are hard to read", cure="shorten them", needs=("base",))
    def names_shorter(subject: Subject):
        raise NotRun("names are not looked at")

    (skipped,) = load("2r").audit(rules=["names-short"]).skipped
    assert skipped.because == "names are not looked at" and not skipped.blocked


def test_rules_of_the_package_cannot_be_replaced() -> None:
    with pytest.raises(DalembertError, match="give yours another name"):

        @rule("headroom", "gravity", "info", reason="", cure="")
        def mine(subject: Subject):
            yield from ()


@pytest.mark.parametrize(
    ("step", "severity", "message"),
    [("inertias", "info", "did you mean 'inertia'"), ("inertia", "warn", "did you mean 'warning'")],
)
def test_wrong_words_are_explained(step: str, severity: str, message: str) -> None:
    with pytest.raises(DalembertError, match=message):
        rule("mine", step, severity, reason="", cure="")


@pytest.mark.parametrize(("text", "message"), [("1 / 0", "ZeroDivisionError"), ("import", "SyntaxError")])
def test_a_broken_file_of_rules_is_explained(text: str, message: str, tmp_path, capsys) -> None:
    file = tmp_path / "my_rules.py"
    file.write_text(text, "utf-8")
    assert cli.main(["audit", "2r", "--rules", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_documentation_lists_every_rule_with_its_reason() -> None:
    import_module("dalembert.control.rules")  # a rule of a room above the audit
    text = Path(__file__).parents[3].joinpath("docs", "audit_rules.md").read_text("utf-8")
    for name, entry in RULES.items():
        reason, cure = (re.sub(r"(<[^<>]+>)", r"`\1`", words) for words in (entry.reason, entry.cure))  # tags as code
        assert f"- **`{name}`** ({entry.severity}): {reason}. *What to do:* {cure}.\n" in text, name


def one_body(gravity=(0.0, 0.0, -9.81), **options):
    builder = ModelBuilder("one", gravity=gravity)
    builder.add_body("link", parent="world", **options)
    return builder.build()


def skipped(audit):
    return {each.rule: each.because for each in audit.skipped}


def test_a_plate_without_mass_or_joint_passes_next_to_nothing():
    audit = one_body().audit()
    assert set(audit.passed) == ALWAYS | {"gravity-direction"}
    assert skipped(audit)["inertia-possible"] == "no link has a mass"
    assert skipped(audit)["limits-empty"] == "no joint states a range"


def test_a_joint_without_limits_has_none_to_check():
    audit = one_body(joint="revolute", axis=(0, 1, 0), **BALL).audit()
    limits = {
        "limits-empty",
        "limits-degrees",
        "limits-speed",
        "limits-zero-effort",
        "neutral-outside",
        "friction-size",
    }
    assert limits <= set(skipped(audit))
    assert {"mass-matrix", "mass-condition", "passivity", "energy"} <= set(audit.passed)


def test_links_without_mass_have_no_laws_to_keep():
    because = skipped(one_body(joint="revolute", axis=(0, 1, 0)).audit())
    for name in ("gravity-by-hand", "passivity", "derivatives", "inertia-missing", "com-far"):
        assert name in because


@pytest.mark.parametrize("axis", [(0, 1, 0), (0, 0, 1)])
def test_energy_is_checked_in_motion_where_gravity_moves_nothing(axis):
    """Without gravity, or about an upright axis, a robot at rest stays there."""
    robot = one_body((0, 0, 0) if axis[1] else (0, 0, -9.81), joint="revolute", axis=axis, **BALL)
    speeds = []
    whole = type(robot).simulate

    def watched(self, q, v, *options, **named):
        speeds.append(np.abs(v).max())
        return whole(self, q, v, *options, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(robot), "simulate", watched)
        audit = robot.audit(rules=["energy", "gravity-by-hand"])
    assert "energy" in audit.passed
    assert speeds[0] > 0.0
    assert ("gravity-by-hand" in audit.passed) == (axis[2] == 1)


def test_a_quadrotor_has_no_joints_whose_inertias_could_be_uneven():
    audit = load("quadrotor").audit(rules=["mass-condition"])
    assert not audit.findings
    assert skipped(audit) == {"mass-condition": "no joint of one freedom moves"}


def test_a_small_joint_on_a_heavy_arm_is_named_as_before():
    builder = ModelBuilder("arm")
    builder.add_body(
        "arm", parent="world", joint="revolute", axis=(0, 1, 0), mass=50.0, com=(0, 0, 1), inertia=np.eye(3)
    )
    builder.add_body("finger", parent="arm", joint="revolute", axis=(1, 0, 0), mass=0.01, inertia=1e-4 * np.eye(3))
    (finding,) = builder.build().audit(rules=["mass-condition"]).findings
    assert "cond(M) reaches" in finding.what
