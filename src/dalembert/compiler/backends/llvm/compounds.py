"""How compounds lie in memory: calls, repetitions, products, loops over items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.scan import Scanned
from dalembert.compiler.graph.visit import Visited
from dalembert.compiler.graph.weighted import Weighted

from .steps import Step

if TYPE_CHECKING:
    from .plan import Subroutine


@dataclass(frozen=True)
class View:
    """How the step of a scan sees the memory of its caller, in the caller's slots.

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


@dataclass(frozen=True)
class Counted:
    """How items are left out. count: slot of the number from which on they are.

    reached, filled: slots of the number of items that were computed, and of those whose records may differ from 0, if
    the loop ends with the last item that some lane has; None: it goes on, since what is carried is read of every item,
    or lanes are items.
    """

    count: int
    reached: int | None = None
    filled: int | None = None


@dataclass(frozen=True)
class Items:
    """A scan over items. rows: slot where the rows of its results begin; stride: slots from row to row.

    A row of the carry has one place more: that of the start, before the first item or, in reverse, behind the last.
    gathered: (slots of all items, own slot) of the inputs that do not lie in a row. constants: (numbers of all items,
    own slot) of those that are not kept in memory. moved: (from, to) slots of what is copied before the first item: the
    start of the carry, and rows of a few pieces. counted: where items are left out.
    """

    scanned: Scanned
    subroutine: Subroutine
    rows: int
    stride: int
    gathered: list[tuple[list[int], int]]
    constants: list[tuple[list[float], int]]
    moved: list[tuple[int, int]]
    counted: Counted | None

    @property
    def item_count(self) -> int:
        """All of them."""
        return self.scanned.sizes.items

    def slot(self, k: int) -> int:
        """The slot of a result."""
        row, item = divmod(k, self.scanned.sizes.items)
        behind = row < self.scanned.sizes.carry and not self.scanned.reversed
        return self.rows + row * self.stride + item + behind


class TableStart(NamedTuple):
    """The first slot of a table, what is copied there before the first item, and whether it is cleared before that."""

    first: int
    moved: list[tuple[int, int]]
    cleared: bool


@dataclass(frozen=True)
class Visiting:
    """A visit. Slots where things begin: the table, if it is written with a further row for what is lost; a row of
    zeros, which is read where a number is that of no row; rows that an item reads; the carry; the rows of the records,
    `stride` from row to row. at: slots of the numbers of rows that items read, or these numbers themselves where they
    are constants. gathered, moved: as of `Items`; cleared: whether the table begins with zeros, before anything is
    moved. counted: where items are left out. constants: (numbers of all items, own slot) of the inputs that are
    constants. groups: as `at`, the numbers of groups of items. Where lanes are items, the step reads rows from own
    places. wanted: slot of the first of numbers that are 0 for items which are left out.
    """

    visited: Visited
    subroutine: Subroutine
    table: int
    nothing: int
    rows: int
    carry: int
    records: int
    stride: int
    at: list[list[int] | list[float]]
    gathered: list[tuple[list[int], int]]
    constants: list[tuple[list[float], int]]
    moved: list[tuple[int, int]]
    cleared: bool
    counted: Counted | None
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
            return self.carry + k - s.table
        row, item = divmod(k - s.table - s.carry, s.items)
        return self.records + row * self.stride + item


def runs(slots: Sequence[int]) -> list[int]:
    """The places where a run of neighbours begins."""
    return [k for k, slot in enumerate(slots) if k == 0 or slots[k - 1] + 1 != slot]
