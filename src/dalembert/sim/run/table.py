"""A run as named columns and a few facts, and back: what every file format stores."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from .events import Happening
from .ledger import EnergyLedger
from .run import Run

ENERGIES = ("kinetic", "potential", "elastic")


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
    return table


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
        }
    )


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
    )
