"""The rows of a study as named columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing
from dalembert.study.distributions.space import MODEL, START, Draw

from . import parts
from .rows import Named


class Table(Named[np.ndarray]):
    """Columns of all rows there are, in order: `table["peak_torque"]` is an array (n,) or (n, k).

    Beside axes and outputs: row, its number; failed, why there is no result, or ""; seconds that it took. Errors of
    models and starts, `table["model"]`, are computed again from the seed; `labels` says what their columns are.
    """

    def __init__(self, folder: Path, draw: Draw, conditioned: bool, temporary: Any = None) -> None:
        self.folder, self.draw, self.conditioned = folder, draw, conditioned
        self._temporary = temporary  # the folder lives as long as its table
        self._columns: dict[str, np.ndarray] = {}
        pieces = list(parts.distinct(folder))
        self._names = _names(pieces[0][2]) if pieces else list(parts.OWN)
        for _, _, path, _ in pieces if len(self._names) == len(parts.OWN) + len(self._shown) else []:
            if len(_names(path)) > len(self._names):  # the rows of the first parts failed
                self._names = _names(path)
                break

    @property
    def _shown(self) -> list[str]:
        return [name for name in self.draw.space.axes if name not in (MODEL, START)]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what the function gave."""
        own = (*parts.OWN, "drawn", *self.draw.space.axes)
        return tuple(name for name in self._names if name not in own)

    @property
    def again(self) -> list[str]:
        """Names of the axes whose values the seed gives again."""
        return [name for name in (MODEL, START) if name in self.draw.space.axes]

    @property
    def labels(self) -> dict[str, list[str]]:
        """Names of the columns of `model` and `start`."""
        found = {}
        for name in self.again:
            axis = self.draw.space.random[name]
            width: list[str] = [""] * axis.width
            for label, columns in axis.factors(name):
                places = range(*columns.indices(axis.width))
                for k in places:
                    width[k] = label if len(places) == 1 else f"{label}[{k - places.start}]"
            found[name] = width
        return found

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            if name in self.again:
                self._columns[name] = self._drawn(name)
            elif name in self._names:
                self._columns |= parts.read(self.folder, [name], len(self.draw))
            else:
                raise unknown("column", name, self, f"study {self.folder}")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        yield from (*self._names, *self.again)

    def __len__(self) -> int:
        return len(self._names) + len(self.again)

    def __repr__(self) -> str:
        return f"Table({self.rows} rows: {', '.join(self)})"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self["row"])

    def sound(self) -> np.ndarray:
        """Which rows (n,) did not fail."""
        return self["failed"] == ""

    def record(self, place: int) -> dict[str, Any]:
        """One row by its place in the table: names and numbers."""
        found: dict[str, Any] = {}
        for name in self._names:
            x = self[name][place]
            found[name] = x.item() if isinstance(x, np.generic) else x
        return found

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows to one Parquet file, as polars, pandas and DuckDB read it."""
        pa = parts.arrow("to_parquet")
        pieces = list(parts.distinct(self.folder))
        if not pieces:
            raise DalembertError(f"{self.folder}: has no rows yet: run the study first")
        widest = max((pa.parquet.read_schema(piece[2]) for piece in pieces), key=lambda schema: len(schema.names))
        repeating = parts.repeating(widest)
        with (
            replacing(path) as temporary,
            pa.parquet.ParquetWriter(temporary, widest, **parts.COMPRESSED, use_dictionary=repeating) as writer,
        ):
            for begin, end, file, first in pieces:
                last = min(end, len(self.draw))
                if begin < last:
                    table = pa.parquet.ParquetFile(file).read().slice(begin - first, last - begin)
                    writer.write_table(_widened(pa, table, widest))

    def to_xarray(self) -> Any:
        """An xarray Dataset over `row`; arrays have axes of their own."""
        try:
            import xarray
        except ImportError:
            raise DalembertError("to_xarray needs xarray: pip install xarray") from None
        variables = {}
        for name in self:
            if name == "row":
                continue
            x = self[name]
            axes = ["row", *(f"{name}_{k}" for k in range(1, x.ndim))]
            variables[name] = (axes, x.astype(str) if x.dtype == object else x)
        coordinates = {"row": self["row"]} | {f"{n}_1": (f"{n}_1", labels) for n, labels in self.labels.items()}
        return xarray.Dataset(variables, coordinates)

    def _drawn(self, name: str) -> np.ndarray:
        if self.conditioned and self.draw.space.condition is None:
            raise DalembertError(
                f"{self.folder}: {name} cannot be computed again without the condition of the space: use the result of "
                "job.run(…) in the program that has it"
            )
        rows = self["row"]
        pieces, chunk = [], 1 << 14
        for begin in range(0, len(self.draw), chunk):
            inside = rows[(rows >= begin) & (rows < begin + chunk)]
            if len(inside):
                drawn = self.draw.rows(begin, min(begin + chunk, len(self.draw)))[name]
                pieces.append(drawn[inside - begin])
        return np.concatenate(pieces) if pieces else np.empty((0, self.draw.widths[name]))


def _names(path: Path) -> list[str]:
    return list(parts.arrow().parquet.read_schema(path).names)


def _widened(pa: Any, table: Any, schema: Any) -> Any:
    """A part with all columns: nulls where all of its rows failed."""
    columns = [
        table[n] if n in table.column_names else pa.nulls(len(table), schema.field(n).type) for n in schema.names
    ]
    return pa.Table.from_arrays(columns, schema=schema)
