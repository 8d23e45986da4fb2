"""Values that may differ from motion to motion: live groups of the model, a payload, and the friction of contacts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.functions.live import GROUPS, check_live, checked
from dalembert.model import Model, tool_frame
from dalembert.spatial import Inertia

from ..elements.contact import CompliantContact, RigidContact
from ..system.system import System

CONTACT_FRICTION = "contact_friction"  # Coulomb's coefficient of all contacts, at rest and sliding
PAYLOAD = "payload"  # a point mass at the tool [kg]
ALONE = (CONTACT_FRICTION, PAYLOAD)  # one number each


def checked_names(names: Collection[str], contact: Contact | None) -> tuple[str, ...]:
    """Names of what is live, each known; friction of contacts last, where there are such."""
    known = (*GROUPS, *ALONE)
    if wrong := [name for name in names if name not in known]:
        raise unknown("live parameters", str(wrong[0]), known, "live")
    live = (*checked(name for name in names if name not in ALONE), *(name for name in names if name == PAYLOAD))
    if CONTACT_FRICTION not in names:
        return live
    if contact is None or contact.model == "mujoco":
        what = "there is no contact" if contact is None else "contacts of MuJoCo's model take that of the file"
        raise DalembertError(f"rollout: parameters: {CONTACT_FRICTION}: {what}")
    if contact.static_friction is not None:
        raise DalembertError(
            f"rollout: parameters: {CONTACT_FRICTION} is that of rest as well: leave out static_friction of the contact"
        )
    return (*live, CONTACT_FRICTION)


def size_of(model: Model, name: str) -> int:
    """Numbers of a live group."""
    return 1 if name in ALONE else len(GROUPS[name].values(model))


def check_values(model: Model, named: Mapping[str, np.ndarray]) -> None:
    """Raise the error for the first value that no robot has."""
    check_live(model, "rollout", {name: x for name, x in named.items() if name not in ALONE})
    for name in ALONE:
        values = named.get(name)
        if values is not None and not np.all(values >= 0.0):
            wrong = values[~(values >= 0.0)].ravel()[0]
            raise DalembertError(f"rollout: {name} is {wrong:g}, expected 0 or more, or check=False")


def put(system: System, name: str, x: np.ndarray) -> System:
    """The system with the numbers x of a live group."""
    if name == PAYLOAD:
        return replace(system, model=_loaded(system.model, x[0]))
    if name != CONTACT_FRICTION:
        return replace(system, model=GROUPS[name].put(system.model, x))
    elements: list[Any] = []
    for element in system.elements:
        if isinstance(element, (RigidContact, CompliantContact)):
            laws = [replace(patch.law, friction=x[0], static_friction=x[0]) for patch in element.patches]
            pairs = zip(element.patches, laws, strict=True)
            element = replace(element, patches=tuple(replace(patch, law=law) for patch, law in pairs))
        elements.append(element)
    return replace(system, elements=tuple(elements))


def _loaded(model: Model, mass: Any) -> Model:
    """The model with a point mass [kg] at its tool."""
    frame = tool_frame(model)
    p = frame.placement.p
    load = Inertia(mass, mass * p, mass * ((p @ p) * np.eye(3) - np.outer(p, p)))
    bodies = [replace(b, inertia=b.inertia + load) if b.index == frame.body else b for b in model.bodies]
    return replace(model, bodies=tuple(bodies))
