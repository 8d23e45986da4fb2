"""Accounts of the energy ledger: which a system has, the power that flows into each, and the work of impulses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms.passive import sliding_friction
from dalembert.model import Body, Joint, Model
from dalembert.model.model import EFFECTS

from ..elements.base import Element
from .multipliers import HeldRows

if TYPE_CHECKING:
    from .system import Applied, System


class Entry(NamedTuple):
    """One account of the ledger: "work" put in or "heat" given off, and by what."""

    kind: str
    name: str


CONTACT_FRICTION = Entry("heat", "contact friction")
CONTACT_IMPACTS = Entry("heat", "contact impacts")
CONTACT_RECOVERY = Entry("work", "contact recovery")  # that lifts what penetrates out again


def entries_of(system: System) -> tuple[Entry, ...]:
    """The accounts of a system, in the order of their powers."""
    entries = []
    if system.driven or system.law:
        entries += [Entry("work", f"actuator {name}") for name in system.model.freedom_names]
    for field in DISSIPATION:
        entries += [Entry("heat", f"{field} {body.joint.name}") for body in _dissipating(system.model, field)]
    for element, label in zip(system.elements, system.labels, strict=True):
        entries += [Entry("work", label)] * element.gives + [Entry("heat", label)] * element.loses
    if system.contact is not None:
        entries += [CONTACT_FRICTION, CONTACT_IMPACTS, CONTACT_RECOVERY]
    return tuple(entries)


def powers(system: System, v: np.ndarray, applied: Applied, forces: np.ndarray | None) -> np.ndarray:
    """The rate [W] of each account (nw,); forces (nr,) of the rows, if they are known."""
    rates: list[Any] = list(applied.tau * v) if system.driven or system.law else []
    for field, torque in DISSIPATION.items():
        rates += [torque(body.joint, v[body.v]) @ v[body.v] for body in _dissipating(system.model, field)]
    for k, (element, action) in enumerate(zip(system.elements, applied.actions, strict=True)):
        put_in, lost = _row_powers(system, k, applied.rows, forces)
        if element is system.soft:
            lost = lost - applied.soft @ v
        rates += [action.given + put_in] * element.gives + [action.lost + lost] * element.loses
    if system.contact is not None:  # a step adds what its impulses did
        rates += [0.0, 0.0, 0.0]
    return np.array(rates, np.result_type(v, *(type(x) for x in rates)) if rates else float)


def _row_powers(system: System, element: int, rows: HeldRows | None, forces: np.ndarray | None) -> tuple[Any, Any]:
    """Power [W] that the rows of an element put in (surfaces that move by themselves) and turn into heat."""
    put_in: Any = 0.0
    lost: Any = 0.0
    for k, owner in enumerate(system.row_owners):
        if owner.element == element and rows is not None:
            lost = lost - rows.sliding[k] * rows.rate[k]
            put_in = put_in + (rows.sliding[k] if forces is None else forces[k]) * rows.surface[k]
    return put_in, lost


def surface_work(system: System, rows: HeldRows, impulses: np.ndarray) -> np.ndarray:
    """Work [J] for each account (nw,) of impulses along rows on surfaces that move by themselves."""
    work: dict[Entry, Any] = {}
    for k in range(len(impulses)):
        owner = system.row_owners[k].element
        if owner is not None and system.elements[owner].gives:
            entry = Entry("work", system.labels[owner])
            work[entry] = work.get(entry, 0.0) + impulses[k] * rows.surface[k]
    return np.array([work.get(entry, 0.0) for entry in system.entries])


def numbered_labels(elements: Sequence[Element]) -> list[str]:
    """Names of elements for the ledger, numbered where two are alike."""
    plain = [element.label() for element in elements]
    seen: dict[str, int] = {}
    numbered = []
    for name in plain:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(name if plain.count(name) == 1 else f"{name} #{seen[name]}")
    return numbered


def _dissipating(model: Model, field: str) -> list[Body]:
    """Bodies whose joint has damping or friction."""
    names = EFFECTS[field]
    return [body for body in model.bodies if any(np.any(getattr(body.joint, name) != 0.0) for name in names)]


def _damping(joint: Joint, v: np.ndarray) -> np.ndarray:
    return joint.damping * v


DISSIPATION = {"damping": _damping, "friction": sliding_friction}  # effect → the force that it takes at a velocity
