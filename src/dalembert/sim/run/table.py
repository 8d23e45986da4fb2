"""A run as named columns and a few facts, and back: what every file format stores."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .events import Happening
from .ledger import Ledger
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

    def part(kind: str) -> np.ndarray:
        found = [np.asarray(x, float) for name, x in table.items() if name.startswith(f"{kind}.")]
        return np.stack(found, axis=1) if found else np.zeros((len(t), 0))

    def accounts(kind: str) -> dict[str, np.ndarray]:
        return {name[5:]: np.asarray(x, float) for name, x in table.items() if name.startswith(f"{kind}.")}

    kinetic, potential, elastic = (np.asarray(table[f"energy.{name}"], float) for name in ENERGIES)
    ledger = Ledger(kinetic, potential, elastic, accounts("work"), accounts("heat"))
    return Run(
        known["robot"],
        tuple(known["coordinates"]),
        tuple(known["freedoms"]),
        t,
        part("q"),
        part("v"),
        part("tau"),
        part("state"),
        ledger,
        part("force"),
        tuple(Happening(name, t, np.array(q), np.array(v)) for name, t, q, v in known["events"]),
        tuple(known["log"]),
        known["steps"],
        known["settings"],
        tuple(known.get("coordinate_units", ())),
        tuple(known.get("freedom_units", ())),
    )
