"""What a rule is, and the list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .subject import Subject

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Found(NamedTuple):
    """One thing a rule found: where (a joint, a link, the robot), what, and another severity than the rule's."""

    where: str
    what: str
    severity: Severity | None = None


@dataclass(frozen=True)
class Rule:
    """A check: `look(subject)` yields what is wrong.

    name: as suppressions name it. group: heading of the table. reason: why it matters. cure: what to do.
    severity: "error" (results cannot be trusted), "warning" (probably a slip), "info" (worth knowing).
    """

    name: str
    group: str
    severity: Severity
    reason: str
    cure: str
    look: Callable[[Subject], Iterable[Found]]


RULES: dict[str, Rule] = {}


def rule(
    name: str, group: str, severity: Severity, *, reason: str, cure: str
) -> Callable[[Callable[[Subject], Iterable[Found]]], Callable[[Subject], Iterable[Found]]]:
    """Enter a function into the list of rules."""

    def enter(look: Callable[[Subject], Iterable[Found]]) -> Callable[[Subject], Iterable[Found]]:
        RULES[name] = Rule(name, group, severity, reason, cure, look)
        return look

    return enter
