"""Systems of blocks (6, 6), most of them 0, which of them differs from state to state: one loop over what there is.

A x = b by elimination of blocks without pivots, for A near a positive definite matrix. Every operation of the
elimination of a full matrix is one item of a list,

    target ← keep · target + left · (sign · right),   or   target ← left⁻¹,

and those items are taken whose blocks are not 0 in a state: of a chain of bodies few, whatever the size.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import logical_and, lookup, repeat, visit, where

from .general import solve

SIZE = 6


class Elimination(NamedTuple):
    """Items in their order: numbers of blocks target, left, right; keep and sign; whether a pivot is inverted.

    The blocks of row i are i (n + 1) …: those of A, and that of b, whose first column it is.
    """

    items: np.ndarray

    @property
    def blocks(self) -> int:
        """Of A and b."""
        return int(self.items[:, 0].max()) + 1


@cache
def elimination(n: int) -> Elimination:
    """All items for n rows of blocks: factors and b, then x in the place of b."""

    def place(i: int, j: int) -> int:
        return i * (n + 1) + j

    rows: list[tuple[int, int, int, float, float, float]] = []
    for k in range(n):
        rows.append((place(k, k), place(k, k), place(k, k), 0.0, 1.0, 1.0))
        for i in range(k + 1, n):
            rows.append((place(i, k), place(i, k), place(k, k), 0.0, 1.0, 0.0))
            rows += [(place(i, j), place(i, k), place(k, j), 1.0, -1.0, 0.0) for j in range(k + 1, n + 1)]
    for k in reversed(range(n)):
        rows += [(place(k, n), place(k, j), place(j, n), 1.0, -1.0, 0.0) for j in range(k + 1, n)]
        rows.append((place(k, n), place(k, k), place(k, n), 0.0, 1.0, 0.0))
    return Elimination(np.array(rows))


class BlockPattern(NamedTuple):
    """The items of an elimination that a state needs: their numbers (m,), and how many."""

    order: Elimination
    numbers: np.ndarray
    count: Any


def block_pattern(n: int, pairs: np.ndarray, count: Any) -> BlockPattern:
    """Of a system of n rows whose blocks (i, j) and (j, i) are not 0 for the first `count` of pairs (k, 2)."""
    order = elimination(n)
    every, blocks = order.items, order.blocks
    flags = np.zeros((blocks, 1))
    for i in range(n):
        flags[[i * (n + 1) + i, i * (n + 1) + n]] = 1.0

    def present(_: Any, pair: Any) -> dict[str, Any]:
        inside = logical_and(pair[0] < n, pair[1] < n)
        places = [pair[i] * (n + 1.0) + pair[1 - i] for i in (0, 1)]
        return {"rows": np.ones((2, 1)), "to": np.array([where(inside, place, -1.0) for place in places])}

    begin = visit(present, {"pair": pairs}, flags, count=count)["table"]

    def needed(rows: Any, number: Any, k: Any, target: Any) -> dict[str, Any]:
        taken = rows[0, 0] * rows[1, 0] > 0.5
        places = [where(taken, target, -1.0), where(taken, blocks + number, -1.0)]
        return {"rows": np.array([[1.0], [k]]), "to": np.array(places), "number": number + where(taken, 1.0, 0.0)}

    items = {"k": np.arange(float(len(every))), "target": every[:, 0]}
    table = np.concatenate([begin, np.zeros((len(every), 1))])
    listed = visit(needed, items, table, every[:, 1:3], {"number": 0.0})
    return BlockPattern(order, listed["table"][blocks:, 0], listed["number"])


def solve_blocks(pattern: BlockPattern, table: np.ndarray) -> np.ndarray:
    """x (n, 6) of blocks (n (n + 1), 36), those of b with b in their first column."""
    every = pattern.order.items
    n = round(len(table) ** 0.5 - 0.5)

    def columns(number: Any) -> np.ndarray:
        return np.array([lookup(column, number) for column in every.T], object)

    found = visit(
        lambda _, number: {"item": columns(number)}, {"number": pattern.numbers}, np.zeros((1, 1)), count=pattern.count
    )["item"]

    def one(rows: Any, item: Any) -> dict[str, Any]:
        target, left, right = (row.reshape(SIZE, SIZE) for row in rows)
        new = item[3] * target + left @ (item[4] * right)

        def inverted(_: Any, left: Any, done: Any) -> dict[str, Any]:
            return {"new": solve(left, np.eye(SIZE)), "left": left, "done": 1.0}

        pivot = {"new": new, "left": left, "done": where(item[5] > 0.5, 0.0, 1.0)}
        return {"rows": repeat(inverted, 1, pivot, "done")["new"].reshape(1, -1), "to": item[:1]}

    table = visit(one, {"item": found}, table, found[:, :3], count=pattern.count)["table"]
    return table[n :: n + 1][:, ::SIZE]
