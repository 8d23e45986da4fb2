"""Arrays in files: NPZ, Parquet and HDF5."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .table import NOTES, Table, check_expansion, check_unique, library, readable

SLASH = "\u2215"  # stands for "/" in names of HDF5, where that would make folders


def write_npz(path: Path, columns: dict[str, np.ndarray], notes: str) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{NOTES: np.array(notes)}, **columns)


def read_npz(path: Path) -> Table:
    with zipfile.ZipFile(path) as archive:
        check_unique(path, (entry.filename for entry in archive.infolist()))
        check_expansion(path, sum(entry.file_size for entry in archive.infolist()))
    columns: dict[str, np.ndarray | None] = {}
    with np.load(path, allow_pickle=False) as file:
        notes = str(file[NOTES]) if NOTES in file else ""
        for name in file.files:
            if name == NOTES:
                continue
            try:
                columns[name] = readable(file[name])
            except ValueError:  # Python objects, which would have to be unpickled
                columns[name] = None
    return _table(columns, notes)


def write_parquet(path: Path, columns: dict[str, np.ndarray], notes: str) -> None:
    arrow, parquet = library("pyarrow", ".parquet"), library("pyarrow.parquet", ".parquet")
    parquet.write_table(arrow.table(columns).replace_schema_metadata({NOTES: notes}), path)


def read_parquet(path: Path) -> Table:
    file = library("pyarrow.parquet", ".parquet").ParquetFile(path)
    with file:
        shape = file.metadata
        stored = sum(shape.row_group(k).total_byte_size for k in range(shape.num_row_groups))
        check_expansion(path, max(stored, 8 * shape.num_rows * shape.num_columns))
        table = file.read()
    check_unique(path, table.column_names)
    metadata = table.schema.metadata or {}
    columns = {name: readable(table[name].to_numpy()) for name in table.column_names}
    return _table(columns, metadata.get(NOTES.encode(), b"").decode())


def write_h5(path: Path, columns: dict[str, np.ndarray], notes: str) -> None:
    content = io.BytesIO()  # a disk that fills up under the library would leave its handles open
    with library("h5py", ".h5").File(content, "w", track_order=True) as file:
        file.attrs[NOTES] = notes
        for name, values in columns.items():
            file.create_dataset(name.replace("/", SLASH), data=values)
    path.write_bytes(content.getvalue())


def read_h5(path: Path) -> Table:
    """The datasets of an HDF5 file, those in groups as group/name; nothing outside the file is read."""
    h5py = library("h5py", ".h5")
    with h5py.File(path, "r", track_order=True) as file:
        datasets = dict(_datasets(h5py, file, path))
        check_expansion(path, sum(int(data.nbytes) for data in datasets.values()))
        columns = {name: _h5_values(data) for name, data in datasets.items()}
        notes = file.attrs.get(NOTES, "")
        return _table(columns, notes.decode() if isinstance(notes, bytes) else str(notes))


def _datasets(h5py: Any, group: Any, path: Path, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key in group:
        name = prefix + key.replace(SLASH, "/")
        link = group.get(key, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise DalembertError(f"{path}: {name!r} is a link to elsewhere, which is not followed: copy the data")
        item = group[key]
        if isinstance(item, h5py.Group):
            yield from _datasets(h5py, item, path, f"{name}/")
        elif isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise DalembertError(f"{path}: {name!r} is stored in other files, which are not read: copy the data")
            yield name, item


def _h5_values(data: Any) -> np.ndarray | None:
    if data.dtype.kind == "O" and data.dtype.metadata and data.dtype.metadata.get("vlen") in (str, bytes):
        return readable(data.asstr()[...])
    return readable(np.asarray(data[...])) if data.dtype.kind != "O" and data.shape is not None else None


def _table(columns: dict[str, np.ndarray | None], notes: str) -> Table:
    kept = {name: values for name, values in columns.items() if values is not None}
    dropped = [name for name in columns if name not in kept]
    log = (f"left out, as neither rows of numbers nor text: {', '.join(dropped)}",) if dropped else ()
    return Table(kept, notes, log=log)
