"""Parts of a plan and how they lie in memory: lists of steps, loops, products, calls, repetitions, visits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.product import ProductBlock, Weighted
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.visit import Visited

from .steps import Looped, Step

if TYPE_CHECKING:
    from .plan import Subroutine


@dataclass(frozen=True)
class StepView:
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


TILE = 4  # rows of a tile of a matrix product


class Product:
    """A product of matrices in memory: A by columns, B and C by rows, padded to whole tiles.

    A tile is TILE rows by `columns` columns of C, for the terms listed in `terms` for its columns.
    """

    def __init__(self, block: ProductBlock, group: int) -> None:
        self.block, self.base = block, 0
        n, k = block.A.shape
        m = block.B.shape[1]
        self.columns = TILE if group == 1 else 2 * group
        self.rows, self.width = -(-n // TILE) * TILE, -(-m // self.columns) * self.columns
        self.B = -(-k * self.rows // group) * group  # where it begins, from the base; whole vectors are read from there
        self.C = self.B + k * self.width
        self.size = self.C + self.rows * self.width
        self.terms = [
            sorted({t for rows in block.rows[j : j + self.columns] for t in rows}) or [0]
            for j in range(0, m, self.columns)
        ]

    def slot(self, i: int, j: int) -> int:
        """The slot of an entry of C."""
        return self.base + self.C + i * self.width + j

    def moves(self) -> Iterator[tuple[Scalar, int]]:
        """(node, slot) of every entry of A and B that a term uses."""
        used = {t for terms in self.terms for t in terms}
        for (i, t), node in np.ndenumerate(self.block.A):
            if t in used:
                yield node, self.base + t * self.rows + i
        for (t, j), node in np.ndenumerate(self.block.B):
            if t in self.terms[j // self.columns]:
                yield node, self.base + self.B + t * self.width + j


Part = list[Step] | Looped | Product | Calling | Repeating | Visiting | Weighing


def step_lists(part: Part) -> list[list[Step]]:
    """The lists of steps of a part, in their order."""
    return [part] if isinstance(part, list) else part.before if isinstance(part, Repeating) else []


# ---- how visits begin


def constant(row: Sequence[Scalar]) -> bool:
    """Whether all of these nodes are constants."""
    return all(x.op == "const" for x in row)


def sole_readers(order: Iterable[Scalar], kept: Iterable[Scalar]) -> dict[int, int | None]:
    """Map ids of results of visits to the id of the node that reads them; None where several do or it is kept."""
    readers: dict[int, int | None] = {node.id: None for node in kept}
    for node in order:
        for x in node.args:
            if x.op == "result" and readers.setdefault(x.id, node.id) != node.id:
                readers[x.id] = None
    return readers


def table_source(node: Scalar, readers: Mapping[int, int | None]) -> Scalar | None:
    """The visit whose table, as it is at its end, is that with which the visit `node` begins, and nothing else's."""
    s, parts = node.value.sizes, node.value.split(node.args)
    source = parts.table[0].args[0] if parts.table[0].op == "result" else None
    if source is None or not isinstance(source.value, Visited):
        return None
    if (source.value.sizes.rows, source.value.sizes.columns) != (s.rows, s.columns):
        return None
    handed_over = all(
        x.op == "result" and x.args[0] is source and x.value == k and readers[x.id] == node.id
        for k, x in enumerate(parts.table)
    )
    of_table = {x.id for x in parts.table}
    read_twice = any(x.id in of_table for x in node.args[s.table :])
    return source if handed_over and not read_twice else None


def where_not_zero(table: Sequence[Scalar]) -> tuple[bool, list[int]]:
    """Whether a table is cleared at first, since most of it is the constant 0, and the places that are copied then."""
    zeros = [x.op == "const" and x.value == 0.0 for x in table]
    cleared = 2 * sum(zeros) > len(zeros)
    return cleared, [k for k, zero in enumerate(zeros) if not (zero and cleared)]


def own_places(subroutine: Subroutine) -> dict[int, int]:
    """Own slots of the numbers of an item that do not lie in a row, by their numbers."""
    plan = subroutine.plan
    inputs = [x for x in plan.function.schedule() if x.op == "input" and x.id not in plan.moving and x.id in plan.slots]
    return {x.value[1]: plan.slots[x.id] for x in inputs if x.value[0] == "item"}
