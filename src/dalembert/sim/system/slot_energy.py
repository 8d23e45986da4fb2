"""Of contacts in slots after a step: which approaches wait for their rebounds, and where the energy went."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.math import clip, maximum
from dalembert.math import map as mapped

from .one_contact import braking, recovered, stopped_approach


def waiting(
    contact: Contact, columns: dict[str, np.ndarray], p: np.ndarray, changes: np.ndarray, v1: np.ndarray
) -> np.ndarray:
    """(k, 1): squares of the speeds of approaches that wait; changes: by what stops contacts. v1 (nv,): after it."""

    def step(J: Any, before: Any, waits: Any, stops: Any, p: Any, du: Any) -> dict[str, Any]:
        square = stopped_approach(contact, stops, p[0], waits[0], du[0], before[0], J[0] @ v1)
        return {"waits": np.array([square])}

    names = "J", "before", "waits", "stops"
    return mapped(step, {name: columns[name] for name in names} | {"p": p, "du": changes})["waits"]


def owed_energy(columns: dict[str, np.ndarray], p: np.ndarray, v1: np.ndarray, left: Any) -> Any:
    """The energy that approaches which wait for their rebounds have lost, at most what is left of all [J]."""

    def step(J: Any, before: Any, waits: Any, approach: Any, p: Any) -> dict[str, Any]:
        return {"taken": braking(waits[0], approach[0], p[0], before[0], J[0] @ v1)}

    names = "J", "before", "waits", "approach"
    taken = mapped(step, {name: columns[name] for name in names} | {"p": p})["taken"]
    return clip(sum(taken), 0.0, maximum(left, 0.0))


def lost_energy(
    columns: dict[str, np.ndarray], p: np.ndarray, turned: np.ndarray, v1: np.ndarray
) -> tuple[Any, Any, Any]:
    """The heat of impacts and of friction, and the work of recovery, of all contacts [J]."""

    def step(J: Any, meets: Any, gap: Any, p: Any, turned: Any) -> dict[str, Any]:
        lost = -0.5 * np.concatenate([p, turned]) * (meets + J @ v1)
        lift = recovered(lost[0], gap)
        return {"impact": lost[0] + lift, "friction": sum(lost[1:]), "lift": lift}

    heat = mapped(step, {name: columns[name] for name in ("J", "meets", "gap")} | {"p": p, "turned": turned})
    return sum(heat["impact"]), sum(heat["friction"]), sum(heat["lift"])
