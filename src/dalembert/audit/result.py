"""The result of an audit: findings, rules that did not run, a verdict for each step; as text, JSON, SARIF."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np

from dalembert.model import Motors
from dalembert.notebook import html

from .holding import Headroom
from .rule import SEVERITIES, STEPS, Rule, Severity

LINE = re.compile(r":(\d+) <")  # of findings of the import, as in "arm.urdf:12 <link name='upper'>"
SARIF_LEVEL = {"error": "error", "warning": "warning", "info": "note"}


@dataclass(frozen=True)
class AuditFinding:
    """One finding: the rule's name, its severity, where, what, and the cure; `accepted` is the reason it may stay."""

    rule: str
    severity: Severity
    where: str
    what: str
    cure: str
    accepted: str = ""

    def __str__(self) -> str:
        text = f"{self.severity}: {self.where}: {self.what} [{self.rule}]"
        return f"{text} (accepted: {self.accepted})" if self.accepted else f"{text}; {self.cure}"


class Skipped(NamedTuple):
    """A rule that did not run, or not on all of the robot, and why; blocked: it should have run."""

    rule: str
    because: str
    blocked: bool

    def __str__(self) -> str:
        return f"not run: {self.rule}, because {self.because}"


class Verdict(NamedTuple):
    """One step of the checklist.

    status: "failed" on errors or warnings; "passed" when all its rules ran without; "partly" when only some of them
    ran, without; else "not run". Rules that only prepare others of the step, as that a log has no NaN, do not count.
    """

    number: int
    title: str
    status: Literal["passed", "failed", "partly", "not run"]
    failed: tuple[str, ...]  # rules with an error or a warning
    passed: tuple[str, ...]  # rules without
    because: tuple[str, ...]  # why rules did not run
    noted: tuple[str, ...] = ()  # rules among those passed that have a remark
    missing: tuple[str, ...] = ()  # rules that did not run, or not on all of the robot

    def __str__(self) -> str:
        noted = f", with a remark: {', '.join(self.noted)}" if self.noted else ""
        lacking = f"; not checked: {', '.join(self.missing)}, because {'; '.join(self.because)}" if self.missing else ""
        verdict = f"failed: {', '.join(self.failed)}" if self.failed else self.status
        if self.status == "partly":
            checked = len(self.passed)
            verdict = f"{checked} of {checked + len(self.missing)} checked, none failed"
        elif self.status == "not run":
            verdict, lacking = f"not run because {'; '.join(self.because)}", ""
        return f"{self.number:2} {self.title}: {verdict}{noted}{lacking}"


