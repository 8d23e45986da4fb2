"""The import ledger: what a reader saw, assumed or left out, with file and line.

A reader never changes physics in silence. Whatever it drops, repairs or assumes becomes a `Finding`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal

from dalembert.errors import DalembertError

Severity = Literal["info", "warning"]


@dataclass(frozen=True)
class Finding:
    """One entry of `robot.import_log`.

    severity: "info" (nothing physical was lost) or "warning" (physics dropped, repaired, assumed, or not physical).
    where: file and line with the element, as in "arm.urdf:12 <joint name='elbow'>".
    what: what the file says. action: how it was handled.
    """

    severity: Severity
    where: str
    what: str
    action: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}; {self.action}"


@dataclass
class Ledger:
    """Collects findings while a file is read; the order is that of the file's elements as visited."""

    findings: list[Finding] = field(default_factory=list)
    _groups: dict[tuple[str, str], str] = field(default_factory=dict)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def info(self, where: str, what: str, action: str) -> None:
        """Log something that leaves the physics as the file states it."""
        self.findings.append(Finding("info", where, what, action))

    def warning(self, where: str, what: str, action: str) -> None:
        """Log physics that was dropped, repaired, assumed or is impossible: an error under `strict=True`."""
        self.findings.append(Finding("warning", where, what, action))

    def count(self, where: str, what: str, action: str) -> None:
        """Log one of many equal findings: they become one info line with their number and the first place."""
        key = (what, action)
        self._groups.setdefault(key, where)
        self._counts[key] += 1

    def take(self, other: Ledger) -> None:
        """Add the findings of another ledger."""
        if other is not self:
            self.findings += other.findings
            self._groups = {**other._groups, **self._groups}
            self._counts += other._counts

    def close(self, *, strict: bool) -> tuple[Finding, ...]:
        """All findings, equal ones as one; under `strict` a `DalembertError` that lists every warning."""
        alike: dict[tuple[str, str, str], list[Finding]] = {}
        for finding in self.findings:
            alike.setdefault((finding.severity, finding.what, finding.action), []).append(finding)
        single = [_merged(findings) for findings in alike.values()]
        grouped = [
            Finding("info", where, f"{self._counts[key]} × {key[0]}" if self._counts[key] > 1 else key[0], key[1])
            for key, where in self._groups.items()
        ]
        findings = (*single, *grouped)
        warnings = [f for f in findings if f.severity == "warning"]
        if strict and warnings:
            lines = "\n".join(f"  {f.where}: {f.what}; otherwise {f.action}" for f in warnings)
            raise DalembertError(
                f"strict=True and {len(warnings)} finding(s) concern the physics of the robot:\n{lines}\n"
                "correct the file, or load it without strict=True and read robot.import_log"
            )
        return findings


def _merged(findings: list[Finding]) -> Finding:
    """One finding for equal ones, at the place of the first."""
    first = findings[0]
    return first if len(findings) == 1 else replace(first, what=f"{len(findings)} × {first.what}")
