"""The folder of a study: one Parquet file for each chunk of rows, complete or not there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import replacing

from .work import Chunk

NAME = re.compile(r"rows-(\d{12})-(\d{12})\.parquet")
MAGIC = b"PAR1"  # at both ends of a complete file
OWN = ("row", "failed", "seconds")
COMPRESSED = {"compression": "lz4"}  # zstd takes 1.4 times as long, for files a tenth smaller
OFTEN = 1.0  # [s] between two looks into the folder, at least
PATIENCE = 50.0  # times that a look took until the next one
SHAPE = b"shape"  # in the metadata of a column: of arrays with several axes

Range = tuple[int, int]


def arrow(purpose: str = "a study") -> Any:
    """pyarrow, or an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DalembertError(f"{purpose} needs pyarrow: pip install 'dalembert[study]'") from None
    return pyarrow


def folder_of(folder: Path) -> Path:
    """Where the parts are."""
    return folder / "parts"


def write_part(folder: Path, chunk: Chunk) -> None:
    """Write the rows of a chunk, whole or not at all."""
    with replacing(folder_of(folder) / f"rows-{chunk.begin:012d}-{chunk.end:012d}.parquet") as temporary:
        write_rows(temporary, chunk)


def write_rows(file: Any, chunk: Chunk) -> None:
    """Write the rows of a chunk to a path or a stream of pyarrow."""
    pa = arrow()
    columns: dict[str, Any] = {
        "row": pa.array(np.arange(chunk.begin, chunk.end)),
        "failed": _reasons(pa, chunk),
        "seconds": pa.array(chunk.seconds),
    }
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    for name, x in chunk.columns.items():
        column, field = _column(pa, name, x)
        columns[name] = column
        fields.append(field)
    table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
    dictionary = repeating(table.schema)
    pa.parquet.write_table(table, file, **COMPRESSED, use_dictionary=dictionary, write_statistics=["row"])


def _reasons(pa: Any, chunk: Chunk) -> Any:
    """Why rows failed; null for those that did not."""
    if not chunk.count_failed:
        return pa.nulls(len(chunk.failed), pa.string())
    return pa.array(chunk.failed, pa.string(), mask=np.array([not text for text in chunk.failed], bool))


def repeating(schema: Any) -> list[str]:
    """Columns whose values repeat; a dictionary of measured numbers takes four times as long to write."""
    return ["seconds", *(field.name for field in schema if str(field.type) == "string")]


def _column(pa: Any, name: str, x: np.ndarray) -> tuple[Any, Any]:
    if x.ndim == 1:
        column = pa.array(x)
        return column, pa.field(name, column.type)
    flat = pa.array(np.ascontiguousarray(x, float).ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, int(np.prod(x.shape[1:])))
    return column, pa.field(name, column.type, metadata={SHAPE: ",".join(map(str, x.shape[1:])).encode()})


def parts(folder: Path, checked: set[str] | None = None) -> list[tuple[int, int, Path]]:
    """(begin, end, file) of every part, in the order of rows. Files that were cut off do not count.

    checked: names of files that were found complete, which are not opened again; new ones are added.
    """
    found = []
    checked = set() if checked is None else checked
    for path in folder_of(folder).glob("rows-*.parquet"):
        match = NAME.fullmatch(path.name)
        if match and (path.name in checked or _is_complete(path)):
            checked.add(path.name)
            found.append((int(match[1]), int(match[2]), path))
    return sorted(found, key=lambda part: (part[0], -part[1], part[2].name))


def _is_complete(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            file.seek(-len(MAGIC), 2)
            return file.read() == MAGIC
    except OSError:  # gone, or shorter than that
        return False


def distinct(folder: Path, checked: set[str] | None = None) -> Iterator[tuple[int, int, Path, int]]:
    """(begin, end, file, first row in the file) of parts, without rows that an earlier one has.

    Two processes that worked on the same rows found the same numbers.
    """
    done = 0
    for begin, end, path in parts(folder, checked):
        if end > done:
            yield max(begin, done), end, path, begin
            done = end


def missing(folder: Path, total: int) -> list[Range]:
    """Ranges of rows that no part has."""
    return _between([(begin, end) for begin, end, _, _ in distinct(folder)], 0, total)


def _between(known: list[Range], first: int, last: int) -> list[Range]:
    """Ranges within first … last − 1 that lie in none of the known ones, which are in order."""
    gaps, done = [], first
    for begin, end in known:
        if begin > done:
            gaps.append((done, min(begin, last)))
        done = max(done, end)
    gaps.append((done, last))
    return [(begin, end) for begin, end in gaps if begin < end]


class Meanwhile:
    """Rows that other processes have written to the folder while this one works."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.known, self.checked = folder, list[Range](), set[str]()
        self.next = 0.0  # [s], when it is time to look again

    def left(self, begin: int, end: int) -> list[Range]:
        """Ranges within begin … end − 1 that nobody has written, as of the last look into the folder."""
        begun = time.monotonic()
        if begun >= self.next:
            self.known = [(b, e) for b, e, _, _ in distinct(self.folder, self.checked)]
            self.next = time.monotonic() + max(OFTEN, PATIENCE * (time.monotonic() - begun))
        return _between(self.known, begin, end)


def read(folder: Path, names: list[str] | None = None, total: int | None = None) -> dict[str, np.ndarray]:
    """Columns (n,) or (n, …) of all rows there are, in order; `failed` is "" of rows that did not fail."""
    pa = arrow()
    pieces: dict[str, list[np.ndarray]] = {}
    counts: list[int] = []
    for begin, end, path, first in distinct(folder):
        last = end if total is None else min(end, total)
        if begin >= last:
            continue
        file = pa.parquet.ParquetFile(path)
        known = [name for name in file.schema_arrow.names if names is None or name in names]
        table = file.read(columns=known).slice(begin - first, last - begin)
        for name in known:
            field = table.schema.field(name)
            column = pieces.setdefault(name, [])
            _fill(column, counts)
            column.append(_array(table[name], field))
        counts.append(last - begin)
    for column in pieces.values():
        _fill(column, counts)
    return {name: _joined(name, column, folder) for name, column in pieces.items()}


def _fill(column: list[Any], counts: list[int]) -> None:
    """NaN for the rows of parts without this column: all of them failed."""
    column += [None if count else np.empty(0) for count in counts[len(column) :]]
    for k, x in enumerate(column):
        if x is None:
            column[k] = counts[k]


def _joined(name: str, column: list[Any], folder: Path) -> np.ndarray:
    known = [x for x in column if isinstance(x, np.ndarray)]
    shape, dtype = known[0].shape[1:], known[0].dtype
    if any(x.shape[1:] != shape for x in known):
        raise DalembertError(f"{folder}: column {name!r} has other shapes in some parts: they are of different studies")
    full = [np.full((x, *shape), np.nan if dtype.kind == "f" else 0) if isinstance(x, int) else x for x in column]
    return np.concatenate(full)


def _array(column: Any, field: Any) -> np.ndarray:
    if field.name == "failed":
        return np.array([text or "" for text in column.to_pylist()], object)
    shape = (field.metadata or {}).get(SHAPE)
    if shape is None:
        return column.to_numpy()
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), *map(int, shape.split(b",")))
