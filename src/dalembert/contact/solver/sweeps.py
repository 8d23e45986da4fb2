"""Sweeps over all contacts of a table, there and back, until all are settled.

They solve for each contact beside the others (block Gauss-Seidel); for one state at a time, contacts without a common
row are solved for together. Between sweeps the impulses go on along the direction of the last changes, as conjugate
gradients would, which takes stacks to rest in tens of sweeps instead of hundreds (Silcowitz-Niebe, Abel, Erleben 2010).
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.math import logical_or, map, maximum, minimum, repeat, where

from .arrays import chosen, largest_and_total
from .contacts import Begin, Records, nothing_more, where_it_is
from .iteration import settled
from .motions import Moved
from .row_laws import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .problem import ContactProblem

SWEEPS = 400  # at most
WORSE = 8.0  # times the smallest change so far: sweeps go back to where that was
FINE = 8  # sweeps towards a finer change than the tolerance
SLOW_AT_FIRST, AT_FIRST = (3, 4.0)  # sweeps before their pace counts, and times the smallest change of these


class Swept(NamedTuple):
    """p: impulses of all contacts and rows, slip (k,), change [m/s]: the largest of a sweep, passes: their number."""

    p: np.ndarray
    slip: np.ndarray
    change: Any
    passes: Any


class _Pass(NamedTuple):
    """State from which sweeps go on: `along` leads from the sweeps before to p, and further by a share of it.

    better: whether p is the best so far, else best_p; lost: whether it is worse by far, so that they go back.
    """

    p: np.ndarray
    slip: np.ndarray
    along: np.ndarray
    best_p: np.ndarray
    best_slip: np.ndarray
    w: np.ndarray
    w_along: np.ndarray
    best_w: np.ndarray
    length: Any
    share: Any
    lost: Any
    better: Any
    smallest: Any
    slowest: Any
    count: Any


class Sweeps:
    """Sweeps over the kinds of contacts of a problem, then its rows, whose impulses stand behind w in one vector.

    row_start: impulses of rows from which they start. tolerance, finer: changes of velocities, as in `iteration`.
    """

    def __init__(self, problem: ContactProblem, row_start: np.ndarray, tolerance: Any, finer: Any) -> None:
        self.problem, self.row_start, self.tolerance, self.finer = problem, row_start, tolerance, finer
        self.count = problem.kinds[0].count if len(problem.kinds) == 1 else None  # places beyond it count as 0

    def solved(self, p: np.ndarray, slip: np.ndarray, scale: Any, pace: float | None) -> Swept:
        """Sweeps from p (k, 3 + m) and slip (k,) of all contacts on, until all is settled; scale: of velocities.

        pace: of what they change after some sweeps they go on as long as each leaves less than this share of it on
        average, also beyond the tolerance, towards the finer one; None: in any case.
        """
        w = self._pushed(p)
        state: dict[str, Any] = {"p": p.T, "slip": slip, "along": np.zeros(p.T.shape), "best_p": p.T, "best_slip": slip}
        state |= {"w": w, "w_along": np.zeros(w.shape), "best_w": w, "length": ANY, "share": 0.0}
        state |= {"lost": 0.0, "better": 1.0, "smallest": ANY, "slowest": ANY, "count": 0.0, "done": 0.0}

        def sweep(*parts: Any) -> Records:
            last = _Pass(*parts[:-1])
            there, row_change = self._there(last)
            back, change, square = self._back(there, row_change)
            tolerance = self.finer if pace is not None else where(last.count < FINE, self.finer, self.tolerance)
            done = settled(change, tolerance, scale)
            lost = change > WORSE * last.smallest
            straight = logical_or(logical_or(square >= last.length, done > 0.0), lost)
            slowest = where(last.count < SLOW_AT_FIRST, AT_FIRST * minimum(change, last.slowest), last.slowest)
            if pace is not None:
                slowest = where(last.count < SLOW_AT_FIRST, slowest, pace * slowest)
                done = where(minimum(change, last.smallest) > slowest, 1.0, done)
            return {
                **back,
                "length": where(lost, ANY, square),
                "share": where(straight, 0.0, square / maximum(last.length, 1.0 / ANY)),
                "lost": where(lost, 1.0, 0.0),
                "better": where(change <= last.smallest, 1.0, 0.0),
                "smallest": minimum(change, last.smallest),
                "slowest": slowest,
                "count": last.count + 1.0,
                "done": done,
            }

        end = repeat(sweep, SWEEPS, state, "done")
        better = end["better"] > 0.5
        p, slip, w = (chosen(better, end[name], end[f"best_{name}"]) for name in ("p", "slip", "w"))
        rows = w[self.problem.size :]
        return Swept(self.problem.joined(self.problem.by_kind(p.T), rows), slip, end["smallest"], end["count"])

    def _there(self, last: _Pass) -> tuple[Records, Any]:
        """From the first contact to the last, from where the changes before lead on to, or from the best so far."""
        lost, better = last.lost > 0.5, last.better > 0.5

        def moved_on(w: Any, along: Any, best: Any) -> Records:
            kept = where(lost, 0.0, last.share * along)
            return {"w_start": where(lost, best, w + kept), "w_along": kept, "best_w": where(better, w, best)}

        moved = map(moved_on, {"w": last.w, "w_along": last.w_along, "best_w": last.best_w})

        def begin(p: Any, slip: Any, along: Any, best_p: Any, best_slip: Any) -> tuple[Any, Any, Records]:
            kept = where(lost, 0.0, last.share * along)
            start = where(lost, best_p, p + kept)
            best = {"best_p": where(better, p, best_p), "best_slip": where(better, slip, best_slip)}
            return start, where(lost, best_slip, slip), {"start": start, "along": kept} | best

        states = {"p": last.p.T, "slip": last.slip, "along": last.along.T, "best_p": last.best_p.T}
        after = self._each(begin, nothing_more, states | {"best_slip": last.best_slip}, moved["w_start"], False)
        after["w"], change = self._rows_swept(after["w"], 0.0)
        return after | moved, change

    def _back(self, there: Records, change: Any) -> tuple[Records, Any, Any]:
        """From the last contact to the first; then the largest velocity that both changed, and a square of changes.

        change: of rows on the way there. along: all that has changed since the pass began, and before.
        """

        def added(new: Any, sizes: Any, most: Any, start: Any, along: Any, moved: Any, **_: Any) -> Records:
            change = new - start
            return {"along": along + change, "square": (sizes * change) @ change, "most": maximum(most, moved)}

        states = {name: there[name] for name in ("p", "slip", "start", "along", "moved")}
        w, row_change = self._rows_swept(there["w"], change)
        after = self._each(where_it_is, added, states, w, True)
        most, square = largest_and_total(after["most"], after["square"], self.count)

        def moved_on(w: Any, start: Any, along: Any) -> Records:
            return {"along": along + (w - start)}

        moves = {"w": after["w"], "start": there["w_start"], "along_w": there["w_along"]}
        state = {"p": after["p"].T, "slip": after["slip"], "along": after["along"].T}
        state |= {"best_p": there["best_p"].T, "best_slip": there["best_slip"], "w": after["w"]}
        state |= {"w_along": map(moved_on, moves)["along"], "best_w": there["best_w"]}
        return state, maximum(most, row_change), square

    def _pushed(self, p: np.ndarray) -> np.ndarray:
        """w of impulses p, with those of rows behind it."""
        w = self.problem.pushed(self.problem.joined(self.problem.by_kind(p), self.row_start))
        return np.concatenate([w, self.row_start])

    def _each(
        self,
        begin: Begin,
        added: Callable[..., Records],
        states: Mapping[str, np.ndarray],
        w: np.ndarray,
        reverse: bool,
    ) -> dict[str, Any]:
        """`Contacts.swept`, kind after kind; in reverse from the last."""
        problem = self.problem
        kinds, at, rows = problem.kinds, Moved.split(w[: problem.size], problem.n), w[problem.size :]
        parts = {name: problem.by_kind(x) for name, x in states.items()}
        results: dict[int, dict[str, Any]] = {}
        for i in range(len(kinds))[:: -1 if reverse else 1]:
            of_kind = {name: x[i] for name, x in parts.items()}
            results[i] = kinds[i].swept(begin, added, of_kind, at, reverse)
            at = results[i].pop("w")
        joined = {name: np.concatenate([results[i][name] for i in range(len(kinds))]) for name in results[0]}
        return joined | {"w": np.concatenate([at.flat(), rows])}

    def _rows_swept(self, w: np.ndarray, most: Any) -> tuple[np.ndarray, Any]:
        """w after each row in turn, and the largest velocity that any has changed, at least `most`."""
        n, end = self.problem.n, self.problem.size
        if end == len(w):
            return w, most
        rows, joints, changes = self.problem.rows.swept(w[end:], w[:n])
        return np.concatenate([joints, w[n:end], rows]), reduce(maximum, changes, most)
