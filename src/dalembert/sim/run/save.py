"""A run as named columns and a few facts, and back: what every file format stores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing
from dalembert.tables import FORMATS, read_table, write_table
from dalembert.typing import Array

from .contacts import Contacts
from .run import EnergyLedger, Happening, Run

if TYPE_CHECKING:
    from dalembert.robot import Robot

    from .drawn import DrawnRun


ENERGIES = ("kinetic", "potential", "elastic")
FACTS = "names", "bodies", "model", "unsettled", "worst", "crowded", "turned", "passed", "step"  # kept as they are
CONTACT_VECTORS = ("position", "force", "normal", "velocity", "moment")  # the last one where some point has it
ITERATION = ("passes", "residual")


def columns(run: Run) -> dict[str, Array]:
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


def _contact_columns(contacts: Contacts) -> dict[str, Array]:
    """contact.<k>.<field> of each point, contact.passes and contact.residual where there are any."""
    table = {}
    for k in range(len(contacts.names)):
        table[f"contact.{k}.gap"] = contacts.gap[:, k]
        for name in CONTACT_VECTORS if contacts.moment.any() else CONTACT_VECTORS[:-1]:
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
            "unfinished": run.unfinished,
            "events": events,
            "contacts": _contact_facts(run.contacts),
        }
    )


def _contact_facts(contacts: Contacts | None) -> dict[str, Any] | None:
    if contacts is None:
        return None
    named = {name: getattr(contacts, name) for name in FACTS}
    sliding = None if contacts.sliding is None else contacts.sliding.tolist()
    return named | {"friction": contacts.friction.tolist(), "sliding": sliding}


class _RunColumns:
    """Columns by name, as long as the times `t` (n,); others are refused."""

    def __init__(self, table: dict[str, Array]) -> None:
        self.table = table
        self.t = np.asarray(table["t"], float)
        if self.t.ndim != 1:
            raise ValueError(f"t has shape {self.t.shape}, expected (n,)")

    def column(self, name: str) -> Array:
        values = np.asarray(self.table[name], float)
        if values.shape != self.t.shape:
            raise ValueError(f"column {name!r} has shape {values.shape}, expected {self.t.shape}")
        return values

    def joined(self, names: Iterable[str]) -> Array:
        """Columns side by side (n, k); k may be 0."""
        return np.stack([np.zeros_like(self.t), *map(self.column, names)], axis=1)[:, 1:]

    def starting(self, kind: str) -> list[str]:
        """Names of the columns of a kind, such as "state"."""
        return [name for name in self.table if name.startswith(f"{kind}.")]

    def accounts(self, kind: str) -> dict[str, Array]:
        """Accounts of the ledger by name. kind: "work" or "heat"."""
        return {name.removeprefix(f"{kind}."): self.column(name) for name in self.starting(kind)}

    def contacts(self, stated: dict[str, Any] | None) -> Contacts | None:
        """The contacts, from the columns and the facts about the points."""
        if stated is None:
            return None
        points = [f"contact.{k}" for k in range(len(stated["names"]))]
        vectors = {
            name: np.stack([self.joined(f"{point}.{name}.{axis}" for axis in "xyz") for point in points], axis=1)
            for name in CONTACT_VECTORS
            if f"{points[0]}.{name}.x" in self.table
        }
        iteration = {name: self.column(f"contact.{name}") for name in ITERATION if f"contact.{name}" in self.table}
        return Contacts(
            tuple(stated["names"]),
            tuple((first, second) for first, second in stated["bodies"]),
            self.t,
            self.joined(f"{point}.gap" for point in points),
            friction=np.array(stated["friction"], float),
            model=stated["model"],
            unsettled=stated["unsettled"],
            worst=stated["worst"],
            crowded=stated.get("crowded", 0),
            passed=stated.get("passed", 0),
            turned=None if stated.get("turned") is None else (stated["turned"][0], stated["turned"][1]),
            step=stated.get("step"),
            sliding=None if stated.get("sliding") is None else np.array(stated["sliding"], float),
            **vectors,
            **iteration,
        )


def from_table(table: dict[str, Array], text: str) -> Run:
    """The run of columns and facts."""
    known: dict[str, Any] = json.loads(text)
    columns = _RunColumns(table)
    coordinates, freedoms = tuple(known["coordinates"]), tuple(known["freedoms"])
    kinetic, potential, elastic = (columns.column(f"energy.{name}") for name in ENERGIES)
    ledger = EnergyLedger(kinetic, potential, elastic, columns.accounts("work"), columns.accounts("heat"))
    return Run(
        known["robot"],
        coordinates,
        freedoms,
        columns.t,
        columns.joined(f"q.{name}" for name in coordinates),
        columns.joined(f"v.{name}" for name in freedoms),
        columns.joined(f"tau.{name}" for name in freedoms),
        columns.joined(columns.starting("state")),
        ledger,
        columns.joined(columns.starting("force")),
        tuple(Happening(name, t, np.array(q), np.array(v)) for name, t, q, v in known["events"]),
        tuple(known["log"]),
        known["steps"],
        known["settings"],
        tuple(known.get("coordinate_units", ())),
        tuple(known.get("freedom_units", ())),
        contacts=columns.contacts(known.get("contacts")),
        unfinished=known.get("unfinished", ""),
    )


DRAWN = (".rrd", ".usd", ".usda", ".usdc")


def save(run: Run, path: str | os.PathLike[str], robot: Robot | None = None) -> None:
    """Write a run; the ending of the name says how: .npz .csv .parquet .h5 .mcap, or .rrd .usd .usda to be drawn."""
    ending = Path(path).suffix.lower()
    robot = robot or run.subject
    if ending == ".mcap":
        from .drawn import DrawnRun
        from .foxglove import channels

        drawn = None if robot is None else DrawnRun(run, robot)
        write_table(path, columns(run), facts(run), channels(run, drawn))
    elif ending in DRAWN:
        _draw(run, path, ending, robot)
    elif ending in FORMATS:
        write_table(path, columns(run), facts(run))
    else:
        raise unknown("ending", ending, (*FORMATS, *DRAWN), os.fspath(path))


def _draw(run: Run, path: str | os.PathLike[str], ending: str, robot: Robot | None) -> None:
    from .drawn import DrawnRun

    write: Callable[[DrawnRun, Path], None]
    if ending == ".rrd":
        from .drawn import write_rerun as write
    else:
        from .drawn import write_usd as write
    drawn = DrawnRun(run, robot)
    with replacing(path) as temporary:
        write(drawn, temporary)


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that was saved by `Run.save` as a table: .npz .csv .parquet .h5 .mcap."""
    table = read_table(path)
    try:
        return from_table(table.columns, table.notes)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise DalembertError(f"load_run: {os.fspath(path)!r} is not a run saved by dalembert ({error})") from None
