"""Parts of a plan beside lists of steps: products of matrices, calls, repetitions and scans, with their slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.graph import Scalar
from dalembert.graph.product import Block
from dalembert.graph.repeat import Repeated
from dalembert.graph.scan import Scanned

from .steps import Looped, Step

if TYPE_CHECKING:
    from .plan import Subroutine

TILE = 4  # rows of a tile of a matrix product


class Product:
    """A product of matrices in memory: A by columns, B and C by rows, padded to whole tiles.

    A tile is TILE rows by `columns` columns of C, for the terms listed in `terms` for its columns.
    """

    def __init__(self, block: Block, group: int) -> None:
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

    before: parts that come before the first pass, if there is one.
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
class Items:
    """A scan over items. rows: slot where the rows of its results begin; stride: slots from row to row.

    A row of the carry has one place more: that of the start, before the first item or, in reverse, behind the last.
    gathered: (slots of all items, own slot) of the inputs that do not lie in a row. moved: (from, to) slots of what is
    copied before the first item: the start of the carry, and rows of a few pieces. count: slot of the number of the
    first item that may be left out, or None.
    """

    scanned: Scanned
    subroutine: Subroutine
    rows: int
    stride: int
    gathered: list[tuple[list[int], int]]
    moved: list[tuple[int, int]]
    count: int | None

    def slot(self, k: int) -> int:
        """The slot of a result."""
        row, item = divmod(k, self.scanned.sizes.items)
        behind = row < self.scanned.sizes.carry and not self.scanned.reversed
        return self.rows + row * self.stride + item + behind


Part = list[Step] | Looped | Product | Calling | Repeating | Items


def step_lists(part: Part) -> list[list[Step]]:
    """The lists of steps of a part, in their order."""
    return [part] if isinstance(part, list) else part.before if isinstance(part, Repeating) else []
