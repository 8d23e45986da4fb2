"""Runs on disk: npz and CSV; Parquet, HDF5 and MCAP with the libraries of `dalembert[logs]`."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown

from .run import Run
from .table import columns, facts, from_table

FACTS = "dalembert run"


class Format(NamedTuple):
    """How a run is written to and read from a path."""

    write: Callable[[Run, Path], None]
    read: Callable[[Path], Run]


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run; the ending of the name says how."""
    _format(path).write(run, Path(path))


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that was saved by `Run.save`."""
    if not Path(path).exists():
        raise DalembertError(f"load_run: there is no file {os.fspath(path)!r}")
    try:
        return _format(path).read(Path(path))
    except DalembertError:
        raise
    except Exception as error:  # whatever the readers of the formats raise
        raise DalembertError(
            f"load_run: {os.fspath(path)!r} is not a run saved by dalembert ({type(error).__name__}: {error})"
        ) from error


def _format(path: str | os.PathLike[str]) -> Format:
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise unknown("ending", ending, FORMATS, f"run {os.fspath(path)!r}")
    return FORMATS[ending]


def _library(name: str, ending: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise DalembertError(f"{ending} files need {name}: pip install 'dalembert[logs]'") from None


def _write_npz(run: Run, path: Path) -> None:
    with open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{FACTS: np.array(facts(run))}, **columns(run))


def _read_npz(path: Path) -> Run:
    with np.load(path, allow_pickle=False) as file:
        return from_table({n: file[n] for n in file.files if n != FACTS}, str(file[FACTS]))


def _write_csv(run: Run, path: Path) -> None:
    table = columns(run)
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {facts(run)}\n")
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([repr(float(x)) for x in row] for row in zip(*table.values(), strict=True))


def _read_csv(path: Path) -> Run:
    with open(path, newline="", encoding="utf-8") as file:
        text = file.readline()[2:]
        names, *rows = csv.reader(file)
    values = np.array(rows, float).T
    return from_table(dict(zip(names, values, strict=True)), text)


def _write_parquet(run: Run, path: Path) -> None:
    pyarrow, parquet = _library("pyarrow", ".parquet"), _library("pyarrow.parquet", ".parquet")
    table = pyarrow.table(columns(run))
    parquet.write_table(table.replace_schema_metadata({FACTS: facts(run)}), path)


def _read_parquet(path: Path) -> Run:
    table = _library("pyarrow.parquet", ".parquet").read_table(path)
    found = {name: table[name].to_numpy() for name in table.column_names}
    return from_table(found, table.schema.metadata[FACTS.encode()].decode())


def _write_h5(run: Run, path: Path) -> None:
    with _library("h5py", ".h5").File(path, "w", track_order=True) as file:
        file.attrs[FACTS] = facts(run)
        for name, values in columns(run).items():
            file.create_dataset(name.replace("/", "\u2215"), data=values)  # "/" would make folders


def _read_h5(path: Path) -> Run:
    with _library("h5py", ".h5").File(path, "r", track_order=True) as file:
        found = {name.replace("\u2215", "/"): values[...] for name, values in file.items()}
        return from_table(found, file.attrs[FACTS])


def _write_mcap(run: Run, path: Path) -> None:
    table = columns(run)
    properties = {name: {"type": "number"} for name in table}
    with open(path, "wb") as file:
        writer = _library("mcap.writer", ".mcap").Writer(file)
        writer.start(library="dalembert")
        schema = writer.register_schema(
            name="dalembert.State",
            encoding="jsonschema",
            data=json.dumps({"type": "object", "properties": properties}).encode(),
        )
        channel = writer.register_channel(topic="/state", message_encoding="json", schema_id=schema)
        for row in zip(*table.values(), strict=True):
            message = json.dumps(dict(zip(table, map(float, row), strict=True))).encode()
            time = round(row[0] * 1e9)
            writer.add_message(channel_id=channel, log_time=time, publish_time=time, data=message)
        writer.add_metadata(FACTS, {"facts": facts(run)})
        writer.finish()


def _read_mcap(path: Path) -> Run:
    with open(path, "rb") as file:
        reader = _library("mcap.reader", ".mcap").make_reader(file)
        rows = [json.loads(message.data) for _, _, message in reader.iter_messages()]
        (text,) = [m.metadata["facts"] for m in reader.iter_metadata() if m.name == FACTS]
    return from_table({name: np.array([row[name] for row in rows]) for name in rows[0]}, text)


FORMATS: dict[str, Format] = {
    ".npz": Format(_write_npz, _read_npz),
    ".csv": Format(_write_csv, _read_csv),
    ".parquet": Format(_write_parquet, _read_parquet),
    ".h5": Format(_write_h5, _read_h5),
    ".mcap": Format(_write_mcap, _read_mcap),
}
