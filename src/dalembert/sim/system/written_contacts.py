"""Few contacts, each with a place of its own, written out, so that zeros and constants fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact.gathering import Slot, tied_together
from dalembert.contact.solver import Carrier, ColdProblem, ContactProblem, JointContacts, Rows, contact_problem
from dalembert.linear import nonzeros, sparse_product
from dalembert.math import where

from .contact_table import ContactTable
from .looped_contacts import missed_at_length
from .one_contact import Last, mobility, pushed_alone

if TYPE_CHECKING:
    from .contact_problem import ContactImpulses

MOST_HELD = 8  # contacts up to which holding all of them at once takes less time than the sweeps that it saves


class Faces(NamedTuple):
    """Rows of contacts and their moments, P B: of the velocities B (m, nv) of pairs of bodies, P (n, m)."""

    P: np.ndarray
    B: np.ndarray


class WrittenContacts(ContactTable):
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
        super().__init__(problem, near, None, places, last, problem.at.recovers)

    def moved(self, pushed: np.ndarray) -> np.ndarray:
        """w of a `Solved`, from what impulses move in the coordinates of the solver."""
        return pushed if self.lift is None else sparse_product(self.lift, pushed)

    def missed(self) -> Any:
        """Largest speed by which a contact was passed through; where one may be, with the ways of all freedoms."""
        return missed_at_length(self, "J")

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

    def problem_of(self, bouncing: bool) -> ContactProblem:
        """The problem as the solver takes it, with rebounds or without."""
        carrier, k, n = self.carrier, len(self.near.number), self.J.shape[0] * self.J.shape[1]
        J, X, Y = (x[:n].reshape(k, -1, x.shape[1]) for x in (carrier.J, carrier.X.T, carrier.Y.T))
        rows, problem = carrier.some(range(n, len(carrier.J))), self.problem
        of_rows = Rows(rows, problem.row_free, problem.row_laws, problem.row_give)
        asked = self.some("mu", "reach") | {"c": self.columns["c" if bouncing or not self.bounces else "c_plain"]}
        contacts = JointContacts({"J": J, "X": X, "Y": Y} | asked, unroll=True)
        return ColdProblem([contacts], of_rows) if self._starts_anew() else contact_problem(contacts, of_rows)

    def _starts_anew(self) -> bool:
        """Whether nothing is known of a step before, and contacts alone, each on bodies of its own, are solved for."""
        bodies = [body for patch in self.element.patches for body in [patch.first] * len(patch.names)]
        alone = len(set(bodies)) == len(bodies) <= MOST_HELD and not len(self.rows) and not self.about
        started = [self.last["p"], self.last["turned"], self.at.memory.rows]
        return alone and not any(nonzeros(x).any() for x in started)
