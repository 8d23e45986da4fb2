"""Time series in files: named columns of numbers as .csv .npz .parquet .h5 .mcap, or from ROS bags."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing

Table = dict[str, np.ndarray]  # column name → numbers (n,), all of one length
NOTES = "dalembert"  # name of the text that goes with a table
SLASH = "\u2215"  # stands for "/" in names of HDF5, where that would make folders
JOINT_STATE = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")


class Format(NamedTuple):
    """How a table and its notes are written to and read from a path."""

    write: Callable[[Path, Table, str], None]
    read: Callable[[Path], tuple[Table, str]]


def write_table(path: str | os.PathLike[str], table: Table, notes: str = "") -> None:
    """Write columns, and a text that goes with them; the ending of the name says how."""
    form = _format(path)
    with replacing(path) as temporary:
        form.write(temporary, table, notes)


def read_table(path: str | os.PathLike[str]) -> tuple[Table, str]:
    """Columns and notes of a file; bags and .mcap logs give the joint states in them: t, q.<joint>, v.…, tau.…."""
    file = Path(path)
    if not file.exists():
        raise DalembertError(f"{file}: no such file; check the path")
    try:
        return _read_bag(file) if file.is_dir() or file.suffix == ".bag" else _format(file).read(file)
    except DalembertError:
        raise
    except Exception as error:  # whatever the readers of the formats raise
        raise DalembertError(f"{file}: cannot be read: {type(error).__name__}: {error}") from None


def _format(path: str | os.PathLike[str]) -> Format:
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise unknown("ending", ending, FORMATS, os.fspath(path))
    return FORMATS[ending]


def _library(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise DalembertError(f"{what} needs {name.partition('.')[0]}: pip install 'dalembert[logs]'") from None


def _write_npz(path: Path, table: Table, notes: str) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{NOTES: np.array(notes)}, **table)


def _read_npz(path: Path) -> tuple[Table, str]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files if name != NOTES}, str(file[NOTES]) if NOTES in file else ""


def _write_csv(path: Path, table: Table, notes: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        if notes:
            file.write(f"# {notes}\n")
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([repr(float(x)) for x in row] for row in zip(*table.values(), strict=True))


def _read_csv(path: Path) -> tuple[Table, str]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = file.read().splitlines()
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        raise DalembertError(f"{path}: the file is empty; expected a line of names, then rows of numbers")
    if ";" in kept[0] or "\t" in kept[0]:
        raise DalembertError(f"{path}: cells are parted by {';' if ';' in kept[0] else 'tabs'}, expected commas")
    head, *rows = csv.reader(kept)
    names = [name.strip() for name in head]
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise DalembertError(f"{path}: row {number + 1} has {len(row)} cells, the header {len(names)}")
    try:
        values = np.array(rows, float).reshape(len(rows), len(names))
    except ValueError:
        number, name, cell = next(
            (number, name, cell)
            for number, row in enumerate(rows, 1)
            for name, cell in zip(names, row, strict=True)
            if not _is_number(cell)
        )
        raise DalembertError(f"{path}: row {number} has {cell!r} for {name}, expected a number") from None
    return {name: values[:, k] for k, name in enumerate(names)}, "\n".join(notes)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _write_parquet(path: Path, table: Table, notes: str) -> None:
    arrow, parquet = _library("pyarrow", ".parquet"), _library("pyarrow.parquet", ".parquet")
    parquet.write_table(arrow.table(table).replace_schema_metadata({NOTES: notes}), path)


def _read_parquet(path: Path) -> tuple[Table, str]:
    table = _library("pyarrow.parquet", ".parquet").read_table(path)
    metadata = table.schema.metadata or {}
    return {name: table[name].to_numpy() for name in table.column_names}, metadata.get(NOTES.encode(), b"").decode()


def _write_h5(path: Path, table: Table, notes: str) -> None:
    content = io.BytesIO()  # a disk that fills up under the library would leave its handles open
    with _library("h5py", ".h5").File(content, "w", track_order=True) as file:
        file.attrs[NOTES] = notes
        for name, values in table.items():
            file.create_dataset(name.replace("/", SLASH), data=values)
    path.write_bytes(content.getvalue())


def _read_h5(path: Path) -> tuple[Table, str]:
    with _library("h5py", ".h5").File(path, "r", track_order=True) as file:
        found = {name.replace(SLASH, "/"): values[...] for name, values in file.items()}
        return found, str(file.attrs.get(NOTES, ""))


def _write_mcap(path: Path, table: Table, notes: str) -> None:
    properties = {name: {"type": "number"} for name in table}
    with path.open("wb") as file:
        writer = _library("mcap.writer", ".mcap").Writer(file)
        writer.start(library="dalembert")
        text = json.dumps({"type": "object", "properties": properties}).encode()
        schema = writer.register_schema(name="dalembert.State", encoding="jsonschema", data=text)
        channel = writer.register_channel(topic="/state", message_encoding="json", schema_id=schema)
        for row in zip(*table.values(), strict=True):
            message = json.dumps(dict(zip(table, map(float, row), strict=True))).encode()
            time = round(float(row[0]) * 1e9)
            writer.add_message(channel_id=channel, log_time=time, publish_time=time, data=message)
        writer.add_metadata(NOTES, {"notes": notes})
        writer.finish()


def _read_mcap(path: Path) -> tuple[Table, str]:
    rows: list[dict[str, float]] = []
    with path.open("rb") as file:
        reader = _library("mcap.reader", ".mcap").make_reader(file)
        for schema, channel, message in reader.iter_messages():
            if channel.message_encoding == "json":
                rows.append(json.loads(message.data))
            elif schema is not None and schema.name in JOINT_STATE:
                state = _types().deserialize_cdr(message.data, JOINT_STATE[0])
                rows.append(_joint_row(state, message.log_time))
        notes = [m.metadata.get("notes", "") for m in reader.iter_metadata() if m.name == NOTES]
    return _columns(path, iter(rows)), notes[0] if notes else ""


def _read_bag(path: Path) -> tuple[Table, str]:
    """The joint states of a ROS 1 bag or a ROS 2 bag folder."""
    reader = _library("rosbags.highlevel", "a bag").AnyReader
    with reader([path], default_typestore=_types()) as bag:
        chosen = [connection for connection in bag.connections if connection.msgtype in JOINT_STATE]
        messages = bag.messages(connections=chosen) if chosen else iter(())
        rows = (_joint_row(bag.deserialize(data, c.msgtype), stamp) for c, stamp, data in messages)
        return _columns(path, rows), ""


def _types() -> Any:
    typesys = _library("rosbags.typesys", "a log of ROS messages")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


def _joint_row(state: Any, stamp: int) -> dict[str, float]:
    """One sensor_msgs/JointState; the header's time where it has one."""
    header = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
    row = {"t": header or 1e-9 * stamp}
    for kind, values in (("q", state.position), ("v", state.velocity), ("tau", state.effort)):
        row |= {f"{kind}.{name}": float(value) for name, value in zip(state.name, values, strict=False)}
    return row


def _columns(path: Path, rows: Iterator[dict[str, float]]) -> Table:
    given = list(rows)
    if not given:
        raise DalembertError(f"{path}: no joint states in it; expected JSON rows or sensor_msgs/JointState messages")
    names = dict.fromkeys(name for row in given for name in row)
    return {name: np.array([row.get(name, np.nan) for row in given], float) for name in names}


FORMATS: dict[str, Format] = {
    ".csv": Format(_write_csv, _read_csv),
    ".npz": Format(_write_npz, _read_npz),
    ".parquet": Format(_write_parquet, _read_parquet),
    ".h5": Format(_write_h5, _read_h5),
    ".mcap": Format(_write_mcap, _read_mcap),
}
