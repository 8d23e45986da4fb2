"""Contacts in slots, in every state others, over which a step loops: so the code does not grow with their number.

Contacts of one kind are a `ContactTable`: of loose bodies with each other and with what is fixed, or of links.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.gathering import Motions, freedom_signs, known_before, law_of, number_of
from dalembert.contact.rows import tangent_frame
from dalembert.contact.scene import Scene, Touching
from dalembert.contact.solver import Contacts, LinkContacts, PairContacts, link_rows
from dalembert.contact.solver.arrays import NOTHING
from dalembert.linear import nonzeros
from dalembert.math import logical_and, lookup, maximum, sqrt, take, visit, where
from dalembert.math import map as mapped

from ..elements.contact import Memory, RigidContact
from .contact_table import ContactTable
from .loose_bodies import Side
from .meeting import places_where_they_meet
from .one_contact import (
    Asked,
    Last,
    Meeting,
    mobility,
    pushed_alone,
)

if TYPE_CHECKING:
    from .contact_problem import Situated
    from .links import LinkedModel

SIZE = 6  # velocities of a row
SIDE = "levers", "turns", "light", "spins"  # columns of a contact, of each of its two bodies


class CrowdContacts(ContactTable):
    """Contacts of one kind in slots, of what a scene finds near; `ask` computes their columns."""

    def __init__(self, element: RigidContact, at: Situated, memory: Memory, touching: Touching) -> None:
        super().__init__(element, at, touching, touching.count, len(touching.number))
        assert at.loose is not None
        self.moving, self.touching = at.loose, touching
        known = memory.numbers, len(element.names), memory.by_place()
        self.last = known_before(touching.number, touching.count, *known)

    def ask(self, times: np.ndarray) -> None:
        """Compute what the laws ask of all contacts; times (n,): when bodies meet, see `meeting_times`."""
        self.columns = self._columns(times)

    @abstractmethod
    def _columns(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """All that the problem needs of contacts."""

    @abstractmethod
    def contacts(self, bouncing: bool, joints: int) -> Contacts:
        """The contacts as the solver takes them, with as many rows of joints before those of loose bodies."""

    def bodies(self) -> np.ndarray:
        """Numbers of both bodies of each contact (k, 2)."""
        return self.touching.bodies

    def _solver_columns(self, kind: type[Contacts], bouncing: bool) -> dict[str, Any]:
        columns = {name: self.columns[name] for name in (*kind.motions, "c", "mu", "reach")}
        return columns if bouncing or not self.bounces else columns | {"c": self.columns["c_plain"]}

    def _items(self) -> dict[str, Any]:
        at = self.touching
        items: dict[str, Any] = {"number": at.number, "gap": at.gap, "position": at.position, "normal": at.normal}
        return items | {"aside": at.aside, "last": self.last}


class LooseContacts(CrowdContacts):
    """Contacts of loose bodies with each other and with what is fixed."""

    def contacts(self, bouncing: bool, joints: int) -> Contacts:
        """The contacts as the solver takes them."""
        columns = self._solver_columns(PairContacts, bouncing) | {"group": self.touching.group}
        n, at = len(self.moving.motion), self.touching
        rows = _rows_of_bodies(at.bodies, joints, n, at.count)
        return PairContacts(rows, columns, self.about, joints + n, at.count, self.element.contact.tolerance)

    def _pushing(self, p: np.ndarray) -> np.ndarray:
        """(k,): how many contacts pushed in the step before at the body of each that has most of them.

        p (k,): normal impulses of that step.
        """

        def one_more(rows: Any, bodies: Any, p: Any) -> dict[str, Any]:
            return {"rows": rows + where(p > 0.0, 1.0, 0.0), "to": bodies}

        at, count = self.touching.bodies, self.touching.count
        items, start = {"bodies": at, "p": p}, np.zeros((len(self.moving.motion), 1))
        numbers = visit(one_more, items, start, at, count=count, groups=self.touching.group)["table"]
        return visit(lambda rows: {"most": maximum(rows[0, 0], rows[1, 0])}, {}, numbers, at, count=count)["most"]

    def _columns(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """All that the problem needs of contacts."""
        asked, meet = Asked(self.element, self.h, self.at.memory, self.about), bool(nonzeros(times).any())

        def one(
            rows: Any,
            number: Any,
            gap: Any,
            position: Any,
            normal: Any,
            aside: Any,
            last: Any,
            pushing: Any,
            *time: Any,
        ) -> dict[str, Any]:
            law, axes, there, later = law_of(self.element.laws, number), tangent_frame(normal), gap, 0.0
            places = (position + aside, position - aside)
            if time:
                (later,) = time
                first, second, there = places_where_they_meet(rows, places, normal, gap, later)
                places = first, second
            a, b = (Side(row, axes, place, self.about) for row, place in zip(rows, places, strict=True))
            before, kick = a.before - b.before, a.kick - b.kick
            last, thin = Last(**last), number_of(self.element.thin, number)
            alone, meeting = pushed_alone([pushing]), Meeting(there, later)
            holds = asked.held(gap, before, last, alone, meeting=meeting)
            columns = asked.columns(law, gap, before, before + kick, last, *holds, thin, meeting=meeting)
            sides = {f"{name}_{x}": getattr(side, name) for x, side in (("a", a), ("b", b)) for name in SIDE}
            return columns | sides | {"axes": axes, "one_more": number + 1.0}

        items = self._items() | {"pushing": self._pushing(self.last["p"][:, 0])}
        if meet:
            items["time"] = take(times[:, None], self.touching.bodies[:, 0])[:, 0]
        return visit(one, items, self.moving.motion, self.touching.bodies, count=self.touching.count)


class LinkedContacts(CrowdContacts):
    """Contacts of links with loose bodies, each other and what is fixed."""

    def __init__(self, linked: LinkedModel, motions: Motions, scene: Scene, *contacts: Any) -> None:
        super().__init__(*contacts)
        self.motions, self.links, self.loose_count = motions, self.at.bodies, len(scene.loose)
        pairs = [(linked.number[body.index], -1) for body in scene.links]
        self.signs = np.concatenate([freedom_signs(linked.model, pairs), np.zeros((1, len(motions.freedoms)))])

    def contacts(self, bouncing: bool, joints: int) -> Contacts:
        """The contacts as the solver takes them."""
        n, count = len(self.moving.motion), self.touching.count
        at = link_rows(_rows_of_bodies(self.loose, joints, n, count), joints)
        columns, tolerance = self._solver_columns(LinkContacts, bouncing), self.element.contact.tolerance
        return LinkContacts(at, columns, self.about, joints + n, count, tolerance)

    def _pushing(self) -> Any:
        """How many contacts of links pushed in the step before."""

        def one_more(_: Any, pushing: Any, p: Any) -> dict[str, Any]:
            return {"pushing": pushing + where(p > 0.0, 1.0, 0.0)}

        begin, p = {"pushing": 0.0}, self.last["p"][:, 0]
        return visit(one_more, {"p": p}, NOTHING, carry=begin, count=self.touching.count)["pushing"]

    def _columns(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """All that the problem needs of contacts."""
        about, n, none, count = self.about, float(self.loose_count), float(len(self.signs) - 1), self.touching.count
        asked = Asked(self.element, self.h, self.at.memory, about, self.at.recovers)
        alone = pushed_alone([self._pushing()])

        def loose_side(bodies: Any) -> dict[str, Any]:
            first, second = bodies
            number = where(first < n, first, where(second < n, second, -1.0))
            return {"at": np.array([number]), "sign": where(first < n, 1.0, where(second < n, -1.0, 0.0))}

        def one(
            rows: Any, number: Any, gap: Any, position: Any, normal: Any, aside: Any, last: Any, bodies: Any, sign: Any
        ) -> dict[str, Any]:
            law, axes = law_of(self.element.laws, number), tangent_frame(normal)
            side = Side(rows[0], axes, position + sign * aside, about)
            a, b = (lookup(self.signs, where(x < n, none, x - n)) for x in bodies)
            J_links = self.motions.rows(a - b, axes, position - sign * aside, about)
            carrier = self.links.carrier(J_links)
            jump = None if self.at.jump is None else carrier.X.T @ self.at.jump
            before = sign * side.before + J_links @ self.at.v
            free = before + sign * side.kick + carrier.X.T @ self.at.kick
            J, Y = (sign * x for x in _loose_rows(side, axes, about))
            both = (np.concatenate([x[:, :3], y[:3].T]) for x, y in ((carrier.X, J), (carrier.Y, Y)))
            last, thin = Last(**last), number_of(self.element.thin, number)
            holds = asked.held(gap, before, last, alone, mobility(*both))
            columns = asked.columns(law, gap, before, free, last, *holds, thin, jump)
            rows = {"J": J, "Y": Y, "B": whitened(carrier.Y.T, self.links.mass.r)}
            return columns | rows | {"one_more": number + 1.0}

        sides = visit(lambda _, bodies: loose_side(bodies), {"bodies": self.touching.bodies}, NOTHING, count=count)
        self.loose = sides["at"]
        items = self._items() | {"bodies": self.touching.bodies, "sign": sides["sign"]}
        return visit(one, items, self.moving.motion, sides["at"], count=count)


def _loose_rows(side: Side, axes: np.ndarray, about: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(3 + m, 6) of a loose body: velocities along and about axes per velocity of it, and what impulses change."""
    turning = np.array([[0.0, 0.0, 0.0, *axes[k]] for k in about]).reshape(-1, SIZE)
    turned = np.concatenate([np.zeros((len(about), 3)), side.spins], axis=1)
    J = np.concatenate([np.concatenate([axes, side.levers], axis=1), turning])
    return J, np.concatenate([np.concatenate([side.light * axes, side.turns], axis=1), turned])


def _rows_of_bodies(numbers: np.ndarray, joints: int, n: int, count: Any) -> np.ndarray:
    """Rows of the table of the first n bodies by numbers (k, r), which lie behind those of joints; −1 of others."""
    if not joints:
        return numbers

    def one(numbers: Any) -> dict[str, Any]:
        return {"at": np.array([where(logical_and(x >= 0.0, x < float(n)), x + float(joints), -1.0) for x in numbers])}

    return mapped(one, {"numbers": numbers}, count)["at"]


def whitened(Y: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Rows Y (m, n) of Y = L⁻¹ Jᵀ in coordinates with the inertia 1, with zeros behind them up to whole rows of six."""
    more = -len(r) % SIZE
    return np.concatenate([Y * np.array([sqrt(x) for x in r]), np.zeros((len(Y), more))], axis=1)
