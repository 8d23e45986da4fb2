"""The content of a file of time series."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

NOTES = "dalembert"  # name of the text that goes with a table
FREE = 256 * 2**20  # bytes that any file may expand to
RATIO = 100  # beyond that, how many times its own size a file may expand to


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, as the file has them.

    columns: (n,) or (n, k): numbers, times (datetime64, timedelta64), text, or `Decimal` where float64 would round.
    notes: the text written with the table. units: of columns, where the file has a row of units. log: what was chosen
    or left out in reading.
    """

    columns: dict[str, np.ndarray]
    notes: str = ""
    units: dict[str, str] = field(default_factory=dict)
    log: tuple[str, ...] = ()


def library(name: str, purpose: str) -> Any:
    """An optional library, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise DalembertError(f"{purpose} needs {name.partition('.')[0]}: pip install 'dalembert[logs]'") from None


def check_expansion(path: Path, size: int) -> None:
    """Raise if reading a compressed file would take far more memory than its size lets expect."""
    allowed = max(FREE, RATIO * path.stat().st_size)
    if size > allowed:
        raise DalembertError(
            f"{path}: {path.stat().st_size / 1e6:.3g} MB on disk expand to {size / 1e9:.3g} GB, "
            f"at most {allowed / 1e9:.3g} GB are read: split the file, or store it uncompressed"
        )


def check_unique(path: Path, names: Iterable[str]) -> None:
    """Raise if two columns have the same name: either could be meant."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DalembertError(f"{path}: two columns are called {name!r}: rename one of them")
        seen.add(name)


def readable(values: np.ndarray) -> np.ndarray | None:
    """Values as a column: numbers, times or text; rows of equal length become (n, k). None: neither."""
    if values.dtype == object and values.ndim == 1 and len(values):
        kinds = {type(value) for value in values if value is not None}
        if kinds and all(issubclass(kind, str) for kind in kinds):
            return values.astype(str)
        if kinds and all(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
            lengths = {np.shape(value) for value in values}
            return readable(np.stack(list(values))) if len(lengths) == 1 else None
    numeric = values.dtype.kind in "biufmMUS"
    return values if numeric and values.ndim in (1, 2) else None
