"""The problem of a time step whose contacts are in slots, in every state others: see `gathered_contacts`.

All that is done for a contact is written once and looped over, so that the code does not grow with the slots.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.gathering import NOBODY, Slot, known_before, number_of
from dalembert.contact.rows import tangent_frame
from dalembert.contact.solver import ConstraintImpulses, LoopedContacts, largest_size, looped_impulses
from dalembert.linear import Columns, sparse_product
from dalembert.math import clip, logical_and, lookup, maximum, take, visit, where
from dalembert.math import map as mapped

from ..elements.contact import Memory
from .contact_problem import Solved, counts, without_gain
from .one_contact import (
    Asked,
    Last,
    along_the_path,
    braking,
    meets_ahead,
    mobility,
    pushed_alone,
    recovered,
    speeds_apart,
    stopped_approach,
    stopped_impulse,
)
from .turning import Nearby, Turned, most_turned, robot_rows, turned_too_far, where_fast

if TYPE_CHECKING:
    from .gathered_contacts import GatheredImpulses


class SlottedContacts:
    """Contacts in k slots, the first `count` of which hold one; step: what else the problem consists of.

    columns: all that it needs of the contacts, arrays (k, …) by name. Impulses and velocities of everything are in one
    row: three of each contact, then the m moments of each, then those of rows.
    """

    def __init__(self, step: GatheredImpulses, slots: Slot, count: Any) -> None:
        self.step, self.count, self.k = step, count, len(slots.number)
        self.gathering, self.bounces, self.contact = step.gathering, step.bounces, step.element.contact
        self.slots, self.m, memory = slots, len(self.gathering.turning), step.at.memory
        known = memory.numbers[: self.k], len(self.gathering), memory.by_place()
        last = known_before(slots.number, count, *known)
        pushing = self.gathering.pushing(slots.number, last["p"], count)

        def one(number: Any, gap: Any, position: Any, normal: Any, aside: Any, last: Any) -> dict[str, Any]:
            return self._column(Slot(number, gap, position, normal, aside), Last(**last), pushing)

        self.columns = last | mapped(one, slots._asdict() | {"last": last}, count)
        self.columns.setdefault("meets", self.columns["before"])
        if not step.element.scene_room:
            self.columns |= self._along_the_path()

    def _column(self, slot: Slot, last: Last, pushing: np.ndarray) -> dict[str, Any]:
        """All that the problem needs of one contact; last: of the step before; pushing (g,): contacts, by group."""
        step, gathering = self.step, self.gathering
        axes = tangent_frame(slot.normal)
        J = step.motions.rows(gathering.signs_of(slot.number), axes, slot.position, gathering.turning, slot.aside)
        carrier = step.bodies.carrier(J)
        before = J @ step.v
        free = before + carrier.X.T @ step.kick
        alone = pushed_alone(gathering.groups_of(slot.number) * pushing)
        mobile = mobility(carrier.X, carrier.Y)
        asked = Asked(step.element, step.h, step.at.memory, gathering.turning, step.at.recovers)
        jump = None if step.at.jump is None else carrier.X.T @ step.at.jump
        apart, thin = speeds_apart(J[:3], step.v), number_of(step.element.thin, slot.number)
        law = gathering.law(slot.number)
        columns = asked.columns(law, slot.gap, before, free, last, alone, mobile, jump, apart, thin)
        return columns | {"one_more": slot.number + 1.0, "gap": slot.gap, "J": J, "X": carrier.X.T, "Y": carrier.Y.T}

    def _along_the_path(self) -> dict[str, np.ndarray]:
        """Columns without those contacts that only a straight way closes."""

        def closes(number: Any, gap: Any, c: Any, p: Any) -> dict[str, Any]:
            thin = number_of(self.step.element.thin, number)
            return {"closes": where(meets_ahead(self.contact, self.step.h, gap, c[0], p[0], thin), 1.0, 0.0)}

        items = {"number": self.slots.number} | self._some("gap", "c", "p")
        closing = mapped(closes, items, self.count)["closes"]
        gaps = self.step.gaps_ahead(largest_size(closing, self.count) > 0.5)

        def one(closes: Any, after: Any, c: Any, free: Any, held: Any, waits: Any, *further: Any) -> dict[str, Any]:
            shift = along_the_path(self.step.h, c[0] - free[0], free[0], closes > 0.5, after)
            c, held = np.array([free[0] + shift, *c[1:]]), np.array([-shift, *held[1:]])
            columns = {"c": c, "held": held}
            if self.bounces:
                opens = logical_and(closes > 0.5, after > 0.0)
                (plain,) = further
                columns["c_plain"] = np.array([where(opens, c[0], plain[0]), *plain[1:]])
                columns["waits"] = where(opens, 0.0, waits)
            return columns

        after = take(gaps[:, None], self.slots.number)[:, 0]
        names = ("c", "free", "held", "waits") + (("c_plain",) if self.bounces else ())
        return mapped(one, {"closes": closing, "after": after} | self._some(*names), self.count)

    def solved(self) -> Solved:
        """All impulses on their laws."""
        step, columns, at = self.step, self.columns, self.step.at
        if self.bounces:
            meets, free = self._stacked(columns["meets"], step.row_meets), self._stacked(columns["free"], step.row_free)
            solution, left = without_gain(self._impulses, meets, free, self._responded, at.memory.owed)
        else:
            solution, left = self._impulses(True), 0.0
        p, turned, rows = self._split(solution.p)
        w = self._pushed(solution.p)
        v1 = step.velocity(w)
        lost: tuple[Any, Any, Any] = self._lost(p, turned, v1) if step.measures else (0.0, 0.0, 0.0)
        owed: Any = 0.0
        if self.bounces:
            columns["waits"] = self._waits(p, v1)
            owed = self._owed(p, v1, left)
        kept = self._remembered(p, turned, solution.slip)
        memory = Memory(
            contacts=kept["p"].ravel(),
            turned=kept["turned"].ravel(),
            rows=rows,
            slip=kept["slip"],
            held=kept["held"].ravel(),
            approach=kept["waits"].ravel(),
            numbers=kept["one_more"],
            normals=kept["normals"].ravel(),
            owed=owed,
            **counts(at.memory, solution, reduce(maximum, columns["passed"].ravel()), self._turned(v1, p)),
        )
        return Solved(w, memory, *lost)

    def _turned(self, v1: np.ndarray, p: np.ndarray) -> Turned:
        """Find what turns too far at v1 (nv,), after impulses p (k, 3), for the step to follow it."""
        step, at, count = self.step, self.slots, self.count

        def at_length() -> Turned:
            table = robot_rows(step.turning, step.X, step.motions, v1)

            def facts(k: Any) -> dict[str, Any]:
                return {"bodies": lookup(self.gathering.bodies, k), "thin": number_of(step.element.thin, k)}

            of_pairs = mapped(facts, {"k": at.number}, count)
            contacts = Nearby(of_pairs["bodies"], at.normal, at.position, at.gap, p[:, 0], of_pairs["thin"])
            return turned_too_far(step.h, table, contacts, count)

        return where_fast(most_turned(step.h, v1, step.bodies.model), step.turning.followed, at_length)

    def _contacts(self, bouncing: bool) -> LoopedContacts:
        columns, n = self.columns, self.step.system.model.nv
        tied = self.step.bodies.loops is None
        J, pattern = (columns["J"], self.gathering.pattern) if tied else (columns["Y"], np.ones((n, n), bool))
        c = columns["c" if bouncing or not self.bounces else "c_plain"]
        return LoopedContacts(J, columns["X"], columns["Y"], c, columns["mu"], columns["reach"], pattern, self.count)

    def _impulses(self, bouncing: bool) -> ConstraintImpulses:
        """From what is remembered on."""
        step, columns = self.step, self.columns
        rows = step.row_carrier, step.row_free, step.row_laws
        start = np.concatenate([columns["p"].ravel(), columns["turned"].ravel(), step.at.memory.rows])
        finer = step.finer_tolerance(columns["before"].ravel())
        begin, tolerance = (start, columns["slip"]), self.contact.tolerance
        return looped_impulses(self._contacts(bouncing), *rows, begin, tolerance, step.row_give, finer)

    def _split(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k, 3) of contacts, (k, m) of their moments, and those of rows."""
        k, m = self.k, self.m
        cones, moments, rows = np.split(p, [3 * k, (3 + m) * k])
        return cones.reshape(k, 3), moments.reshape(k, m), rows

    def _stacked(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The reverse, of (k, 3 + m)."""
        return np.concatenate([x[:, :3].ravel(), x[:, 3:].ravel(), rows])

    def _pushed(self, p: np.ndarray) -> np.ndarray:
        """w = Y p (nv,) of all impulses."""
        cones, moments, rows = self._split(p)
        each = np.concatenate([cones, moments], axis=1)
        return self._contacts(True).pushed(each, sparse_product(self.step.row_carrier.Y, rows))

    def _responded(self, p: np.ndarray) -> np.ndarray:
        """G p: what all impulses change of the velocities."""
        w = self._pushed(p)
        return self._stacked(self._contacts(True).responses(w), sparse_product(self.step.row_carrier.X.T, w))

    def _remembered(self, p: np.ndarray, turned: np.ndarray, slip: np.ndarray) -> dict[str, np.ndarray]:
        """Memory for the next step, arrays by name: of as many contacts as it has room for, those that push first."""
        columns, places = self.columns, self.step.element.places
        arrays = {"p": p, "turned": turned, "slip": slip}
        arrays |= {name: columns[name] for name in ("held", "waits", "one_more")}
        arrays["normals"] = self.slots.normal if self.step.element.keeps_normals else np.zeros((self.k, 0))
        layout = Columns.of(arrays)
        table = layout.table(**arrays)
        if self.k <= places:
            return layout.named(np.concatenate([table, np.zeros((places - self.k, layout.width))]))

        def entered(_: Any, pushing: Any, row: Any) -> dict[str, Any]:
            pushes = row[0] > 0.0
            slot = where(pushes, pushing, NOBODY)
            return {"pushing": pushing + where(pushes, 1.0, 0.0), "rows": row[None], "to": np.array([slot])}

        begin = np.zeros((places, layout.width))
        kept = visit(entered, {"row": table}, begin, carry={"pushing": 0.0}, count=self.count)["table"]
        return layout.named(kept)

    def _waits(self, p: np.ndarray, v1: Any) -> np.ndarray:
        """(k, 1): squares of the speeds of approaches that wait for their rebound; v1 (nv,): at the end of the step."""
        stops = {"p": p, "stops": self.columns["stops"]}
        stopped = mapped(lambda p, stops: {"p": stopped_impulse(p, stops)}, stops, self.count)["p"]
        with_moments = np.concatenate([stopped, np.zeros((self.k, self.m))], axis=1)
        contacts = self._contacts(True)
        changes = contacts.responses(contacts.pushed(with_moments, np.zeros(self.step.system.model.nv)))

        def one(J: Any, before: Any, waits: Any, stops: Any, p: Any, du: Any) -> dict[str, Any]:
            square = stopped_approach(self.contact, stops, p[0], waits[0], du[0], before[0], J[0] @ v1)
            return {"waits": np.array([square])}

        return mapped(one, self._some("J", "before", "waits", "stops") | {"p": p, "du": changes})["waits"]

    def _owed(self, p: np.ndarray, v1: Any, left: Any) -> Any:
        """The energy that approaches which wait for their rebounds have lost, at most what is left of all [J]."""

        def one(J: Any, before: Any, waits: Any, approach: Any, p: Any) -> dict[str, Any]:
            return {"taken": braking(waits[0], approach[0], p[0], before[0], J[0] @ v1)}

        taken = mapped(one, self._some("J", "before", "waits", "approach") | {"p": p})["taken"]
        return clip(sum(taken), 0.0, maximum(left, 0.0))

    def _lost(self, p: np.ndarray, turned: np.ndarray, v1: Any) -> tuple[Any, Any, Any]:
        """The heat of impacts and of friction, and the work of recovery, of all contacts [J]."""

        def one(J: Any, meets: Any, gap: Any, p: Any, turned: Any) -> dict[str, Any]:
            lost = -0.5 * np.concatenate([p, turned]) * (meets + J @ v1)
            lift = recovered(lost[0], gap)
            return {"impact": lost[0] + lift, "friction": sum(lost[1:]), "lift": lift}

        heat = mapped(one, self._some("J", "meets", "gap") | {"p": p, "turned": turned})
        return sum(heat["impact"]), sum(heat["friction"]), sum(heat["lift"])

    def _some(self, *names: str) -> dict[str, np.ndarray]:
        """Columns by name."""
        return {name: self.columns[name] for name in names}
