"""A run as named columns and a few facts, and back: what every file format stores."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from .contacts import Contacts
from .events import Happening
from .ledger import EnergyLedger
from .run import Run

ENERGIES = ("kinetic", "potential", "elastic")
CONTACT_VECTORS = ("position", "force", "normal", "velocity")
ITERATION = ("passes", "residual")


def columns(run: Run) -> dict[str, np.ndarray]:
    """Column name → numbers (n,): t, q.<joint>, v.<joint>, tau.<joint>, state.<k>, force.<k>, energies."""
    table = {"t": run.t}
    for kind, names, values in (
        ("q", run.coordinates, run.q),
        ("v", run.freedoms, run.v),
        ("tau", run.freedoms, run.tau),
        ("state", range(run.states.shape[1]), run.states),
        ("force", range(run.multipliers.shape[1]), run.multipliers),
    ):
        table |= {f"{kind}.{name}": values[:, k] for k, name in enumerate(names)}
    table |= {f"energy.{name}": getattr(run.energy, name) for name in ENERGIES}
    table |= {f"work.{name}": x for name, x in run.energy.work.items()}
    table |= {f"heat.{name}": x for name, x in run.energy.heat.items()}
    table["energy.residual"] = run.energy.residual
    return table if run.contacts is None else table | _contact_columns(run.contacts)


def _contact_columns(contacts: Contacts) -> dict[str, np.ndarray]:
    """contact.<k>.<field> of each point, contact.passes and contact.residual where there are any."""
    table = {}
    for k in range(len(contacts.names)):
        table[f"contact.{k}.gap"] = contacts.gap[:, k]
        for name in CONTACT_VECTORS:
            table |= {f"contact.{k}.{name}.{axis}": getattr(contacts, name)[:, k, i] for i, axis in enumerate("xyz")}
    return table | {f"contact.{name}": x for name in ITERATION if len(x := getattr(contacts, name))}


def facts(run: Run) -> str:
    """Everything else, as JSON."""
    events = [[e.name, float(e.t), e.q.tolist(), e.v.tolist()] for e in run.events]
    return json.dumps(
        {
            "robot": run.robot,
            "coordinates": run.coordinates,
            "freedoms": run.freedoms,
            "coordinate_units": run.coordinate_units,
            "freedom_units": run.freedom_units,
            "log": run.log,
            "steps": run.steps,
            "settings": run.settings,
            "events": events,
            "contacts": _contact_facts(run.contacts),
        }
    )


def _contact_facts(contacts: Contacts | None) -> dict[str, Any] | None:
    if contacts is None:
        return None
    named = {name: getattr(contacts, name) for name in ("names", "bodies", "model", "unsettled", "worst")}
    return named | {"friction": contacts.friction.tolist()}


def from_table(table: dict[str, np.ndarray], text: str) -> Run:
    """The run of columns and facts."""
    known: dict[str, Any] = json.loads(text)
    t = np.asarray(table["t"], float)
    if t.ndim != 1:
        raise ValueError(f"t has shape {t.shape}, expected (n,)")

    def column(name: str) -> np.ndarray:
        values = np.asarray(table[name], float)
        if values.shape != t.shape:
            raise ValueError(f"column {name!r} has shape {values.shape}, expected {t.shape}")
        return values

    def joined(names: Iterable[str]) -> np.ndarray:
        return np.stack([np.zeros_like(t), *map(column, names)], axis=1)[:, 1:]

    def starting(kind: str) -> list[str]:
        return [name for name in table if name.startswith(f"{kind}.")]

    def accounts(kind: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(f"{kind}."): column(name) for name in starting(kind)}

    def contacts(stated: dict[str, Any] | None) -> Contacts | None:
        if stated is None:
            return None
        points = [f"contact.{k}" for k in range(len(stated["names"]))]
        vectors = {
            name: np.stack([joined(f"{point}.{name}.{axis}" for axis in "xyz") for point in points], axis=1)
            for name in CONTACT_VECTORS
        }
        iteration = {name: column(f"contact.{name}") for name in ITERATION if f"contact.{name}" in table}
        return Contacts(
            tuple(stated["names"]),
            tuple((first, second) for first, second in stated["bodies"]),
            t,
            joined(f"{point}.gap" for point in points),
            friction=np.array(stated["friction"], float),
            model=stated["model"],
            unsettled=stated["unsettled"],
            worst=stated["worst"],
            **vectors,
            **iteration,
        )

    coordinates, freedoms = tuple(known["coordinates"]), tuple(known["freedoms"])
    kinetic, potential, elastic = (column(f"energy.{name}") for name in ENERGIES)
    ledger = EnergyLedger(kinetic, potential, elastic, accounts("work"), accounts("heat"))
    return Run(
        known["robot"],
        coordinates,
        freedoms,
        t,
        joined(f"q.{name}" for name in coordinates),
        joined(f"v.{name}" for name in freedoms),
        joined(f"tau.{name}" for name in freedoms),
        joined(starting("state")),
        ledger,
        joined(starting("force")),
        tuple(Happening(name, t, np.array(q), np.array(v)) for name, t, q, v in known["events"]),
        tuple(known["log"]),
        known["steps"],
        known["settings"],
        tuple(known.get("coordinate_units", ())),
        tuple(known.get("freedom_units", ())),
        contacts=contacts(known.get("contacts")),
    )
