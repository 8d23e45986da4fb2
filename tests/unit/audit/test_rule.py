"""A rule written outside the package, with public names: it runs, an edit of it is seen, and it can be handed over."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from dalembert import DalembertError, cli, load
from dalembert.audit import RULES, Found, NotRun, Subject, rule

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
