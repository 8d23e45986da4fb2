"""Running the rules on a robot: each once, those it needs first, and never a crash of the audit."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterable, Sequence
from typing import Any

from dalembert.errors import DalembertError, unknown
from dalembert.model import motors_of
from dalembert.progress import each
from dalembert.robot import Robot

from . import axes, control, drives, gravity, inertia, intent, laws, logs, solidity, structure, touching  # noqa: F401  (their rules enter the list)
from .expectations import Expectations, read_expectations
from .result import Audit, AuditFinding, Skipped
from .rule import RULES, SEVERITIES, Found, NotRun, Rule, Suppression
from .subject import Subject


def run_audit(
    robot: Robot,
    *,
    payload: float = 0.0,
    frame: str | None = None,
    rules: Iterable[str | Rule] | None = None,
    accept: Sequence[Suppression] = (),
    expect: Expectations | str | os.PathLike[str] | None = None,
    motion: logs.MeasuredMotion | None = None,
    run: Any = None,
) -> Audit:
    """Run the rules (all, or those named) on a robot; see `Robot.audit`."""
    logs.check_log(robot, motion)
    meant = expect if expect is None or isinstance(expect, Expectations) else read_expectations(expect)
    subject = Subject(robot, payload, frame, robot.import_log, meant, motion, run)
    if payload or frame is not None:
        subject.check_load()
    chosen = list(RULES.values()) if rules is None else [_rule(r) for r in rules]
    looks = _Looks(subject)
    findings: list[AuditFinding] = []
    passed: list[str] = []
    skipped: list[Skipped] = []
    for rule in each(chosen, f"audit of {robot.name}"):
        items = looks.of(rule)
        findings += [_finding(rule, item, accept) for item in items if isinstance(item, Found)]
        skipped += [Skipped(rule.name, item.because, item.blocked) for item in items if isinstance(item, NotRun)]
        passed += [] if items else [rule.name]
    order = {severity: k for k, severity in enumerate(SEVERITIES)}
    findings.sort(key=lambda f: (bool(f.accepted), order[f.severity]))
    table = subject.motors.rows if "motors" in vars(subject) else ()  # computed if a rule needed it
    used = {rule.name: rule for rule in chosen}
    return Audit(robot.name, tuple(findings), tuple(passed), _facts(subject), table, tuple(skipped), used)


class _Looks:
    """The findings of each rule, computed once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.known: dict[str, list[Found | NotRun]] = {}

    def of(self, rule: Rule) -> list[Found | NotRun]:
        if rule.name not in self.known:
            self.known[rule.name] = self._look(rule)
        return self.known[rule.name]

    def _look(self, rule: Rule) -> list[Found | NotRun]:
        for name in rule.needs:
            needed = _rule(name)
            items = self.of(needed)
            if any(isinstance(item, Found) and (item.severity or needed.severity) == "error" for item in items):
                return [NotRun(f"{name} found an error", blocked=True)]
            for item in items:
                if isinstance(item, NotRun):
                    return [item]
        items = []
        try:
            for item in rule.look(self.subject):
                items.append(item)
        except NotRun as reason:
            items.append(reason)
        except Exception as error:  # a rule may be a user's: its errors are part of the result
            items.append(NotRun(f"it ended with {type(error).__name__}: {error}", blocked=True))
        return items


def load_rules(path: str | os.PathLike[str]) -> list[Rule]:
    """Run a Python file of rules, and return those that it entered or changed."""
    before = dict(RULES)
    try:
        runpy.run_path(os.fspath(path), run_name="audit_rules")
    except OSError as error:
        raise DalembertError(f"{path}: cannot be read: {error.strerror or error}") from None
    except DalembertError:
        raise
    except Exception as error:
        raise DalembertError(f"{path}: ended with {type(error).__name__}: {error}") from error
    return [entered for name, entered in RULES.items() if before.get(name) is not entered]


def _rule(wanted: str | Rule) -> Rule:
    if isinstance(wanted, Rule):
        return wanted
    if wanted not in RULES:
        raise unknown("rule", wanted, RULES, "audit")
    return RULES[wanted]


def _finding(rule: Rule, fault: Found, accept: Sequence[Suppression]) -> AuditFinding:
    reason = next((s.reason for s in accept if s.covers(rule.name, fault.where)), "")
    return AuditFinding(rule.name, fault.severity or rule.severity, fault.where, fault.what, rule.cure, reason)


def _facts(subject: Subject) -> dict[str, Any]:
    model = subject.model
    kinds = [body.joint.kind for body in subject.moving]
    return {
        "base": model.base.joint.kind,
        "nq": model.nq,
        "nv": model.nv,
        "bodies": len(model.bodies),
        "joints": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "loops": len(model.closures),
        "motors": motors_of(model)._asdict(),
        "mass": subject.mass,
        "payload": subject.payload,
        "frame": subject.tool if subject.payload else None,
    }
