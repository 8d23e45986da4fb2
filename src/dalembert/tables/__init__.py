"""Time series in files: named columns as .csv .npz .parquet .h5 .mcap, or from ROS bags.

In: a path. Out: a `Table`, columns by name; and the reverse. Read in this order: `table`, then `text`, `arrays`,
`messages`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing

from .arrays import read_h5, read_npz, read_parquet, write_h5, write_npz, write_parquet
from .messages import Channel, read_bag, read_mcap, write_mcap
from .table import Table
from .text import read_csv, write_csv

__all__ = ["FORMATS", "Table", "read_table", "write_table"]


class Format(NamedTuple):
    """How columns and notes are written to and read from a path."""

    write: Callable[[Path, dict[str, np.ndarray], str], None]
    read: Callable[[Path], Table]


FORMATS: dict[str, Format] = {
    ".csv": Format(write_csv, read_csv),
    ".npz": Format(write_npz, read_npz),
    ".parquet": Format(write_parquet, read_parquet),
    ".h5": Format(write_h5, read_h5),
    ".mcap": Format(write_mcap, read_mcap),
}
READ_ONLY: dict[str, Callable[[Path], Table]] = {
    ".txt": read_csv,
    ".tsv": read_csv,
    ".dat": read_csv,
    ".hdf5": read_h5,
    ".bag": read_bag,
}


def write_table(
    path: str | os.PathLike[str], columns: dict[str, np.ndarray], notes: str = "", channels: Sequence[Channel] = ()
) -> None:
    """Write columns (n,) of numbers, and a text that goes with them, in the format of the file's ending.

    channels: further messages of .mcap files, which `read_table` passes over.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise unknown("ending", ending, FORMATS, os.fspath(path))
    with replacing(path) as temporary:
        if channels:
            write_mcap(temporary, columns, notes, channels)
            return
        FORMATS[ending].write(temporary, columns, notes)


def read_table(path: str | os.PathLike[str], topic: str | None = None) -> Table:
    """Columns and notes of a file. Of .mcap logs and ROS bags one topic: t, q.<joint>, v.<joint>, tau.<joint>.

    topic: the one to read; None takes the only one there is, or the one called …/joint_states.
    """
    file = Path(path)
    if not file.exists():
        raise DalembertError(f"{file}: no such file; check the path")
    ending = file.suffix.lower()
    try:
        if file.is_dir() or ending == ".bag":
            return read_bag(file, topic)
        if ending == ".mcap":
            return read_mcap(file, topic)
        if topic is not None:
            raise DalembertError(f"{file}: topic is {topic!r}, but only .mcap files and ROS bags have topics")
        if ending in FORMATS:
            return FORMATS[ending].read(file)
        if ending in READ_ONLY:
            return READ_ONLY[ending](file)
    except DalembertError:
        raise
    except Exception as error:  # any error of the formats' readers
        raise DalembertError(f"{file}: cannot be read: {type(error).__name__}: {error}") from None
    raise unknown("ending", ending, (*FORMATS, *READ_ONLY), os.fspath(path))
