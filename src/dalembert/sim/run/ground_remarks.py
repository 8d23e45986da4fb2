"""What a run says about the ground at its start."""

from __future__ import annotations

import numpy as np

from dalembert.algorithms.free_bodies import drifts
from dalembert.contact import Contact, candidates
from dalembert.contact.bounds import deepest
from dalembert.contact.candidates import in_the_ground, law_sources
from dalembert.contact.meshes import mesh_remarks
from dalembert.model import Model

DEEP = 1e-4  # [m]: a penetration at the start that is worth a word


def about_ground(model: Model, contact: Contact | None, q: np.ndarray) -> list[str]:
    """Remarks on the start of a run: that there is no ground, whose friction it takes, what starts inside it."""
    if contact is None:
        falls = any(drifts(model, body) for body in model.bodies) and bool(model.gravity.any())
        return (
            ["contact: there is no ground: the base falls freely; contact=dalembert.Contact() has one"] if falls else []
        )
    if contact.model == "mujoco":
        return []
    patches, remarks = candidates(model, contact), [*law_sources(model, contact), *mesh_remarks(model, contact)]
    if names := in_the_ground(model, contact, q):
        remarks.append(
            f"contact: {', '.join(map(repr, names))} stays in the ground, however the joints move, and is left out"
        )
    point = deepest(model, patches, q)
    if point.gap >= -DEEP:
        return remarks
    floats = any(drifts(model, body) for body in model.bodies)
    cure = "start higher" if floats else 'the base is fixed: lower the ground, or load(…, base="free") and start higher'
    if contact.model == "rigid":
        follows = f"comes out at {contact.recovery_speed:g} m/s at most"
    else:
        push = -point.law.stiffness * point.gap
        if push <= float(np.linalg.norm(model.gravity)) * sum(body.inertia.mass for body in model.bodies):
            return remarks  # no deeper than what rests there
        follows = f"is pushed out with {push:.3g} N"
    return [
        *remarks,
        f"contact: {point.name!r} starts {_length(-point.gap)} deep in what it touches, and {follows}: {cure}",
    ]


def _length(x: float) -> str:
    """A length for people [m]."""
    return f"{x:.3g} m" if x >= 1.0 else f"{1e3 * x:.3g} mm"
