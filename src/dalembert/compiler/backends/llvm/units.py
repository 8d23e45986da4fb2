"""Parts of a plan: lists of steps, loops, products of matrices, compounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.product import Block

from .compounds import Calling, Repeating, Visiting, Weighing
from .steps import Looped, Step

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


Part = list[Step] | Looped | Product | Calling | Repeating | Visiting | Weighing


def step_lists(part: Part) -> list[list[Step]]:
    """The lists of steps of a part, in their order."""
    return [part] if isinstance(part, list) else part.before if isinstance(part, Repeating) else []
