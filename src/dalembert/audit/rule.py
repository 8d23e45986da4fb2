"""Rules, and the list of them. To add one, in any file: decorate a function of a `Subject` with `rule`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from dalembert.errors import DalembertError, unknown

from .steps import STEPS

if TYPE_CHECKING:
    from .subject import Subject

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
BUILT_IN = "dalembert."  # modules whose rules no other module may replace


class Found(NamedTuple):
    """One problem: where (a joint, a link, the robot), what, and a severity if it differs from the rule's."""

    where: str
    what: str
    severity: Severity | None = None


class NotRun(Exception):
    """Why a rule, or part of it, could not run: raised, or yielded beside the findings of its other parts.

    blocked: it should have run, and the model or the question is what stops it; the audit is then not ok. Otherwise it
    was not asked for, or does not apply.
    """

    def __init__(self, because: str, *, blocked: bool = False) -> None:
        super().__init__(because)
        self.because, self.blocked = because, blocked


Look = Callable[["Subject"], Iterable[Found | NotRun]]
Item = TypeVar("Item")


def demand(items: Sequence[Item], because: str) -> Sequence[Item]:
    """The items that a rule looks at. Without any the rule does not run: it would pass with nothing checked."""
    if not items:
        raise NotRun(because)
    return items


@dataclass(frozen=True)
class Rule:
    """A check: `look(subject)` yields problems, or why something could not be checked.

    name: as suppressions name it. step: of the checklist, a name of `STEPS`. reason: why it matters. cure: what to do.
    severity: "error" (results cannot be trusted), "warning" (probably a slip), "info" (worth knowing).
    needs: rules that must have found no error before this one can run.
    """

    name: str
    step: str
    severity: Severity
    reason: str
    cure: str
    look: Look
    needs: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Callable[..., Rule], tuple[object, ...]]:
        # Its function is known to `RULES` alone (the decorated name is the rule), and there to the module that has it.
        module = getattr(self.look, "__module__", "")
        return _entered, (module, self.name, self.step, self.severity, self.reason, self.cure, self.needs)


RULES: dict[str, Rule] = {}


def _entered(
    module: str, name: str, step: str, severity: Severity, reason: str, cure: str, needs: tuple[str, ...]
) -> Rule:
    """The rule of that name, in whatever process; where its file was not run, one that tells so when it should look."""
    if name not in RULES and module.startswith(BUILT_IN):
        importlib.import_module(module)
    return RULES.get(name) or Rule(name, step, severity, reason, cure, _look_elsewhere, needs)


def _look_elsewhere(_: Subject) -> Iterable[Found | NotRun]:
    yield NotRun("its function is in another process: load_rules(file) enters it here", blocked=True)


def rule(
    name: str, step: str, severity: Severity, *, reason: str, cure: str, needs: tuple[str, ...] = ()
) -> Callable[[Look], Rule]:
    """Enter a function into the list of rules, and return the rule.

    A rule of your own under the same name as before replaces it, so that a file or a notebook cell can be run again.
    """
    if step not in STEPS:
        raise unknown("step", step, STEPS, f"rule {name!r}")
    if severity not in SEVERITIES:
        raise unknown("severity", severity, SEVERITIES, f"rule {name!r}")

    def enter(look: Look) -> Rule:
        present = RULES.get(name)
        if present is not None and _built_in(present.look) and not _built_in(look):
            raise DalembertError(f"rule {name!r} is one of the package's own: give yours another name")
        RULES[name] = Rule(name, step, severity, reason, cure, look, needs)
        return RULES[name]

    return enter


def _built_in(look: Look) -> bool:
    return getattr(look, "__module__", "").startswith(BUILT_IN)
