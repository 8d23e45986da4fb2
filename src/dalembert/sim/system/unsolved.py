"""Programs inside laws, such as the whole-body program: at how many states of a motion they have no solution."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Call, Recent, code, is_traced
from dalembert.errors import DalembertError
from dalembert.math.arrays import asked
from dalembert.model import Model
from dalembert.quantities.guards import function_call

from .planner import Planner
from .sampled import Sampled

_collected: ContextVar[list[tuple[str, Any]] | None] = ContextVar("programs of a law", default=None)
_counts: dict[str, tuple[int, int]] = {}  # of calls with numbers: program → (calls, those without a solution)
_recent = Recent(16)


def note(name: str, solved: Any) -> None:
    """Report a program's solution, with 1 where it keeps all its rows and 0 where none does, as the law computes it."""
    calls, missed = _counts.get(name, (0, 0))
    if not is_traced(solved):
        good = np.asarray(solved) > 0.5
        calls, missed = calls + good.size, missed + int(np.sum(~good))
    _counts[name] = calls, missed
    if (collected := _collected.get()) is not None:
        collected.append((name, solved))


def counts() -> dict[str, tuple[int, int]]:
    """Calls with numbers until now, and those without a solution, by program."""
    return dict(_counts)


class Unsolved(NamedTuple):
    """name of a program; missed (…): whether it has no solution, at each state of a motion."""

    name: str
    missed: np.ndarray


def unsolved(model: Model, torque: Any, t: Any, q: np.ndarray, v: np.ndarray) -> list[Unsolved]:
    """The programs of a law at states t (…), q (…, nq), v (…, nv); of controllers, of those that keep no state."""
    if not _counts or torque is None:
        return []
    chain = torque.chain() if isinstance(torque, Sampled) else ()
    laws = [each.law for each in chain if not each.keeps and not each.inputs] if chain else [torque]
    found = []
    for law in laws:
        if not callable(law) or isinstance(law, Planner):
            continue
        names, call = _recent.get(code(model, law), partial(_compiled, model, law))
        if names:
            times = np.broadcast_to(np.asarray(t, float), q.shape[:-1])[..., None]
            solved = call(np.ascontiguousarray(times), q, v, check=False)
            found += [Unsolved(name, solved[..., k] < 0.5) for k, name in enumerate(names)]
    return found


def _compiled(model: Model, law: Any) -> tuple[list[str], Call | None]:
    """Names of the programs in a law, and whether each has a solution, as a call of t, q, v."""
    names: list[str] = []

    def compute(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        token = _collected.set([])
        try:
            asked(law, t[0], q, v)
            found = [each for each in _collected.get() or () if is_traced(each[1])]
        finally:
            _collected.reset(token)
        names[:] = [name for name, _ in found]
        return np.array([solved for _, solved in found] or [0.0 * t[0]], object)

    try:
        call = function_call(model, "programs of a law", {"t": 1, "q": model.nq, "v": model.nv}, compute)
    except (DalembertError, TypeError, ValueError):  # it is called with numbers, or takes more than t, q, v
        return [], None
    return names, call


def remarks(model: Model, torque: Any, before: dict[str, tuple[int, int]], t: Any, q: Any, v: Any) -> list[str]:
    """Lines for the log of a run: programs without a solution in calls since `before`, and at its recorded states."""
    lines = []
    for name, (calls, missed) in counts().items():
        earlier = before.get(name, (0, 0))
        if missed > earlier[1]:
            lines.append(
                f"{name}: in {missed - earlier[1]} of {calls - earlier[0]} calls no torques kept all rows, and those "
                "that miss them least were taken; solve(…).why names the rows"
            )
    kept_in_secret = isinstance(torque, Sampled) and not torque.declared  # such a law is asked at its samples alone
    for each in [] if kept_in_secret else unsolved(model, torque, t, q, v):
        if each.missed.any():
            lines.append(
                f"{each.name}: at {int(each.missed.sum())} of {each.missed.size} recorded times, first at t = "
                f"{float(t[int(np.argmax(each.missed))]):.6g} s, no torques keep all rows, and those that miss them "
                "least are taken; solve(…).why names the rows"
            )
    laws = [each.law for each in torque.chain()] if isinstance(torque, Sampled) else [torque]
    return lines + [line for law in laws if hasattr(law, "remarks") for line in law.remarks()]
