"""Contacts of what joints carry, as rows of all velocities: in slots, looped over, or few of them, written out."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact.gathering import Slot, known_before, law_of, number_of, tied_together
from dalembert.contact.rows import tangent_frame
from dalembert.contact.solver import Carrier, ColdProblem, ContactProblem, ContactRows, Rows, contact_problem
from dalembert.linear import nonzeros, sparse_product
from dalembert.math import branch, lookup, take, where

from .contact_table import ContactTable
from .one_contact import (
    Asked,
    Last,
    along_the_path,
    meets_ahead,
    mobility,
    passed,
    pushed_alone,
    speeds_apart,
)
from .turning import may_turn_into

if TYPE_CHECKING:
    from .contact_problem import ContactImpulses

MOST_HELD = 8  # contacts up to which holding all of them at once takes less time than the sweeps that it saves


class Faces(NamedTuple):
    """Rows of contacts and their moments, P B: of the velocities B (m, nv) of pairs of bodies, P (n, m)."""

    P: np.ndarray
    B: np.ndarray


class JointContacts(ContactTable):
    """Contacts with rows J (k, 3 + m, nv) of their velocities; last: arrays (k, …) of the step before by name."""

    straight = False  # whether gaps are taken to close on a straight way, whatever the path of the joints

    def __init__(self, problem: ContactImpulses, near: Slot, count: Any, places: int, last: dict[str, Any]) -> None:
        super().__init__(problem.element, problem.at, near, count, places)
        self.problem, self.last = problem, last
        self.turns = any(map(may_turn_into, self.element.patches))  # whether a step may not follow how a body turns
        self.asked = Asked(self.element, self.h, self.at.memory, self.about, self.at.recovers)
        self.columns = self._moves()
        self.columns |= self._laws({} if self.straight else self._path())

    @abstractmethod
    def _moves(self) -> dict[str, np.ndarray]:
        """Columns J, X and Y of a `Carrier`, before, free and jump, what is `Asked.held`, and whether it closes."""

    @abstractmethod
    def solver_problem(self, bouncing: bool) -> ContactProblem:
        """The problem as the solver takes it, with rebounds or without."""

    def asked_columns(self, bouncing: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocities without impulses, friction and levers of moments, as the solver takes them."""
        c = self.columns["c" if bouncing or not self.bounces else "c_plain"]
        return c, self.columns["mu"], self.columns["reach"]

    def law(self, number: Any) -> Any:
        """Law of the candidate with a number."""
        return law_of(self.element.laws, number)

    def thin(self, number: Any) -> Any:
        """Thickness of the thinner body at the candidate with a number [m]."""
        return number_of(self.element.thin, number)

    def held(self, number: Any, gap: Any, before: Any, free: Any, last: Last, alone: Any, mobile: Any) -> dict:
        """Columns of one contact: the velocity at which it holds, its shift, and whether it closes ahead."""
        held, shift = self.asked.held(gap, before, last, alone, mobile)
        closes = meets_ahead(self.element.contact, self.h, gap, free[0] + shift, last.p[0], self.thin(number))
        return {"rolls": held, "shift": shift, "closes": closes if self.unroll else where(closes, 1.0, 0.0)}

    def _path(self) -> dict[str, np.ndarray]:
        """Gaps at the end of the path of the joints, for contacts that a straight way closes."""
        gaps, numbers = self.problem.gaps_ahead(self.any("closes")), self.near.number
        constant = not any(hasattr(x, "__traced__") for x in numbers)
        return {"after": gaps[numbers.astype(int)] if constant else take(gaps[:, None], numbers)[:, 0]}

    def _laws(self, path: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Columns of what the laws ask."""
        jumps = self.at.jump is not None

        def one(
            number: Any, gap: Any, before: Any, free: Any, rolls: Any, shift: Any, closes: Any, last: Any, *more: Any
        ) -> dict[str, Any]:
            if path:
                shift = along_the_path(self.h, shift, free[0], closes if self.unroll else closes > 0.5, more[-1])
            jump = more[0] if jumps else None
            law, thin, last = self.law(number), self.thin(number), Last(**last)
            columns = self.asked.columns(law, gap, before, free, last, rolls, shift, thin, jump)
            return columns | {"one_more": number + 1.0}

        items = {"number": self.near.number, "gap": self.near.gap}
        items |= self.some("before", "free", "rolls", "shift", "closes") | {"last": self.last}
        return self.map(one, items | (self.some("jump") if jumps else {}) | path)

    def missed(self) -> Any:
        """Largest speed by which a contact was passed through; where one may be, with the ways of all freedoms."""

        def one(number: Any, gap: Any, J: Any, before: Any, last: Any) -> dict[str, Any]:
            last, apart = Last(**last), speeds_apart(J[:3], self.problem.v)
            further = self.at.memory, apart, self.thin(number), last.held[0]
            speed = passed(self.element.contact, self.h, gap, before[:3], last.p[0], *further)
            return {"passed": np.array([speed])}

        def at_length() -> dict[str, Any]:
            items = {"number": self.near.number, "gap": self.near.gap} | self.some("J", "before")
            self.columns["passed"] = self.map(one, items | {"last": self.last})["passed"]
            return {"missed": self.largest("passed")}

        suspected = self.largest("passed")
        return branch(suspected > 0.0, at_length, {"missed": suspected})["missed"]

    def bodies(self) -> np.ndarray:
        """Numbers of both bodies of each contact (k, 2)."""
        table = self.problem.bodies_of_candidates
        return self.map(lambda k: {"bodies": lookup(table, k)}, {"k": self.near.number})["bodies"]


class SlottedContacts(JointContacts):
    """Contacts in k slots, in every state others; step: see `gathered_contacts`."""

    def __init__(self, problem: Any, slots: Slot, count: Any) -> None:
        self.gathering, self.motions, element = problem.gathering, problem.motions, problem.element
        self.straight = bool(element.scene_room)
        k, memory = len(slots.number), problem.at.memory
        last = known_before(slots.number, count, memory.numbers[:k], len(self.gathering), memory.by_place())
        super().__init__(problem, slots, count, element.places, last)

    def _moves(self) -> dict[str, np.ndarray]:
        at, gathering, bodies = self.at, self.gathering, self.at.bodies
        pushing = gathering.pushing(self.near.number, self.last["p"], self.count)

        def one(number: Any, gap: Any, position: Any, normal: Any, aside: Any, last: Any) -> dict[str, Any]:
            axes = tangent_frame(normal)
            J = self.motions.rows(gathering.signs_of(number), axes, position, self.about, aside)
            carrier = bodies.carrier(J)
            before = J @ at.v
            free = before + carrier.X.T @ at.kick
            alone = pushed_alone(gathering.groups_of(number) * pushing)
            moves = {"J": J, "X": carrier.X.T, "Y": carrier.Y.T, "before": before, "free": free}
            if at.jump is not None:
                moves["jump"] = carrier.X.T @ at.jump
            mobile = mobility(carrier.X, carrier.Y)
            return moves | self.held(number, gap, before, free, Last(**last), alone, mobile)

        return self.map(one, self.near._asdict() | {"last": self.last})

    def solver_problem(self, bouncing: bool) -> ContactProblem:
        """The problem as loops over contacts."""
        n, tied = self.problem.system.model.nv, self.at.bodies.loops is None
        pattern = self.gathering.pattern if tied else np.ones((n, n), bool)
        J, X, Y = (self.columns[name] for name in ("J" if tied else "Y", "X", "Y"))
        rows = ContactRows(J, X, Y, *self.asked_columns(bouncing), pattern, self.count, unroll=False)
        return contact_problem(rows, self.problem.joint_rows)


class WrittenContacts(JointContacts):
    """Few contacts, each with its own place, of which zeros and constants fold.

    J (k, 3 + m, nv): of their velocities, 0 for moments that a contact does not have. faces: their rows by pairs of
    bodies, where these have fewer. lift: what carries the velocities of these pairs.
    """

    unroll = True

    def __init__(
        self,
        problem: ContactImpulses,
        near: Slot,
        J: np.ndarray,
        last: dict[str, Any],
        places: int,
        faces: Faces | None = None,
    ) -> None:
        self.J, self.rows = J, problem.rows.J[problem.switching]
        self.lift: np.ndarray | None = None
        self.faces = None if len(self.rows) else faces
        super().__init__(problem, near, None, places, last)

    def _moves(self) -> dict[str, np.ndarray]:
        at, k = self.at, len(self.near.number)
        J = self.J.reshape(-1, self.J.shape[2])
        n = len(J)
        if self.faces is None:
            carrier = at.bodies.carrier(np.concatenate([J, self.rows]))
            if not len(self.rows):  # where inertia is diagonal there is less to keep for Newton steps
                carrier = Carrier.reduced(carrier.Y, at.bodies.mass.r)
            before = sparse_product(J, at.v)
        else:
            of_faces = at.bodies.carrier(self.faces.B)
            carrier = of_faces.condensed(self.faces.P)
            before = sparse_product(self.faces.P, sparse_product(self.faces.B, at.v))
            self.lift = of_faces.Y

        def changes(kick: np.ndarray) -> np.ndarray:
            if self.faces is None:
                return sparse_product(carrier.X[:, :n].T, kick)
            return sparse_product(self.faces.P, sparse_product(of_faces.X.T, kick))

        moves = {"before": before, "free": before + changes(at.kick), "X": carrier.X.T[:n], "Y": carrier.Y.T[:n]}
        if at.jump is not None:
            moves["jump"] = changes(at.jump)
        moves = {"J": self.J} | {name: x.reshape(k, -1, *x.shape[1:]) for name, x in moves.items()}
        self.carrier = carrier
        groups = tied_together(np.any(nonzeros(self.J[:, :3]), axis=1))
        pushing = sparse_product(
            groups.T.astype(float), np.array([where(p[0] > 0.0, 1.0, 0.0) for p in self.last["p"]])
        )
        alone = np.array([pushed_alone(pushing[tied]) for tied in groups])

        def one(number: Any, gap: Any, before: Any, free: Any, X: Any, Y: Any, last: Any, alone: Any) -> dict[str, Any]:
            mobile = mobility(X[:3].T, Y[:3].T)
            return self.held(number, gap, before, free, Last(**last), alone, mobile)

        items = {"number": self.near.number, "gap": self.near.gap}
        items |= {name: moves[name] for name in ("before", "free", "X", "Y")} | {"last": self.last, "alone": alone}
        return moves | self.map(one, items)

    def solver_problem(self, bouncing: bool) -> ContactProblem:
        """The problem written out."""
        carrier, k, n = self.carrier, len(self.near.number), self.J.shape[0] * self.J.shape[1]
        J, X, Y = (x[:n].reshape(k, -1, x.shape[1]) for x in (carrier.J, carrier.X.T, carrier.Y.T))
        rows, problem = carrier.some(range(n, len(carrier.J))), self.problem
        of_rows = Rows(rows, problem.row_free, problem.row_laws, problem.row_give)
        contacts = ContactRows(J, X, Y, *self.asked_columns(bouncing))
        return (ColdProblem if self._starts_anew() else contact_problem)(contacts, of_rows)

    def _starts_anew(self) -> bool:
        """Whether nothing is known of a step before, and contacts alone, each on bodies of its own, are solved for."""
        bodies = [body for patch in self.element.patches for body in [patch.first] * len(patch.names)]
        alone = len(set(bodies)) == len(bodies) <= MOST_HELD and not len(self.rows) and not self.about
        started = [self.last["p"], self.last["turned"], self.at.memory.rows]
        return alone and not any(nonzeros(x).any() for x in started)
