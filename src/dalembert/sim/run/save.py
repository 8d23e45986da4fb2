"""Runs on disk: tables of named columns, with the rest of a run as a note."""

from __future__ import annotations

import os

from dalembert.errors import DalembertError
from dalembert.tables import read_table, write_table

from .run import Run
from .table import columns, facts, from_table


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run; the ending of the name says how: .npz .csv .parquet .h5 .mcap."""
    write_table(path, columns(run), facts(run))


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that was saved by `Run.save`."""
    table = read_table(path)
    try:
        return from_table(table.columns, table.notes)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise DalembertError(f"load_run: {os.fspath(path)!r} is not a run saved by dalembert ({error})") from None
