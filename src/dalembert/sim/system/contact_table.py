"""Contacts of one kind as a table: what the laws ask of each in a step, and what a solution says about it.

A table is looped over, so that the code does not grow with its contacts, or written out, where these are few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.gathering import NOBODY, law_of, number_of
from dalembert.contact.solver.arrays import NOTHING, largest_size
from dalembert.linear import Columns
from dalembert.math import clip, logical_or, lookup, maximum, visit, where
from dalembert.math import map as loop

from .one_contact import (
    Asked,
    Last,
    Meeting,
    along_the_path,
    braking,
    meets_ahead,
    recovered,
    stopped_approach,
    stopped_impulse,
)
from .turning import Nearby, Turned, may_turn_into, turned_too_far

if TYPE_CHECKING:
    from .contact_problem import ContactImpulses


class ContactTable(ABC):
    """k contacts, the first `count` of which are there; None: all.

    near: where they are, `number` (k,) of the candidate, gap (k,) [m], position (k, 3), normal (k, 3). last: arrays
    (k, …) of the step before by name. columns: arrays (k, …) by name: those of `Asked.columns`, and what the solver
    takes. places: how many contacts the next step remembers.
    """

    columns: dict[str, np.ndarray]
    unroll = False  # whether loops over the contacts are written out

    def __init__(
        self, problem: ContactImpulses, near: Any, count: Any, places: int, last: dict[str, Any], recovers: Any = 1.0
    ) -> None:
        self.problem, self.near, self.count, self.places, self.last = problem, near, count, places, last
        self.element, self.at, self.h = problem.element, problem.at, problem.h
        self.about, self.bounces = self.element.turning, self.element.bounces
        self.turns = any(map(may_turn_into, self.element.patches))  # whether a step may not follow how a body turns
        self.asked = Asked(self.element, self.h, self.at.memory, self.about, recovers)
        self.columns = self._moves()
        self.columns |= self._laws()

    @abstractmethod
    def _moves(self) -> dict[str, np.ndarray]:
        """Columns of what a contact moves, its velocities `before` the step and `free` after it without impulses.

        rolls, shift: see `Asked.held`. jump: of an impact, where there is one. closes: whether it closes on a straight
        way, where that may not be the way. met_gap, met_time: of a `Meeting`, where bodies may meet.
        """

    @abstractmethod
    def moved(self, pushed: np.ndarray) -> np.ndarray:
        """w of a `Solved`, from what impulses move in the coordinates of the solver."""

    def law(self, number: Any) -> Any:
        """Law of the candidate with a number."""
        return law_of(self.element.laws, number)

    def thin(self, number: Any) -> Any:
        """Thickness of the thinner body at the candidate with a number [m]."""
        return number_of(self.element.thin, number)

    def held(self, number: Any, gap: Any, before: Any, free: Any, last: Last, alone: Any, mobile: Any) -> dict:
        """Columns of one contact of links: the velocity at which it holds, its shift, and whether it closes ahead."""
        held, shift = self.asked.held(gap, before, last, alone, mobile)
        closes = meets_ahead(self.element.contact, self.h, gap, free[0] + shift, last.p[0], self.thin(number))
        return {"rolls": held, "shift": shift, "closes": closes if self.unroll else where(closes, 1.0, 0.0)}

    def _laws(self) -> dict[str, np.ndarray]:
        """Columns of what the laws ask."""
        more: dict[str, np.ndarray] = {
            name: self.columns[name] for name in ("jump", "met_gap", "met_time") if name in self.columns
        }
        if "closes" in self.columns:
            after = self.problem.gaps_ahead(self.any("closes"), self.near.number, self.count)
            more |= self.some("closes") | {"after": after}

        def one(
            number: Any, gap: Any, before: Any, free: Any, rolls: Any, shift: Any, last: Any, *further: Any
        ) -> dict[str, Any]:
            known = dict(zip(more, further, strict=True))
            if "closes" in known:
                closes = known["closes"] if self.unroll else known["closes"] > 0.5
                shift = along_the_path(self.h, shift, free[0], closes, known["after"])
            meeting = Meeting(known["met_gap"], known["met_time"]) if "met_gap" in known else None
            law, thin, last = self.law(number), self.thin(number), Last(**last)
            columns = self.asked.columns(law, gap, before, free, last, rolls, shift, thin, known.get("jump"), meeting)
            return columns | {"one_more": number + 1.0}

        items = {"number": self.near.number, "gap": self.near.gap}
        return self.map(one, items | self.some("before", "free", "rolls", "shift") | {"last": self.last} | more)

    def map(self, step: Callable[..., Mapping[str, Any]], items: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Results of the step for all contacts."""
        return loop(step, items, self.count, self.unroll)

    def sum(self, step: Callable[..., Any], items: Mapping[str, Any], zero: Any = 0.0) -> Any:
        """Sum of the step over all contacts."""

        def added(_: Any, sum: Any, *item: Any) -> dict[str, Any]:
            return {"sum": sum + step(*item)}

        return visit(added, items, NOTHING, carry={"sum": zero}, count=self.count, unroll=self.unroll)["sum"]

    def largest(self, name: str) -> Any:
        """Largest size of a number in a column."""
        return largest_size(self.columns[name], self.count, self.unroll)

    def any(self, name: str) -> Any:
        """Whether a column of flags has one: conditions where loops are written out, else 1 or 0."""
        flags = self.columns[name]
        return reduce(logical_or, flags) if self.unroll else largest_size(flags, self.count) > 0.5

    def some(self, *names: str) -> dict[str, np.ndarray]:
        """Columns by name."""
        return {name: self.columns[name] for name in names}

    # ---- what a solution says about them; p (k, 3 + m): impulses, changes (k, 3 + m): of velocities by these

    def missed(self) -> Any:
        """Largest speed by which a contact was passed through before the step [m/s]."""
        return self.largest("passed")

    def bodies(self) -> np.ndarray:
        """Numbers of both bodies of each contact (k, 2)."""
        table = self.problem.bodies_of_candidates
        return self.map(lambda k: {"bodies": lookup(table, k)}, {"k": self.near.number})["bodies"]

    def turned(self, table: np.ndarray, p: np.ndarray) -> Turned:
        """Find what turns too far for the step to follow it; table: `Turning.rows`."""
        near = self.near
        thick = self.map(lambda k: {"thin": self.thin(k)}, {"k": near.number})["thin"]
        contacts = Nearby(self.bodies(), near.normal, near.position, near.gap, p[:, 0], thick)
        return turned_too_far(self.h, table, contacts, self.count)

    def stopped(self, p: np.ndarray) -> np.ndarray:
        """Impulses (k, 3 + m) that stop contacts without a rebound."""
        items = {"p": p, "stops": self.columns["stops"]}
        return self.map(lambda p, stops: {"p": stopped_impulse(p, stops)}, items)["p"]

    def wait(self, p: np.ndarray, stopped: np.ndarray, changes: np.ndarray) -> None:
        """Remember squares of the speeds of approaches that wait; stopped: changes of velocities by `stopped`."""

        def one(waits: Any, stops: Any, before: Any, free: Any, p: Any, by_stops: Any, du: Any) -> dict[str, Any]:
            motion = by_stops[0], before[0], free[0] + du[0]
            return {"waits": np.array([stopped_approach(self.element.contact, stops, p[0], waits[0], *motion)])}

        items = self.some("waits", "stops", "before", "free") | {"p": p, "by_stops": stopped, "du": changes}
        self.columns["waits"] = self.map(one, items)["waits"]

    def owed(self, p: np.ndarray, changes: np.ndarray, left: Any) -> Any:
        """Energy that approaches which wait for their rebounds have lost, at most what is left of all [J]."""

        def taken(waits: Any, waited: Any, before: Any, free: Any, p: Any, du: Any) -> Any:
            return braking(waits[0], waited, p[0], before[0], free[0] + du[0])

        items = self.some("waits", "waited", "before", "free") | {"p": p, "du": changes}
        return clip(self.sum(taken, items), 0.0, maximum(left, 0.0))

    def lost(self, p: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Heat of impacts and of friction, and the work of recovery, of all contacts (3,) [J]."""

        def one(gap: Any, meets: Any, free: Any, p: Any, du: Any) -> np.ndarray:
            lost = -0.5 * p * (meets + free + du)
            lifted = recovered(lost[0], gap)
            return np.array([lost[0] + lifted, sum(lost[1:]), lifted])

        items = {"gap": self.near.gap, "p": p, "du": changes}
        return self.sum(one, {"gap": items.pop("gap")} | self.some("meets", "free") | items, np.zeros(3))

    def remembered(self, p: np.ndarray, slip: np.ndarray) -> dict[str, np.ndarray]:
        """Arrays (places, …) for the next step by name; where they have more rows than places, those that push."""
        k, columns = len(p), self.columns
        arrays = {"p": p[:, :3], "turned": p[:, 3:], "slip": slip}
        arrays |= {"held": columns["held"], "waits": columns["waits"], "one_more": columns["one_more"]}
        arrays["normals"] = self.near.normal if self.element.keeps_normals else np.zeros((k, 0))
        if k == self.places:
            return arrays
        if k < self.places:
            more = self.places - k
            return {name: np.concatenate([x, np.zeros((more, *x.shape[1:]))]) for name, x in arrays.items()}
        layout = Columns.of(arrays)

        def entered(_: Any, pushing: Any, row: Any) -> dict[str, Any]:
            pushes = row[0] > 0.0
            slot = where(pushes, pushing, NOBODY)
            return {"pushing": pushing + where(pushes, 1.0, 0.0), "rows": row[None], "to": np.array([slot])}

        begin, items = np.zeros((self.places, layout.width)), {"row": layout.table(**arrays)}
        return layout.named(visit(entered, items, begin, carry={"pushing": 0.0}, count=self.count)["table"])
