"""Contacts that are not settled yet, with all that they depend on, as a problem of their own: see `islands`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.math import logical_or, map, take, visit, where

from .arrays import largest_size
from .contacts import Contacts
from .islands import contact_labels, fitting_islands, gathered, labels_of, listed_bodies

if TYPE_CHECKING:
    from .problem import ContactProblem


class UnsettledPart:
    """The islands of bodies with a contact that a sweep moves by more than `finer`; p, slip: before that sweep.

    All joints are one body of islands, and always a part. most: loose bodies that it has at most, of the first islands
    that fit; None: all, which keep their numbers. kinds, bodies (numbers), body_count: of the part; start: (p, slip).
    """

    def __init__(self, problem: ContactProblem, p: np.ndarray, slip: np.ndarray, finer: Any, most: int | None) -> None:
        self.whole, self.joints, self.n = problem, problem.n > 0, problem.bodies
        self.parts, self.slips, moved, self.rows, *_ = problem.swept_by_kind(p, slip, problem.pushed(p))
        self.islands, self.fits = self.n + self.joints, most is None or self.n <= most
        pairs = [self._pairs(kind) for kind in problem.kinds]
        every, count = _listed(pairs, [kind.count for kind in problem.kinds], self.islands)
        if not self.joints:
            count = where(largest_size(moved[0], problem.kinds[0].count) > finer, count, 0.0)
        labels = labels_of(every, count, self.islands)
        of_contacts = [
            contact_labels(x, kind.count, labels, self.islands) for kind, x in zip(problem.kinds, pairs, strict=True)
        ]
        flags = self._flags(labels, of_contacts, moved, finer)
        chosen = flags if self.fits else fitting_islands(flags, labels, (most or 0) + self.joints)
        self.with_joints = take(chosen, labels[-1:])[0, 0] if self.joints else 0.0
        self.places: np.ndarray | None = None
        self.bodies, self.body_count = np.arange(float(self.n)), None
        if most is not None:
            wanted, room = take(chosen, labels)[:, 0], most + self.joints
            listed = listed_bodies(every, count, wanted, self.islands, room)
            self.bodies, self.places, self.body_count = listed
        self.kinds: list[Contacts] = []
        self.numbers: list[Any] = []
        start, slips = [], []
        for k, kind in enumerate(problem.kinds):
            wanted = take(chosen, of_contacts[k])[:, 0]
            of_part, numbers, p_kind, slip_kind = self._part(kind, pairs[k], wanted, self.parts[k], self.slips[k])
            self.kinds.append(of_part)
            self.numbers.append(numbers)
            start.append(p_kind)
            slips.append(slip_kind)
        self.start = problem.joined(start, self.rows), np.concatenate(slips)

    def _pairs(self, kind: Contacts) -> np.ndarray:
        """(k, 2): the bodies of islands that contacts tie together, the number of islands being that of none."""
        none, robot = float(self.islands), float(self.n)

        def one(numbers: Any) -> dict[str, Any]:
            loose = [where(logical_or(x < 0.0, x >= float(self.n)), none, x) for x in numbers]
            return {"pair": np.array([*loose, robot] if kind.moves_joints else loose)}

        return map(one, {"numbers": kind.at}, kind.count)["pair"]

    def _flags(self, labels: np.ndarray, of_contacts: list[np.ndarray], moved: list[np.ndarray], finer: Any) -> Any:
        """(n, 1): 1 for each island with a contact that moved by more than `finer`, and for that of joints."""

        def flagged(_: Any, label: Any, moved: Any) -> dict[str, Any]:
            return {"rows": np.ones((1, 1)), "to": np.array([where(moved > finer, label, -1.0)])}

        flags = np.zeros((self.islands, 1))
        if self.joints:
            of_robot = {"rows": np.ones((1, 1)), "to": labels[-1:]}
            flags = visit(lambda _: of_robot, {}, flags, np.full((1, 1), -1.0))["table"]
        for kind, label, x in zip(self.whole.kinds, of_contacts, moved, strict=True):
            if not kind.moves_joints:
                flags = visit(flagged, {"label": label, "moved": x}, flags, count=kind.count)["table"]
        return flags

    def _part(
        self, kind: Contacts, pairs: np.ndarray, wanted: np.ndarray, p: np.ndarray, slip: np.ndarray
    ) -> tuple[Contacts, Any, np.ndarray, np.ndarray]:
        """Contacts of a kind in the part, their numbers in the whole and count, and where they start."""
        if kind.moves_joints:
            at, count = kind.at, kind.count
            if self.places is not None:
                at, count = self._renumbered(pairs[:, :1], count), where(self.with_joints > 0.5, count, 0.0)
            return kind.some(at, kind.columns, count), None, p, slip
        columns = dict(kind.columns) | {"at of all": kind.at, "p": p, "slip": slip, "pair": pairs}
        numbers, kept, count = gathered(columns, wanted, kind.count)
        at, pairs, p, slip = (kept.pop(name) for name in ("at of all", "pair", "p", "slip"))
        if self.places is not None:
            at = self._renumbered(pairs, count)
        return kind.some(at, kept, count), (numbers, count), p, slip

    def _renumbered(self, numbers: np.ndarray, count: Any) -> np.ndarray:
        """Numbers of bodies in the part, by those in the whole; −1: none."""

        def one(read: Any, numbers: Any) -> dict[str, Any]:
            both = zip(numbers, read, strict=True)
            return {"at": np.array([where(x < float(self.n), y[0], -1.0) for x, y in both])}

        assert self.places is not None
        return visit(one, {"numbers": numbers}, self.places, numbers, count=count)["at"]

    def restored(self, p: np.ndarray, slip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulses and slips of all contacts and rows, from those of the part."""
        (parts, rows), moved = self.whole.split(p), self.with_joints > 0.5 if self.joints else False
        after, slips = [], []
        for k, (x, y) in enumerate(zip(parts, self.whole.by_kind(slip), strict=True)):
            new = np.concatenate([x, y[:, None]], axis=1)
            old = np.concatenate([self.parts[k], self.slips[k][:, None]], axis=1)
            table = where(moved, new, old) if self.numbers[k] is None else _put(self.numbers[k], new, old)
            after.append(table[:, :-1])
            slips.append(table[:, -1])
        rows = np.array([where(moved, x, y) for x, y in zip(rows, self.rows, strict=True)])
        return self.whole.joined(after, rows), np.concatenate(slips)


def _put(numbers: tuple[np.ndarray, Any], new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Rows (k, m) of all contacts of a kind, with those of a part by their numbers."""

    def put(_: Any, number: Any, row: Any) -> dict[str, Any]:
        return {"rows": row[None], "to": np.array([number])}

    return visit(put, {"number": numbers[0], "row": new}, old, count=numbers[1])["table"]


def _listed(pairs: list[np.ndarray], counts: list[Any], none: int) -> tuple[np.ndarray, Any]:
    """The pairs of all kinds in one list, and how many there are."""
    if len(pairs) == 1:
        return pairs[0], counts[0]
    table = np.full((sum(len(x) for x in pairs), 2), float(none))
    end: Any = 0.0
    for each, count in zip(pairs, counts, strict=True):

        def put(_: Any, at: Any, pair: Any) -> dict[str, Any]:
            return {"rows": pair[None], "to": np.array([at]), "at": at + 1.0}

        listed = visit(put, {"pair": each}, table, carry={"at": end}, count=count)
        table, end = listed["table"], listed["at"]
    return table, end
