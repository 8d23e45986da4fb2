"""The parts of a visit: its arguments, what a step gives, and how many there are of each; see `visit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .scalar import Scalar


class Written(NamedTuple):
    """Results of a step: numbers of rows, their contents one after the other, the carry, the record."""

    to: Sequence[Any]
    rows: Sequence[Any]
    carry: Sequence[Any]
    record: Sequence[Any]


Step = Callable[[list["Scalar"], list["Scalar"], list["Scalar"]], Written]  # rows, carry, item


@dataclass(frozen=True)
class VisitSizes:
    """Rows and columns of the table; rows that an item reads and writes; numbers in carry, item and record; items."""

    rows: int
    columns: int
    read: int
    written: int
    carry: int
    item: int
    record: int
    items: int

    @property
    def table(self) -> int:
        """Numbers in the table."""
        return self.rows * self.columns


class VisitParts(NamedTuple):
    """Arguments of a visit: the table row by row, the carry, a row of all items for each number, common values."""

    table: Sequence[Any]
    carry: Sequence[Any]
    at: list[Sequence[Any]]
    item: list[Sequence[Any]]
    common: Sequence[Any]
