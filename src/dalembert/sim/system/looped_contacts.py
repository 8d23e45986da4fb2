"""Contacts in slots, in every state others, over which a step loops: so the code does not grow with their number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.gathering import known_before
from dalembert.contact.rows import tangent_frame
from dalembert.contact.solver import Contacts, JointContacts, PairContacts
from dalembert.contact.solver.arrays import NOTHING
from dalembert.contact.solver.motions import SIZE
from dalembert.linear import nonzeros
from dalembert.math import branch, maximum, take, visit, where

from ..elements.contact import Memory
from .contact_table import ContactTable
from .loose_bodies import Side
from .meeting import places_where_they_meet
from .one_contact import Last, Meeting, mobility, passed, pushed_alone, speeds_apart

if TYPE_CHECKING:
    from .contact_problem import ContactImpulses

SIDE = "levers", "turns", "light", "spins"  # columns of a contact, of each of its two bodies
PLACE = "number", "gap", "position", "normal", "aside"  # columns of what is near


class LoopedContacts(ContactTable):
    """Contacts in k slots; near: `Slot` or `Touching`, memory: of the step before, for as many slots or more."""

    def __init__(
        self, problem: ContactImpulses, near: Any, count: Any, memory: Memory, places: int, *more: Any
    ) -> None:
        k = min(len(near.number), len(memory.numbers))
        last = known_before(near.number, count, memory.numbers[:k], len(problem.element.names), memory.by_place())
        super().__init__(problem, near, count, places, last, *more)

    @abstractmethod
    def contacts(self, bouncing: bool) -> Contacts:
        """The contacts as the solver takes them, with rebounds or without."""

    def moved(self, pushed: np.ndarray) -> np.ndarray:
        """w of a `Solved`: of joints, then the changes of velocities of loose bodies."""
        n = len(self.problem.v)
        return np.concatenate([pushed[:n] / self.problem.root, pushed[n:]])

    def bodies(self) -> np.ndarray:
        """Numbers of both bodies of each contact (k, 2)."""
        return self.near.bodies if hasattr(self.near, "bodies") else super().bodies()

    def _solver_columns(self, bouncing: bool, names: tuple[str, ...]) -> dict[str, Any]:
        columns = self.some("mu", "reach", *(name for name in names if name in self.columns))
        return columns | {"c": self.columns["c" if bouncing or not self.bounces else "c_plain"]}

    def _places(self) -> dict[str, Any]:
        return {name: getattr(self.near, name) for name in PLACE}


class LooseContacts(LoopedContacts):
    """Contacts of loose bodies with each other and with what is fixed."""

    def contacts(self, bouncing: bool) -> Contacts:
        """The contacts as the solver takes them, with rebounds or without."""
        columns = self._solver_columns(bouncing, PairContacts.motions) | {"group": self.near.group}
        tolerance = self.element.contact.tolerance
        return PairContacts(columns, self.near.bodies, self.count, self.about, tolerance=tolerance)

    def _pushing(self, motion: np.ndarray) -> np.ndarray:
        """(k,): how many contacts pushed in the step before at the body of each that has most of them."""

        def one_more(rows: Any, bodies: Any, p: Any) -> dict[str, Any]:
            return {"rows": rows + where(p > 0.0, 1.0, 0.0), "to": bodies}

        at, count = self.near.bodies, self.count
        items, start = {"bodies": at, "p": self.last["p"][:, 0]}, np.zeros((len(motion), 1))
        numbers = visit(one_more, items, start, at, count=count, groups=self.near.group)["table"]
        return visit(lambda rows: {"most": maximum(rows[0, 0], rows[1, 0])}, {}, numbers, at, count=count)["most"]

    def _moves(self) -> dict[str, np.ndarray]:
        problem, times = self.problem, self.problem.meeting_times
        assert problem.loose is not None

        def one(
            rows: Any, gap: Any, position: Any, normal: Any, aside: Any, last: Any, pushing: Any, *time: Any
        ) -> dict[str, Any]:
            axes, places, meeting = tangent_frame(normal), (position + aside, position - aside), None
            if time:
                first, second, there = places_where_they_meet(rows, places, normal, gap, time[0])
                places, meeting = (first, second), Meeting(there, time[0])
            a, b = (Side(row, axes, place, self.about) for row, place in zip(rows, places, strict=True))
            before, kick = a.before - b.before, a.kick - b.kick
            held, shift = self.asked.held(gap, before, Last(**last), pushed_alone([pushing]), meeting=meeting)
            columns = {f"{name}_{x}": getattr(side, name) for x, side in (("a", a), ("b", b)) for name in SIDE}
            columns |= {} if meeting is None else {"met_gap": meeting.gap, "met_time": meeting.time}
            return columns | {"axes": axes, "before": before, "free": before + kick, "rolls": held, "shift": shift}

        items = self._places() | {"last": self.last, "pushing": self._pushing(problem.loose.motion)}
        del items["number"]
        if nonzeros(times).any():
            items["time"] = take(times[:, None], self.near.bodies[:, 0])[:, 0]
        return visit(one, items, problem.loose.motion, self.near.bodies, count=self.count)


class LinkContacts(LoopedContacts):
    """Contacts of links: with what is fixed, each other, or one loose body each.

    signs_of: from the number of a candidate and those of its bodies to (freedoms,): 1 where a freedom of joints moves
    the first body, −1 the second, else 0. groups_of: from the number to (g,): 1 for each group of contacts that it is
    tied to, else 0. pattern (nv, nv): whether some contact ties two velocities of joints together.
    """

    def __init__(
        self,
        problem: ContactImpulses,
        near: Any,
        count: Any,
        memory: Memory,
        places: int,
        signs_of: Callable[[Any, Any], np.ndarray],
        groups_of: Callable[[Any], np.ndarray],
        pattern: np.ndarray | None,
    ) -> None:
        self.signs_of, self.groups_of, self.pattern = signs_of, groups_of, pattern
        self.body: np.ndarray | None = None  # (k, 1): number of the loose body of each, −1: none
        super().__init__(problem, near, count, memory, places, problem.at.recovers)

    def contacts(self, bouncing: bool) -> Contacts:
        """The contacts as the solver takes them, with rebounds or without."""
        columns = self._solver_columns(bouncing, ("J", "body_J", "body_Y"))
        tolerance = None if self.body is None else self.element.contact.tolerance
        return JointContacts(columns, self.body, self.count, self.about, tolerance=tolerance, pattern=self.pattern)

    def _loose_sides(self, n: float) -> np.ndarray:
        """(k,): 1 where the first body of a contact is a loose one, −1 where the second is, else 0."""

        def one(_: Any, bodies: Any) -> dict[str, Any]:
            first, second = bodies
            number = where(first < n, first, where(second < n, second, -1.0))
            return {"at": np.array([number]), "sign": where(first < n, 1.0, where(second < n, -1.0, 0.0))}

        sides = visit(one, {"bodies": self.near.bodies}, NOTHING, count=self.count)
        self.body = sides["at"]
        return sides["sign"]

    def _moves(self) -> dict[str, np.ndarray]:
        problem, at, links, about = self.problem, self.at, self.at.bodies, self.about
        groups = len(self.groups_of(0.0))

        def pushes(number: Any, p: Any) -> np.ndarray:
            return where(p[0] > 0.0, 1.0, 0.0) * self.groups_of(number)

        pushing = self.sum(pushes, {"number": self.near.number, "p": self.last["p"]}, np.zeros(groups))

        def one(
            rows: Any, number: Any, gap: Any, position: Any, normal: Any, aside: Any, last: Any, *of_bodies: Any
        ) -> dict[str, Any]:
            bodies, *sign = of_bodies or (None,)
            axes = tangent_frame(normal)
            J = problem.motions.rows(self.signs_of(number, bodies), axes, position, about, aside)
            carrier = links.carrier(J)
            before, kick = J @ at.v, carrier.X.T @ at.kick
            columns, x, y = {"rates": J, "J": carrier.Y.T * problem.root}, carrier.X[:, :3], carrier.Y[:, :3]
            if sign:
                side = Side(rows[0], axes, position + sign[0] * aside, about)
                before, kick = sign[0] * side.before + before, sign[0] * side.kick + kick
                body_J, body_Y = (sign[0] * x for x in _rows_of_body(side, axes, about))
                x, y = np.concatenate([x, body_J[:3].T]), np.concatenate([y, body_Y[:3].T])
                columns |= {"body_J": body_J, "body_Y": body_Y}
            columns |= {"before": before, "free": before + kick}
            columns |= {} if at.jump is None else {"jump": carrier.X.T @ at.jump}
            alone = pushed_alone(self.groups_of(number) * pushing)
            return columns | self.held(number, gap, before, before + kick, Last(**last), alone, mobility(x, y))

        items = self._places() | {"last": self.last}
        items |= {"bodies": self.near.bodies} if hasattr(self.near, "bodies") else {}
        if problem.loose is None:
            return self.map(lambda *item: one(None, *item), items)
        items["sign"] = self._loose_sides(float(len(problem.loose.motion)))
        return visit(one, items, problem.loose.motion, self.body, count=self.count)

    def missed(self) -> Any:
        """Largest speed by which a contact was passed through; where one may be, with the ways of all freedoms."""
        return missed_at_length(self, "rates")


def missed_at_length(table: ContactTable, rates: str) -> Any:
    """`ContactTable.missed`, where one may be with the ways of all freedoms; rates: the column of J (k, 3 + m, nv)."""

    def one(number: Any, gap: Any, J: Any, before: Any, last: Any) -> dict[str, Any]:
        last, apart = Last(**last), speeds_apart(J[:3], table.problem.v)
        further = table.at.memory, apart, table.thin(number), last.held[0]
        return {"passed": np.array([passed(table.element.contact, table.h, gap, before[:3], last.p[0], *further)])}

    def at_length() -> dict[str, Any]:
        items = {"number": table.near.number, "gap": table.near.gap} | table.some(rates, "before")
        table.columns["passed"] = table.map(one, items | {"last": table.last})["passed"]
        return {"missed": table.largest("passed")}

    suspected = table.largest("passed")
    return branch(suspected > 0.0, at_length, {"missed": suspected})["missed"]


def _rows_of_body(side: Side, axes: np.ndarray, about: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(3 + m, 6) of a loose body: velocities along and about axes per velocity of it, and what impulses change."""
    turning = np.array([[0.0, 0.0, 0.0, *axes[k]] for k in about]).reshape(-1, SIZE)
    turned = np.concatenate([np.zeros((len(about), 3)), side.spins], axis=1)
    J = np.concatenate([np.concatenate([axes, side.levers], axis=1), turning])
    return J, np.concatenate([np.concatenate([side.light * axes, side.turns], axis=1), turned])