@dataclass(frozen=True)
class Audit:
    """The findings of an audit, worst first.

    `ok`: no error is left that was not accepted, and no rule was blocked. `skipped`: what did not run, and why.
    """

    robot: str
    findings: tuple[AuditFinding, ...]
    passed: tuple[str, ...]  # rules that ran and found nothing
    facts: dict[str, Any]  # joints, masses and such, for the table
    headroom: tuple[Headroom, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    rules: dict[str, Rule] = field(default_factory=dict)  # those requested

    def count(self, severity: str) -> int:
        """How many findings of that severity are not accepted."""
        return sum(f.severity == severity and not f.accepted for f in self.findings)

    @property
    def blocked(self) -> tuple[Skipped, ...]:
        """The rules that should have run and could not."""
        return tuple(item for item in self.skipped if item.blocked)

    @property
    def ok(self) -> bool:
        return self.count("error") == 0 and not self.blocked

    @property
    def failed(self) -> tuple[str, ...]:
        """The rules with an error or a warning that is not accepted."""
        severe = {f.rule for f in self.findings if f.severity != "info" and not f.accepted}
        return tuple(name for name in self.rules if name in severe)

    @property
    def checked(self) -> tuple[str, ...]:
        """The rules that ran on all of the robot, or failed on a part of it."""
        stopped = {item.rule for item in self.skipped}
        return tuple(name for name in self.rules if name not in stopped or name in self.failed)

    @property
    def steps(self) -> tuple[Verdict, ...]:
        """A verdict for each of the twelve steps of `STEPS`."""
        return tuple(self._verdict(name) for name in STEPS)

    def _verdict(self, name: str) -> Verdict:
        number, title, _ = STEPS[name]
        rules = [rule for rule in self.rules.values() if rule.step == name]
        failed = tuple(rule.name for rule in rules if rule.name in self.failed)
        passed = tuple(rule.name for rule in rules if rule.name in self.checked and rule.name not in failed)
        missing = tuple(rule.name for rule in rules if rule.name not in self.checked)
        remarks = {f.rule for f in self.findings if f.severity == "info" and not f.accepted}
        noted = tuple(name for name in passed if name in remarks)
        why = dict.fromkeys(item.because for item in self.skipped if item.rule in {rule.name for rule in rules})
        because = tuple(why) if rules else ("none of its rules was asked for",)
        prepare = {name for rule in rules for name in rule.needs}  # rules that others build on do not answer for them
        answered = set(passed) - prepare
        status: Literal["passed", "failed", "partly", "not run"] = "not run"
        if failed or answered:
            status = "failed" if failed else "partly" if missing else "passed"
        return Verdict(number, title, status, failed, passed, because, noted, missing)

    def summary(self) -> str:
        """How many rules were checked, how many failed, and the counts, in one line."""
        counts = ", ".join(f"{(n := self.count(s))} {s if s == 'info' or n == 1 else s + 's'}" for s in SEVERITIES)
        blocked = len({item.rule for item in self.blocked})
        could = f", {blocked} could not run" if blocked else ""
        return f"{len(self.checked)} of {len(self.rules)} checked, {len(self.failed) or 'none'} failed{could}: {counts}"

    def __str__(self) -> str:
        load = self.facts.get("payload")
        lines = [f"audit of {self.robot}: {self.summary()}"]
        lines += [f"  payload: {load:g} kg at frame '{self.facts['frame']}'"] if load else []
        lines += [f"  {Motors(**motors)}"] if (motors := self.facts.get("motors")) else []
        lines += [f"  {finding}" for finding in self.findings]
        lines += [f"  {item}" for item in self.skipped]
        if rows := [row for row in self.headroom if np.isfinite(row.ratio)]:
            least = min(rows, key=lambda row: row.ratio)
            lines.append(
                f"  tightest motor: joint '{least.joint}' holds {least.gravity:.4g} against gravity at its worst, "
                f"{least.limit:.4g} is its limit ({least.ratio:.2f} times)"
            )
        lines += [
            f"  step {verdict}" for verdict in self.steps if verdict.because != ("none of its rules was asked for",)
        ]
        return "\n".join(lines)

    def json(self) -> str:
        """Everything as JSON text."""
        content = {
            "robot": self.robot,
            "ok": self.ok,
            "checked": self.checked,
            "failed": self.failed,
            "facts": self.facts,
            "steps": [verdict._asdict() for verdict in self.steps],
            "passed": self.passed,
            "findings": [asdict(finding) for finding in self.findings],
            "not_run": [item._asdict() for item in self.skipped],
            "headroom": [
                {**row._asdict(), "limit": row.limit if np.isfinite(row.limit) else None, "q": row.q.tolist()}
                for row in self.headroom
            ],
        }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    def sarif(self, file: str = "") -> str:
        """The findings as SARIF 2.1.0, which code hosts show beside the file; notifications: rules that did not run."""
        rules = [
            {"id": r.name, "shortDescription": {"text": r.reason}, "help": {"text": r.cure}}
            for r in self.rules.values()
        ]
        driver = {"name": "dalembert audit", "rules": rules}
        notes = [
            {
                "level": "error" if item.blocked else "note",
                "message": {"text": str(item)},
                "associatedRule": {"id": item.rule},
            }
            for item in self.skipped
        ]
        run = {
            "tool": {"driver": driver},
            "invocations": [{"executionSuccessful": not self.blocked, "toolExecutionNotifications": notes}],
            "results": [_sarif_result(finding, file) for finding in self.findings],
        }
        schema = "https://json.schemastore.org/sarif-2.1.0.json"
        return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)

    def _repr_html_(self) -> str:
        columns = ("severity", "where", "what", "cure", "rule")
        rows = [(f.severity, f.where, f.what, f"accepted: {f.accepted}" if f.accepted else f.cure, f.rule)
                for f in self.findings]  # fmt: skip
        return html(f"audit of {self.robot}: {self.summary()}", columns, rows, map(str, self.steps))

    def __repr__(self) -> str:
        return f"<Audit of {self.robot!r}: {self.summary()}>"


def _sarif_result(finding: AuditFinding, file: str) -> dict[str, Any]:
    place: dict[str, Any] = {}
    if file:
        place = {"physicalLocation": {"artifactLocation": {"uri": quote(Path(file).as_posix())}}}
        if line := LINE.search(finding.where):
            place["physicalLocation"]["region"] = {"startLine": int(line[1])}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": SARIF_LEVEL[finding.severity],
        "message": {"text": f"{finding.where}: {finding.what}. {finding.cure}"},
        "locations": [{**place, "logicalLocations": [{"name": finding.where}]}],
    }
    if finding.accepted:
        result["suppressions"] = [{"kind": "external", "justification": finding.accepted}]
    return result
