"""The twelve steps of the checklist, the rules that judge them, and findings that were accepted.

To add a rule, in any file: decorate a function of a `Subject` with `rule`.
"""

from __future__ import annotations

import fnmatch
import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from dalembert.errors import DalembertError, unknown
from dalembert.files import read_toml

if TYPE_CHECKING:
    from .subject import Subject


class Step(NamedTuple):
    """One step of the checklist: its number, its title, and its question."""

    number: int
    title: str
    question: str


_STEPS = {
    "authoring": ("Authoring", "are joints, axes, limits and names what the drawing means?"),
    "inertia": ("Inertia", "do masses and inertias fit the shapes, and each other?"),
    "intent": ("Sizes and names", "are base, coordinates, names, masses and reach those of the design?"),
    "gravity": ("Gravity", "are gravity torques those of a calculation by hand, and can the motors hold them?"),
    "mass-matrix": ("Mass matrix", "is M symmetric, positive definite and well conditioned?"),
    "passivity": ("Passivity", "is Ṁ − 2C skew, and is energy kept?"),
    "identification": ("Identification", "can parameters be identified from the log?"),
    "friction": ("Friction", "is there a friction model, of plausible size?"),
    "integrator": ("Integrator and step", "is the simulation's step small enough?"),
    "contact": ("Contact", "are friction and stiffness plausible, and do runs keep the laws of contact?"),
    "controller": ("Controller", "is the bandwidth below the resonance, and damped?"),
    "log": ("Log against model", "does the model explain the torques that were measured?"),
}
STEPS: dict[str, Step] = {name: Step(k + 1, *texts) for k, (name, texts) in enumerate(_STEPS.items())}


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
    data = read_toml(path)
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
