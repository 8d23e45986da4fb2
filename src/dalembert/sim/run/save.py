"""Runs on disk: tables of named columns, with the rest of a run as a note; and files for tools that draw them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing
from dalembert.tables import FORMATS, read_table, write_table

from .run import Run
from .table import columns, facts, from_table

if TYPE_CHECKING:
    from dalembert.robot import Robot

    from .drawn import Drawn

DRAWN = (".rrd", ".usd", ".usda", ".usdc")


def save(run: Run, path: str | os.PathLike[str], robot: Robot | None = None) -> None:
    """Write a run; the ending of the name says how: .npz .csv .parquet .h5 .mcap, or .rrd .usd .usda to be drawn."""
    ending = Path(path).suffix.lower()
    robot = robot or run.subject
    if ending == ".mcap":
        from .drawn import Drawn
        from .foxglove import channels

        drawn = None if robot is None else Drawn(run, robot)
        write_table(path, columns(run), facts(run), channels(run, drawn))
    elif ending in DRAWN:
        _draw(run, path, ending, robot)
    elif ending in FORMATS:
        write_table(path, columns(run), facts(run))
    else:
        raise unknown("ending", ending, (*FORMATS, *DRAWN), os.fspath(path))


def _draw(run: Run, path: str | os.PathLike[str], ending: str, robot: Robot | None) -> None:
    from .drawn import Drawn

    write: Callable[[Drawn, Path], None]
    if ending == ".rrd":
        from .rerun import write
    else:
        from .usd import write
    drawn = Drawn(run, robot)
    with replacing(path) as temporary:
        write(drawn, temporary)


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that was saved by `Run.save` as a table: .npz .csv .parquet .h5 .mcap."""
    table = read_table(path)
    try:
        return from_table(table.columns, table.notes)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise DalembertError(f"load_run: {os.fspath(path)!r} is not a run saved by dalembert ({error})") from None
