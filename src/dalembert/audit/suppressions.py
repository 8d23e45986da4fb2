"""Findings that were reviewed and accepted: a small TOML file beside the robot."""

from __future__ import annotations

import fnmatch
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from dalembert.errors import DalembertError, unknown

from .rule import RULES

KEYS = ("rule", "where", "reason")


@dataclass(frozen=True)
class Suppression:
    """Accepts findings of a rule; `where` is a pattern as in file names (`*` by default), `reason` is required."""

    rule: str
    reason: str
    where: str = "*"

    def covers(self, rule: str, where: str) -> bool:
        return rule == self.rule and fnmatch.fnmatchcase(where, self.where)


def read_suppressions(path: str | os.PathLike[str]) -> tuple[Suppression, ...]:
    """Read a file of `[[accept]]` tables with `rule`, `reason` and perhaps `where`."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DalembertError(f"{path}: cannot be read: {error}") from None
    entries = data.get("accept", [])
    if not isinstance(entries, list) or set(data) - {"accept"}:
        raise DalembertError(f"{path}: expected [[accept]] tables with rule, where and reason, and nothing else")
    return tuple(_entry(f"{path}: [[accept]] number {k + 1}", entry) for k, entry in enumerate(entries))


def _entry(where: str, entry: object) -> Suppression:
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise DalembertError(f"{where}: expected texts for rule, where and reason")
    for key in entry:
        if key not in KEYS:
            raise unknown("key", key, KEYS, where)
    if entry.get("rule") not in RULES:
        raise unknown("rule", str(entry.get("rule")), RULES, where)
    if not entry.get("reason", "").strip():
        raise DalembertError(f"{where}: has no reason; say why the finding is accepted")
    return Suppression(**entry)
