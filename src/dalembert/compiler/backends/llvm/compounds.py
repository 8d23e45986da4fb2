"""How compounds lie in memory: calls, repetitions, products, loops over items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.visit import Visited
from dalembert.compiler.graph.weighted import Weighted

from .steps import Step

if TYPE_CHECKING:
    from .plan import Subroutine


@dataclass(frozen=True)
class View:
    """How the step of a visit sees the memory of its caller, in the caller's slots.

    lanes: items at once. moving: slots of inputs (name, number) and of outputs, counted from a pointer that moves from
    item to item. common: slots of inputs that are the same for all items, counted from the begin of the step's memory.
    """

    lanes: int
    moving: Mapping[tuple[str, int], int]
    records: Mapping[tuple[str, int], int]
    common: Mapping[tuple[str, int], int]


@dataclass(frozen=True)
class Calling:
    """A call of a subroutine: slots of its arguments, and the first one of its results, in the caller's memory."""

    subroutine: Subroutine
    arguments: list[int]
    base: int

    def slot(self, k: int) -> int:
        """The slot of a result."""
        return self.base + k


@dataclass(frozen=True)
class Repeating:
    """A repetition: its step, whose memory holds the state, and where that starts and passes are counted.

    before: lists of steps that come before the first pass, if there is one.
    """

    repeated: Repeated
    subroutine: Subroutine
    start: list[int]
    passes: int
    before: list[list[Step]]

    def slot(self, k: int) -> int:
        """The slot of a result: the state stays where it is."""
        return self.passes if k == self.repeated.width else self.subroutine.base + self.subroutine.inputs[k]


@dataclass(frozen=True)
class Weighing:
    """A product W x with a matrix of constants. arguments: slots of x; row: first of the slots where x lies in a row.

    Results begin at slot `base`, whole tiles of `tile` of them.
    """

    weighted: Weighted
    arguments: list[int]
    row: int
    base: int
    tile: int

    def slot(self, k: int) -> int:
        """The slot of a result."""
        return self.base + k


class TableStart(NamedTuple):
    """The first slot of a table, what is copied there before the first item, and whether it is cleared before that."""

    first: int
    moved: list[tuple[int, int]]
    cleared: bool


@dataclass(frozen=True)
class Visiting:
    """A visit. Slots where things begin: the table, if it is written with a further row for what is lost; a row of
    zeros, which is read where a number is that of no row; rows that an item reads; the row of each record that is read.
    carry, ends: slots of the numbers of the carry for every item, where they do not lie in a row of records, and behind
    the last item. at: slots of the numbers of rows that items read, or these numbers themselves where they are
    constants. gathered: (slots of all items, own slot) of the inputs that do not lie in a row. constants: (numbers of
    all items, own slot) of those that are not kept in memory. moved: (from, to) slots of what is copied before the
    first item; cleared: whether the table begins with zeros, before anything is moved. count: slot of the number from
    which on items are left out; filled: of the number of items whose records may differ from 0. groups: as `at`, the
    numbers of groups of items. Where lanes are items, the step reads rows from own places. wanted: slot of the first of
    numbers that are 0 for items which are left out.
    """

    visited: Visited
    subroutine: Subroutine
    table: int
    nothing: int
    rows: int
    carry: dict[int, int]
    ends: dict[int, int]
    records: dict[int, int]
    at: list[list[int] | list[float]]
    gathered: list[tuple[list[int], int]]
    constants: list[tuple[list[float], int]]
    moved: list[tuple[int, int]]
    cleared: bool
    count: int | None
    filled: int | None
    groups: list[int] | list[float] | None
    wanted: int | None

    @property
    def item_count(self) -> int:
        """All of them."""
        return self.visited.sizes.items

    def slot(self, k: int) -> int:
        """The slot of a result."""
        s = self.visited.sizes
        if k < s.table:
            return self.table + k
        if k < s.table + s.carry:
            return self.ends[k - s.table]
        row, item = divmod(k - s.table - s.carry, s.items)
        return self.records[row] + item


def runs(slots: Sequence[int]) -> list[int]:
    """The places where a run of neighbours begins."""
    return [k for k, slot in enumerate(slots) if k == 0 or slots[k - 1] + 1 != slot]
