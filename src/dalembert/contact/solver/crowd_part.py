"""Contacts of a crowd that are not settled yet, with all joints, as a problem of their own: see `islands`."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import map, maximum, repeat, take, visit, where

from .body_impulses import BodyContacts, Sweeps
from .body_parts import NAMES, TURNING
from .body_problem import PACE
from .crowd import IDENTITY, CrowdProblem, CrowdSweeps
from .islands import fitting_islands, gathered, labels_of, listed_bodies
from .iteration import ROUNDS, ConstraintImpulses, Iteration, settled
from .link_contacts import LinkSweeps

MOST = 48  # bodies of islands that Newton steps solve for together
SLOWER = 0.9  # a sweep over all that leaves more than this share of the changes before it is followed by Newton steps


def solved_crowd(
    problem: CrowdProblem, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any
) -> ConstraintImpulses:
    """The impulses of a crowd, from those and the slips of a step before on.

    A sweep over all; then rounds of Newton steps for what this has not settled, and sweeps again, which tell the error.
    """
    p, slip = start
    parts, rows = problem.split(p)
    sizes = [*absolute(problem.rows.c), *absolute(problem.rows.sizes * rows)]
    scale = reduce(maximum, [*(kind.scale(x) for kind, x in zip(problem.kinds, parts, strict=True)), *sizes])
    whole = Iteration(problem, tolerance, finer, scale)
    p, slip, _, change = problem.swept(p, slip, problem.pushed(p))
    begin = {"p": p, "slip": slip, "change": change, "count": 1.0, "done": settled(change, finer, scale), "round": 0.0}

    resting = where(finer < tolerance, 1.0, 0.0)  # Newton steps take errors so far back that one sweep does for long

    def in_part(p: np.ndarray, slip: np.ndarray, change: Any, count: Any, done: Any, number: Any) -> dict[str, Any]:
        part = UnsettledCrowd(problem, p, slip, finer)
        state = dict(zip(("p", "slip"), part.start, strict=True)) | {"change": change, "count": count, "done": resting}
        swept = repeat(partial(_swept, part.problem, PACE), 1, state, "done")
        state = {name: swept[name] for name in state} | {"done": settled(swept["change"], finer, scale)}
        newton = Iteration(part.problem, tolerance, finer, scale).one_round
        after = repeat(newton, 1, state | {"round": number}, "done")
        swept = whole.sweeps(*part.restored(after["p"], after["slip"]), SLOWER, 0.0, tolerance)
        count, change = after["count"] + swept["passes"], swept["change"]
        state = {"p": swept["p"], "slip": swept["slip"], "change": change, "count": count}
        return state | {"done": settled(change, tolerance, scale), "round": number + 1.0}

    end = repeat(in_part, ROUNDS, begin, "done")
    error = settled(end["change"], tolerance, scale)
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], error)


def _swept(
    problem: CrowdProblem, pace: float, p: np.ndarray, slip: np.ndarray, _: Any, count: Any, done: Any
) -> dict[str, Any]:
    """The state of an iteration after sweeps; pace: as of `Sweeps`."""
    parts, rows = problem.split(p)
    sweeps = CrowdSweeps(problem, rows)
    after = sweeps.solved(np.concatenate(parts), slip, pace)
    p = problem.joined([after.p], sweeps.rows_of(after.w))
    return {"p": p, "slip": after.slip, "change": after.change, "count": count + after.passes, "done": 1.0}


class UnsettledCrowd:
    """The islands of loose bodies with a contact that a sweep moves by more than `finer`, and those of joints.

    Of at most MOST bodies, the first islands that fit. problem, start: of the part; restored: back to the whole.
    """

    def __init__(self, problem: CrowdProblem, p: np.ndarray, slip: np.ndarray, finer: Any) -> None:
        self.whole, self.joints, n = problem, problem.joints, len(problem.inertia) - problem.joints
        self.parts, self.slips, _, _, moved, self.rows = problem.swept_with_each(p, slip, problem.pushed(p))
        robot, most = n, min(n, MOST) + 1  # all joints are one body of islands, which has no row of its own
        pairs = [self._pairs(kind, robot) for kind in problem.kinds]
        every, count = _listed(pairs, [kind.contacts.count for kind in problem.kinds], robot + 2.0)
        labels = labels_of(every, count, n + 1)
        flags = np.zeros((n + 1, 1))
        for kind, x, changes in zip(problem.kinds, pairs, moved, strict=True):
            if not isinstance(kind, LinkSweeps):
                flags = _flagged(flags, labels, x, changes, finer, kind.contacts.count, n)
        of_robot = {"rows": np.ones((1, 1)), "to": labels[robot : robot + 1]}
        flags = visit(lambda _: of_robot, {}, flags, np.full((1, 1), -1.0))["table"]
        chosen = flags if n + 1 <= most else fitting_islands(flags, labels, most)
        wanted = take(chosen, labels)[:, 0]
        self.with_joints = wanted[robot]
        bodies, places, body_count = listed_bodies(every, count, wanted, n + 1, most)
        rows, kinds = self.joints + most, []
        self.numbers: list[Any] = []
        start, slips = [], []
        for kind, x, p_kind, slip_kind in zip(problem.kinds, pairs, self.parts, self.slips, strict=True):
            part, numbers, p_kind, slip_kind = self._part(kind, x, wanted, places, rows, (p_kind, slip_kind), n)
            kinds.append(part)
            self.numbers.append(numbers)
            start.append(p_kind)
            slips.append(slip_kind)
        inertia = np.concatenate([problem.inertia[self.joints :], IDENTITY[None]])
        self.problem = CrowdProblem(kinds, problem.rows, take(inertia, bodies), body_count)
        self.start = problem.joined(start, self.rows), np.concatenate(slips)

    def _pairs(self, kind: Sweeps, robot: int) -> np.ndarray:
        """(k, 2): the bodies of islands that contacts tie together, numbers from robot + 1 on being none's."""

        def one(numbers: Any) -> dict[str, Any]:
            loose = [where(x < float(self.joints), robot + 1.0, x - float(self.joints)) for x in numbers]
            loose = [where(x < float(robot), x, robot + 1.0) for x in loose]
            return {"pair": np.array([loose[0], float(robot)] if isinstance(kind, LinkSweeps) else loose)}

        numbers = kind.at[:, :1] if isinstance(kind, LinkSweeps) else kind.at
        return map(one, {"numbers": numbers}, kind.contacts.count)["pair"]

    def _part(
        self,
        kind: Sweeps,
        pairs: np.ndarray,
        wanted: np.ndarray,
        places: np.ndarray,
        rows: int,
        start: tuple[np.ndarray, np.ndarray],
        n: int,
    ) -> tuple[Sweeps, Any, np.ndarray, np.ndarray]:
        """Contacts of a kind in the part, their numbers in the whole, and where they start."""
        contacts, none = kind.contacts, -1.0

        def renumbered(read: Any, pair: Any) -> dict[str, Any]:
            return {
                "at": np.array([where(x < float(n), self.joints + y[0], none) for x, y in zip(pair, read, strict=True)])
            }

        if isinstance(kind, LinkSweeps):
            at = visit(renumbered, {"pair": pairs}, places, pairs, count=contacts.count)["at"]
            count = where(self.with_joints > 0.5, contacts.count, 0.0)
            part = kind.links._replace(loose=at[:, 0], count=count)
            return LinkSweeps(part, rows, kind.tolerance, kind.finer), None, *start
        names = NAMES + (TURNING if contacts.about else ())
        columns = {name: getattr(contacts, name) for name in names} | {"p": start[0], "slip": start[1], "pair": pairs}

        def is_wanted(read: Any, pair: Any) -> dict[str, Any]:
            return {"wanted": maximum(read[0, 0], read[1, 0])}

        flags = visit(is_wanted, {"pair": pairs}, wanted[:, None], pairs, count=contacts.count)["wanted"]
        numbers, kept, count = gathered(columns, flags, contacts.count)
        pairs = kept.pop("pair")
        at = visit(renumbered, {"pair": pairs}, places, pairs, count=count)["at"]
        p, slip = kept.pop("p"), kept.pop("slip")
        fields = {name: getattr(contacts, name) for name in BodyContacts._fields} | kept
        fields |= {"first": at[:, 0], "second": at[:, 1], "count": count}
        return Sweeps(BodyContacts(**fields), rows, kind.tolerance, kind.finer), (numbers, count), p, slip

    def restored(self, p: np.ndarray, slip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulses and slips of all contacts and rows, from those of the part."""
        parts, rows = self.problem.split(p)
        after, slips = [], []
        moved = self.with_joints > 0.5
        for numbers, x, y, old, old_slip in zip(
            self.numbers, parts, self.problem.slips(slip), self.parts, self.slips, strict=True
        ):
            if numbers is None:
                after.append(where(moved, x, old))
                slips.append(where(moved, y, old_slip))
            else:
                table = _restored(numbers, np.concatenate([x, y[:, None]], axis=1), old, old_slip)
                after.append(table[:, :-1])
                slips.append(table[:, -1])
        rows = np.array([where(moved, x, y) for x, y in zip(rows, self.rows, strict=True)])
        return self.whole.joined(after, rows), np.concatenate(slips)


def _restored(numbers: tuple[np.ndarray, Any], new: np.ndarray, old: np.ndarray, slip: np.ndarray) -> np.ndarray:
    """Impulses and slips (k, 4 + m) of all contacts of a kind, with those of a part by their numbers."""

    def put(_: Any, number: Any, row: Any) -> dict[str, Any]:
        return {"rows": row[None], "to": np.array([number])}

    begin = np.concatenate([old, slip[:, None]], axis=1)
    return visit(put, {"number": numbers[0], "row": new}, begin, count=numbers[1])["table"]


def _listed(pairs: list[np.ndarray], counts: list[Any], none: float) -> tuple[np.ndarray, Any]:
    """The pairs of all kinds in one list, and how many there are."""
    table = np.full((sum(len(x) for x in pairs), 2), none)
    end: Any = 0.0
    for each, count in zip(pairs, counts, strict=True):

        def put(_: Any, at: Any, pair: Any) -> dict[str, Any]:
            return {"rows": pair[None], "to": np.array([at]), "at": at + 1.0}

        listed = visit(put, {"pair": each}, table, carry={"at": end}, count=count)
        table, end = listed["table"], listed["at"]
    return table, end


def _flagged(
    flags: np.ndarray, labels: np.ndarray, pairs: np.ndarray, moved: np.ndarray, finer: Any, count: Any, n: int
) -> np.ndarray:
    """Flags (n, 1) of islands, 1 for those with a contact that moved by more than `finer`."""

    def one(read: Any, pair: Any, moved: Any) -> dict[str, Any]:
        label = where(pair[0] < float(n), read[0, 0], read[1, 0])
        return {"label": where(moved > finer, label, -1.0)}

    items = {"pair": pairs, "moved": moved}
    islands = visit(one, items, labels[:, None], pairs, count=count)["label"]

    def put(_: Any, label: Any) -> dict[str, Any]:
        return {"rows": np.ones((1, 1)), "to": np.array([label])}

    return visit(put, {"label": islands}, flags, count=count)["table"]
