"""Contact forces on bodies, as traced values, from what steps of rigid and compliant contact keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.contact.rows import contact_rows
from dalembert.errors import DalembertError, unknown
from dalembert.math import where
from dalembert.model import Model
from dalembert.sim.elements.base import Situation
from dalembert.sim.elements.contact import CompliantContact, RigidContact
from dalembert.sim.system.drift import drifted
from dalembert.sim.system.system import System


class Feet:
    """The feet of an environment: names of bodies, links or frames, and the contacts of each."""

    def __init__(self, system: System, names: Sequence[str]) -> None:
        names = [names] if isinstance(names, str) else list(names)
        if len(set(names)) < len(names):
            raise DalembertError(f"Environment: feet {', '.join(map(repr, names))}: one is named twice")
        self.names = tuple(names)
        if not names:
            return
        element = _element(system)
        if isinstance(element, RigidContact) and element.scene_room:
            raise DalembertError(
                "Environment: feet: with so many pairs of bodies, contacts have no places of their own: name the "
                "pairs that may touch, pairs=[…, …]"
            )
        self.bodies = {name: _body(system.model, name) for name in names}
        for name, body in self.bodies.items():
            if not any(body in (patch.first, patch.second) for patch in element.patches):
                able = {x.first for x in element.patches} | {x.second for x in element.patches}
                able_names = [system.model.bodies[k].name for k in sorted(able) if k >= 0]
                raise unknown("foot with a contact", name, able_names, "Environment: feet")

    def forces(self, system: System, q: np.ndarray, e: np.ndarray, h: float) -> dict[str, np.ndarray]:
        """Force (3,) on each foot in world axes [N], the mean over the step that led to q, e."""
        if not self.names:
            return {}
        element, v = _element(system), system.layout.velocity(e)
        touching = [
            (patch, k)
            for patch, k in _numbered(element)
            if any(body in (patch.first, patch.second) for body in self.bodies.values())
        ]
        patches = [patch for patch, _ in touching]
        if isinstance(element, RigidContact):
            before, _ = drifted(system.model, q, v, -0.5 * h)
            axes = contact_rows(system.model, before, patches).axes
            pushes = _impulses(element, system.contact_memory(e), [k for _, k in touching]) * (1.0 / h)
        else:
            states = system.layout.by_element(system.layout.states(e))[system.elements.index(element)]
            rows, every = element.pushes(Situation(system.model, 0.0, q, v, states, np.zeros(system.model.nv)))
            places = [k + j for patch, k in touching for j in range(len(patch.names))]
            axes, pushes = rows.axes[places], np.array([every[k].force for k in places], object)
        totals: dict[str, Any] = {name: np.zeros(3) for name in self.names}
        owners = [patch for patch, _ in touching for _ in patch.names]
        for patch, frame, push in zip(owners, axes, pushes, strict=True):
            force = frame.T @ push
            for name, body in self.bodies.items():
                if body in (patch.first, patch.second):
                    totals[name] = totals[name] + (force if patch.first == body else -force)
        return totals


def _element(system: System) -> RigidContact | CompliantContact:
    """The contact of a system."""
    for element in system.elements:
        if isinstance(element, (RigidContact, CompliantContact)):
            return element
    raise DalembertError("Environment: feet: expected contact=Contact(…) of model 'rigid' or 'compliant'")


def _numbered(element: RigidContact | CompliantContact) -> list[tuple[Any, int]]:
    """Patches and the number of the first candidate of each."""
    ends = np.cumsum([0, *(len(patch.names) for patch in element.patches)]).tolist()
    return list(zip(element.patches, ends[:-1], strict=True))


def _impulses(element: RigidContact, memory: Any, firsts: Sequence[int]) -> np.ndarray:
    """Impulses (k, 3) of the candidates of some patches [N·s]; firsts: number of the first candidate of each."""
    counts = {k: len(patch.names) for patch, k in _numbered(element)}
    rows = memory.contacts.reshape(-1, 3)
    out = []
    for first in firsts:
        for number in range(first, first + counts[first]):
            if not element.slots:
                out.append(rows[number])
                continue
            parts = [
                where(abs(taken - (number + 1.0)) < 0.5, row, np.zeros(3))
                for taken, row in zip(memory.numbers, rows, strict=True)
            ]
            out.append(sum(parts[1:], parts[0]))
    return np.array(out, object)


def _body(model: Model, name: Any) -> int:
    """The number of a body, or of the body that carries a link."""
    for body in model.bodies:
        if name == body.name or any(part.name == name for part in body.parts):
            return int(body.index)
    raise unknown("body", str(name), [body.name for body in model.bodies], "Environment: feet")
