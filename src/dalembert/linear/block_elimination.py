"""Sparse systems of blocks (6, 6) whose pattern differs from state to state: loops over the blocks that are not 0.

A x = b by elimination of blocks without pivots, for A near a positive definite matrix. Row and column i of the factors
follow from the rows and columns before them, so that m of n rows take the first operations of a list. Each is

    target ← target − left · right,   target ← left · right,   or   target ← target⁻¹,

and those are taken whose blocks are not 0 in a state: of a chain of bodies few, whatever the size.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import lookup, map, repeat, take, visit, where

from .general import solve

NOTHING = np.zeros((1, 1))  # the table of a visit that needs none
SIZE = 6
SUBTRACTED, MULTIPLIED, INVERTED = 0.0, 1.0, 2.0  # kinds of operations


class Elimination(NamedTuple):
    """Operations (k, 4) in their order: numbers of the blocks target, left, right, and their kind.

    Block (i, j) is number i n + j. pairs (n (n + 1) / 2, 2): (i, j) with i ≤ j, by j. ends, pair_ends (n + 1,): how
    many operations and pairs the first m rows take.
    """

    operations: np.ndarray
    pairs: np.ndarray
    ends: np.ndarray
    pair_ends: np.ndarray


@cache
def elimination(n: int) -> Elimination:
    """All operations for n rows of blocks."""

    def place(i: int, j: int) -> int:
        return i * n + j

    rows: list[tuple[int, int, int, float]] = []
    pairs: list[tuple[int, int]] = []
    ends, pair_ends = [0], [0]
    for i in range(n):
        for k in range(i):
            rows += [(place(i, k), place(i, t), place(t, k), SUBTRACTED) for t in range(k)]
            rows += [(place(k, i), place(k, t), place(t, i), SUBTRACTED) for t in range(k)]
            rows.append((place(i, k), place(i, k), place(k, k), MULTIPLIED))
        rows += [(place(i, i), place(i, t), place(t, i), SUBTRACTED) for t in range(i)]
        rows.append((place(i, i), place(i, i), place(i, i), INVERTED))
        pairs += [(k, i) for k in range(i + 1)]
        ends.append(len(rows))
        pair_ends.append(len(pairs))
    return Elimination(np.array(rows), np.array(pairs), np.array(ends, float), np.array(pair_ends, float))


class BlockPattern(NamedTuple):
    """Operations (k, 4) for a system of n rows in a state, the first `count` of them; pairs (j, 2) likewise."""

    n: int
    operations: np.ndarray
    count: Any
    pairs: np.ndarray
    pair_count: Any


def block_pattern(n: int, flags: np.ndarray, rows: Any = None) -> BlockPattern:
    """The pattern of a system of n rows whose block (i, j) is not 0 where flags (n², 1) are 1 at i n + j.

    rows: how many of the n rows there are, the first ones; None: all.
    """
    order, blocks = elimination(n), n * n
    every = order.operations

    def needed(read: Any, number: Any, k: Any, target: Any) -> dict[str, Any]:
        taken = read[0, 0] * read[1, 0] > 0.5
        places = [where(taken, target, -1.0), where(taken, blocks + number, -1.0)]
        return {"rows": np.array([[1.0], [k]]), "to": np.array(places), "number": number + where(taken, 1.0, 0.0)}

    items = {"k": np.arange(float(len(every))), "target": every[:, 0]}
    table = np.concatenate([flags, np.zeros((len(every), 1))])
    limits = [None if rows is None else lookup(ends, rows) for ends in (order.ends, order.pair_ends)]
    listed = visit(needed, items, table, every[:, 1:3], {"number": 0.0}, limits[0])
    filled, numbers, operation_count = listed["table"][:blocks], listed["table"][blocks:, 0], listed["number"]

    places = order.pairs @ [n, 1]
    flagged = take(filled, places.astype(float))[:, 0]

    pair_numbers = {"k": np.arange(float(len(places))), "flag": flagged}
    chosen = visit(_next, pair_numbers, np.zeros((len(places), 1)), carry={"number": 0.0}, count=limits[1])
    return BlockPattern(
        n,
        _rows_of(every, numbers, operation_count),
        operation_count,
        _rows_of(order.pairs, chosen["table"][:, 0], chosen["number"]),
        chosen["number"],
    )


def _next(_: Any, number: Any, k: Any, flag: Any) -> dict[str, Any]:
    """The next entry of a list, where it is flagged."""
    place = np.array([where(flag > 0.5, number, -1.0)])
    return {"rows": np.array([[k]]), "to": place, "number": number + where(flag > 0.5, 1.0, 0.0)}


def _rows_of(table: np.ndarray, numbers: np.ndarray, count: Any) -> np.ndarray:
    """Rows of constants by their numbers."""

    def one(_: Any, number: Any) -> dict[str, Any]:
        return {"row": np.array([lookup(column.astype(float), number) for column in table.T], object)}

    return visit(one, {"number": numbers}, NOTHING, count=count)["row"]


def solve_blocks(pattern: BlockPattern, table: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n, 6) of blocks (n², 36) and b (n, 6)."""
    n, operations, pairs, pair_count = pattern.n, pattern.operations, pattern.pairs, pattern.pair_count

    def one(read: Any, operation: Any) -> dict[str, Any]:
        target, left, right = (row.reshape(SIZE, SIZE) for row in read)
        kind, product = operation[3], left @ right
        new = where(kind == SUBTRACTED, target - product, product)

        def inverted(_: Any, target: Any, done: Any) -> dict[str, Any]:
            return {"new": solve(target, np.eye(SIZE)), "target": target, "done": 1.0}

        pivot = {"new": new, "target": target, "done": where(kind == INVERTED, 0.0, 1.0)}
        return {"rows": repeat(inverted, 1, pivot, "done")["new"].reshape(1, -1), "to": operation[:1]}

    factors = visit(one, {"operation": operations}, table, operations[:, :3], count=pattern.count)["table"]

    def places(pair: Any) -> dict[str, Any]:
        i, j = pair
        return {"lower": np.array([j * float(n) + i]), "upper": np.array([i * float(n) + j])}

    at = map(places, {"pair": pairs}, pair_count)

    def taken(where_from: np.ndarray) -> np.ndarray:
        return visit(lambda read: {"block": read[0]}, {}, factors, where_from, count=pair_count)["block"]

    def forward(read: Any, pair: Any, block: Any) -> dict[str, Any]:
        i, j = pair
        new = read[1] - block.reshape(SIZE, SIZE) @ read[0]
        return {"rows": new[None], "to": np.array([where(i < j, j, -1.0)])}

    def backward(read: Any, pair: Any, block: Any) -> dict[str, Any]:
        i, j = pair
        product = block.reshape(SIZE, SIZE) @ read[1]
        return {"rows": where(i < j, read[0] - product, product)[None], "to": np.array([i])}

    y = visit(forward, {"pair": pairs, "block": taken(at["lower"])}, b, pairs, count=pair_count)["table"]
    items = {"pair": pairs, "block": taken(at["upper"])}
    return visit(backward, items, y, pairs, count=pair_count, reverse=True)["table"]
