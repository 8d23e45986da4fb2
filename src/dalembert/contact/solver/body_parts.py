"""Contacts that are not settled yet, with all that they depend on, as a problem of their own: see `islands`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import map, visit, where

from .body_impulses import BodyContacts, Sweeps
from .islands import unsettled_part

NAMES = ("group", "axes", "levers_a", "levers_b", "turns_a", "turns_b", "light_a", "light_b", "c", "mu")
TURNING = ("spins_a", "spins_b", "reach")


class UnsettledBodies:
    """The islands of bodies with a contact that a sweep moves by more than `finer`; p, slip: after that sweep.

    most: bodies that it has at most, of the first islands that fit; None: all keep their numbers. sweeps, start: the
    problem of the part, and where it starts; bodies (most,), count: numbers of its bodies, and how many there are.
    """

    def __init__(self, sweeps: Sweeps, p: np.ndarray, slip: np.ndarray, finer: Any, most: int | None = None) -> None:
        contacts = sweeps.contacts
        self.p, self.slip, _, _, moved = sweeps.one_way(p, slip, sweeps.pushed(p))
        names = NAMES + (TURNING if contacts.about else ())
        columns = {name: getattr(contacts, name) for name in names} | {"p": self.p, "slip": self.slip}
        flags = map(lambda moved: {"flag": where(moved > finer, 1.0, 0.0)}, {"moved": moved}, contacts.count)["flag"]
        self.part = unsettled_part(sweeps.at, contacts.count, flags, columns, sweeps.bodies, most)
        kept = {name: getattr(contacts, name) for name in BodyContacts._fields} | self.part.columns
        start = kept.pop("p"), kept.pop("slip")
        kept |= {"first": self.part.at[:, 0], "second": self.part.at[:, 1], "count": self.part.count}
        self.sweeps = Sweeps(BodyContacts(**kept), most or sweeps.bodies, sweeps.tolerance, sweeps.finer)
        self.start, self.bodies, self.count = start, self.part.bodies, self.part.body_count

    def restored(self, p: np.ndarray, slip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulses and slips of all contacts, from those of the part."""

        def put(_: Any, number: Any, p: Any, slip: Any) -> dict[str, Any]:
            return {"rows": np.concatenate([p, [slip]])[None], "to": np.array([number])}

        begin = np.concatenate([self.p, self.slip[:, None]], axis=1)
        items = {"number": self.part.numbers, "p": p, "slip": slip}
        table = visit(put, items, begin, count=self.part.count)["table"]
        return table[:, :-1], table[:, -1]
