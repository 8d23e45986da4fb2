"""The impulses of a time step on all candidates, where these are few: each has a place of its own."""

from __future__ import annotations

import numpy as np

from dalembert.contact.gathering import Slot
from dalembert.contact.rows import Rows, contact_rows, pair_motions
from dalembert.linear import nonzeros

from .contact_problem import ContactImpulses, Solved
from .written_contacts import Faces, WrittenContacts


class EachImpulses(ContactImpulses):
    """The impulses on all candidates."""

    def solved(self) -> Solved:
        """All impulses on their laws."""
        model, q, element, memory = self.bodies.model, self.bodies.q, self.element, self.at.memory
        ahead = None
        if any(patch.passes_by for patch in element.patches):
            ahead = self.motions.later(self.X, self.v, self.h)
        rows = contact_rows(model, q, element.patches, ahead)
        k = len(rows.gap)
        J, spin = (x.reshape(k, 3, -1) for x in (rows.J, rows.spin))
        near = Slot(np.arange(float(k)), rows.gap, rows.position, rows.axes[:, 0], rows.aside)
        each = np.concatenate([J, self._of_moments(spin)], axis=1)
        contacts = WrittenContacts(self, near, each, memory.by_place(), k, self._faces(rows))
        return self.solution([contacts])

    def _of_moments(self, spin: np.ndarray) -> np.ndarray:
        """(k, m, n): rows of moments, of those about all axes (k, 3, n); 0 for moments that a contact does not have."""
        about = self.element.turning
        has = [[[axis in law.axes] for axis in about] for law in self.element.laws]
        return np.where(np.array(has), spin[:, about], 0.0) if about else spin[:, :0]

    def _faces(self, rows: Rows) -> Faces | None:
        """Rows of contacts and their moments by pairs of bodies, where these have fewer and can move apart."""
        model, element = self.bodies.model, self.element
        motions = pair_motions(model, self.bodies.q, element.patches, rows)
        if motions is None:
            return None
        of_axes, turns = (x.reshape(len(rows.gap), 3, -1) for x in (motions.P, motions.S))
        P = np.concatenate([of_axes, self._of_moments(turns)], axis=1).reshape(-1, len(motions.B))
        used = nonzeros(P).any(axis=0)
        fewer = used.sum() < model.nv and _independent(motions.B[used])
        return Faces(P[:, used], motions.B[used]) if fewer else None


def _independent(B: np.ndarray) -> bool:
    """Whether rows can all move apart from each other, by their pattern: as many joints as rows move them."""
    pattern = nonzeros(B)
    return all((pattern <= columns).all(axis=1).sum() <= columns.sum() for columns in pattern)
