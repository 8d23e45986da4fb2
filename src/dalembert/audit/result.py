"""Running the rules, and what comes out: findings, a score, text, JSON and SARIF."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot

from . import inertia, laws, motors, structure  # noqa: F401  (their rules enter the list)
from .rule import RULES, SEVERITIES, Found, Rule, Severity
from .subject import Subject
from .suppressions import Suppression

LINE = re.compile(r":(\d+) <")  # of findings of the import, as in "arm.urdf:12 <link name='upper'>"
COST = {"error": 25, "warning": 5, "info": 0}
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


@dataclass(frozen=True)
class Audit:
    """What an audit found, worst first; `ok` when no error is left that was not accepted."""

    robot: str
    findings: tuple[AuditFinding, ...]
    passed: tuple[str, ...]  # rules that found nothing
    facts: dict[str, Any]  # joints, masses and such, for the table
    headroom: tuple[motors.Headroom, ...] = ()

    def count(self, severity: str) -> int:
        """How many findings of that severity are not accepted."""
        return sum(f.severity == severity and not f.accepted for f in self.findings)

    @property
    def ok(self) -> bool:
        return self.count("error") == 0

    @property
    def score(self) -> int:
        """100 for a model without errors and warnings; an error costs 25, a warning 5."""
        return max(0, 100 - sum(COST[f.severity] for f in self.findings if not f.accepted))

    def __str__(self) -> str:
        counts = ", ".join(f"{self.count(s)} {s if s == 'info' else s + 's'}" for s in SEVERITIES)
        head = f"audit of {self.robot}: score {self.score} of 100, {counts}, {len(self.passed)} rules passed"
        load = self.facts.get("payload")
        held = [f"  payload: {load:g} kg at frame '{self.facts['frame']}'"] if load else []
        lines = [head, *held, *(f"  {finding}" for finding in self.findings)]
        if rows := [row for row in self.headroom if np.isfinite(row.ratio)]:
            least = min(rows, key=lambda row: row.ratio)
            lines.append(
                f"  tightest motor: joint '{least.joint}' holds {least.gravity:.4g} against gravity at its worst, "
                f"{least.limit:.4g} is its limit ({least.ratio:.2f} times)"
            )
        return "\n".join(lines)

    def json(self) -> str:
        """Everything as JSON text."""
        rows = [{**row._asdict(), "q": row.q.tolist()} for row in self.headroom]
        content = {"robot": self.robot, "score": self.score, "ok": self.ok, "facts": self.facts, "passed": self.passed}
        findings = [asdict(finding) for finding in self.findings]
        return json.dumps({**content, "findings": findings, "headroom": rows}, indent=2, ensure_ascii=False)

    def sarif(self, file: str = "") -> str:
        """The findings as SARIF 2.1.0, which code hosts show beside the robot's file."""
        rules = [
            {"id": r.name, "shortDescription": {"text": r.reason}, "help": {"text": r.cure}} for r in RULES.values()
        ]
        driver = {"name": "dalembert audit", "rules": rules}
        results = [_sarif_result(finding, file) for finding in self.findings]
        run = {"tool": {"driver": driver}, "results": results}
        schema = "https://json.schemastore.org/sarif-2.1.0.json"
        return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def run_audit(
    robot: Robot,
    *,
    payload: float = 0.0,
    frame: str | None = None,
    rules: Iterable[str] | None = None,
    accept: Sequence[Suppression] = (),
) -> Audit:
    """Run the rules (all, or those named) on a robot; see `Robot.audit`."""
    subject = Subject(robot, payload, frame, robot.import_log)
    if payload or frame is not None:
        subject.check_load()
    names = list(RULES if rules is None else rules)
    for name in names:
        if name not in RULES:
            raise unknown("rule", name, RULES, "audit")
    chosen = [RULES[name] for name in names]
    findings: list[AuditFinding] = []
    passed = []
    blocked = not robot.nv  # a robot without a mass matrix has no dynamics to try
    for rule in chosen:
        if blocked and rule.group in ("laws", "motors"):
            continue
        found = [_finding(rule, item, accept) for item in _looked(rule, subject)]
        findings += found
        passed += [] if found else [rule.name]
        blocked |= bool(found) and rule.name == "mass-missing"
    order = {severity: k for k, severity in enumerate(SEVERITIES)}
    findings.sort(key=lambda f: (bool(f.accepted), order[f.severity]))
    table = () if blocked or not subject.carried or rules is not None else tuple(motors.headroom(subject))
    return Audit(robot.name, tuple(findings), tuple(passed), _facts(subject), table)


def _looked(rule: Rule, subject: Subject) -> list[Found]:
    """What a rule finds; a rule that breaks is itself a finding, never a crash of the audit."""
    try:
        return list(rule.look(subject))
    except DalembertError as error:
        return [Found(f"robot '{subject.model.name}'", f"could not be asked: {error}", "warning")]


def _finding(rule: Rule, found: Found, accept: Sequence[Suppression]) -> AuditFinding:
    reason = next((s.reason for s in accept if s.covers(rule.name, found.where)), "")
    return AuditFinding(rule.name, found.severity or rule.severity, found.where, found.what, rule.cure, reason)


def _facts(subject: Subject) -> dict[str, Any]:
    model = subject.model
    kinds = [body.joint.kind for body in subject.moving]
    return {
        "base": model.bodies[0].joint.kind,
        "nq": model.nq,
        "nv": model.nv,
        "bodies": len(model.bodies),
        "joints": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "loops": len(model.closures),
        "mass": subject.mass,
        "payload": subject.payload,
        "frame": subject.tool if subject.payload else None,
    }


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
