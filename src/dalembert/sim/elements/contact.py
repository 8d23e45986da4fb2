"""Contact as a part of a system: what a time step needs of rigid contact, and the forces of compliant contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert.contact import Contact, Patch, candidates
from dalembert.contact.rows import contact_rows
from dalembert.errors import DalembertError
from dalembert.model import Model

from .base import Action, Element, Situation

DEEP = 1e-4  # [m]: a penetration at the start that is worth a word


class Memory(NamedTuple):
    """What a step of rigid contact leaves for the next one and for reports, of k contacts.

    impulses (n,): normal and tangents of each contact, moments, rows of other elements [N·s, N·m·s]; slip (k,);
    residual: the largest change of the last pass, worst: of all steps so far [m/s]; unsettled: how many steps did not
    reach the tolerance; passes: of the last step.
    """

    impulses: np.ndarray
    slip: np.ndarray
    residual: Any
    worst: Any
    unsettled: Any
    passes: Any

    def flat(self) -> np.ndarray:
        """One vector."""
        return np.concatenate([self.impulses, self.slip, self[2:]])


@dataclass(frozen=True)
class RigidContact(Element):
    """Contacts that a time step keeps by impulses; rows: those of other elements, whose impulses are kept as well."""

    gives: ClassVar[bool] = False

    contact: Contact
    patches: tuple[Patch, ...]
    rows: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Of the points that may touch."""
        return tuple(name for patch in self.patches for name in patch.names)

    def label(self) -> str:
        """As its accounts are called."""
        return "contact"

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of each contact about which it resists turning: 0 the normal, 1 and 2 the tangents."""
        return (0,) * bool(self.contact.torsion) + (1, 2) * bool(self.contact.rolling)

    @property
    def impulse_count(self) -> int:
        """Impulses of contacts, of their moments, and of rows."""
        return (3 + len(self.axes)) * len(self.names) + self.rows

    def size(self, model: Model) -> int:
        """Numbers of its memory."""
        return self.impulse_count + len(self.names) + 4

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Nothing touched before."""
        return np.zeros(self.size(model))

    def act(self, s: Situation) -> Action:
        """Nothing by itself: the forces follow from the motion."""
        return Action(rate=np.zeros(self.size(s.model)))

    def memory(self, z: np.ndarray) -> Memory:
        """Its states (…, size) by name."""
        n, k = self.impulse_count, len(self.names)
        return Memory(z[..., :n], z[..., n : n + k], *(z[..., n + k + i][()] for i in range(4)))


def with_contact(where: str, model: Model, elements: tuple[Element, ...], contact: Any) -> tuple[Element, ...]:
    """The elements, all prepared, with those of a contact."""
    if contact is None:
        return elements
    if not isinstance(contact, Contact):
        raise DalembertError(f"{where}: contact is {contact!r}, expected a dalembert.Contact")
    points = candidates(model, contact)
    switching = (c for element in elements for c in element.constraints(model) if c.admissible.switches)
    return (*elements, RigidContact(contact, points, sum(c.count for c in switching)))


def about_ground(model: Model, contact: Contact | None, q: np.ndarray) -> list[str]:
    """What to tell of the start of a run: that there is no ground, or that something is in it."""
    if contact is None:
        falls = model.floating and bool(model.gravity.any())
        return (
            ["contact: there is no ground: the base falls freely; contact=dalembert.Contact() has one"] if falls else []
        )
    patches = candidates(model, contact)
    names = [name for patch in patches for name in patch.names]
    gaps = contact_rows(model, q, patches).gap.astype(float)
    k = int(np.argmin(gaps))
    if gaps[k] >= -DEEP:
        return []
    return [
        f"contact: {names[k]!r} starts {-1e3 * gaps[k]:.3g} mm deep in what it touches, and comes out at "
        f"{contact.recovery_speed:g} m/s at most: start higher"
    ]
