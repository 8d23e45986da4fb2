"""Every verdict of the package stands in the table of docs/audit.md, with what it reads."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import dalembert

WORDS = {
    "ok", "verdict", "verdicts", "status", "converged", "solved", "unsolved", "missed", "failed", "doubts", "enough",
    "allowed", "notable", "steady", "unsettled", "unfinished", "success", "feasible", "decides", "complete", "passed",
    "why", "beyond", "settled",
}  # fmt: skip
# results of inner iterations, and inputs
INNER = {
    "AdaptiveClock", "Binary", "Chunk", "ConstraintImpulses", "ExcitationSettings", "InteriorPoint", "NewtonClock",
    "Limits", "Loop", "Memory", "Optimum", "Ordered", "PolishLimits",
    "QuadraticSolution", "Repetition", "Solved", "Surroundings", "Trigger", "Turned", "Unsolved",
}  # fmt: skip


def classes():
    """The classes of the package that need no other library."""
    for found in pkgutil.walk_packages(dalembert.__path__, "dalembert."):
        if "__main__" in found.name:
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            continue
        yield from (x for x in vars(module).values() if inspect.isclass(x) and x.__module__ == found.name)


def test_the_table_of_verdicts_is_whole():
    told = set(re.findall(r"`([A-Z]\w+\.\w+)`", Path("docs/audit.md").read_text(encoding="utf-8")))
    known = set()
    for each in classes():
        names = set(inspect.get_annotations(each)) | {k for k, v in vars(each).items() if isinstance(v, property)}
        if each.__name__[0] != "_" and each.__name__ not in INNER:
            known |= {f"{each.__name__}.{name}" for name in names & WORDS}
    assert known - {"Validation.verdicts"} == told
