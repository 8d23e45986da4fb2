"""Impulses of joints by block elimination: symmetric blocks, one for each joint and each pair that shares a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.linear import factor_entries, is_zero
from dalembert.math import scan
from dalembert.model import Closure

Blocks = Mapping[int, np.ndarray]  # joint → its block (k, k), lower triangle
Between = Mapping[tuple[int, int], np.ndarray]  # (later, earlier) joint → the block between them (k, k')


def solved(
    joints: list[int], blocks: Blocks, between: Between, wanted: Mapping[int, np.ndarray]
) -> dict[int, np.ndarray]:
    """Impulses of some joints, eliminated in this order."""
    sizes = [len(wanted[k]) for k in joints]
    starts = {k: int(start) for k, start in zip(joints, np.cumsum([0, *sizes]), strict=False)}
    diagonal: list[Any] = [0.0] * sum(sizes)
    below: dict[tuple[int, int], Any] = {}
    for k in joints:
        _add(diagonal, below, starts[k], starts[k], blocks[k])
    for (later, earlier), block in between.items():
        if later in starts and earlier in starts:
            _add(diagonal, below, starts[later], starts[earlier], block)
    factors = factor_entries(diagonal, below, range(len(diagonal)))
    solution = factors.solve(np.concatenate([wanted[k] for k in joints]))
    return {k: solution[starts[k] : starts[k] + len(wanted[k])] for k in joints}


@dataclass(eq=False)
class Elimination:
    """Block elimination along joints in a row, as one loop there and one back; the last joint stays.

    blocks: joint → its block (k, k), lower triangle; between: (later, earlier) → block; wanted: joint → (k,). What is
    eliminated is taken off the last joint's.
    """

    joints: list[int]
    blocks: dict[int, np.ndarray]
    between: dict[tuple[int, int], np.ndarray]
    wanted: dict[int, np.ndarray]

    def eliminate(self) -> None:
        """(D − S) p + Cᵀ p' = w − s, of each joint with the following one, p'."""
        size = len(self.wanted[self.joints[0]])

        def step(S: np.ndarray, s: np.ndarray, D: np.ndarray, C: np.ndarray, w: np.ndarray) -> dict[str, Any]:
            below = {(i, j): D[i, j] - S[i, j] for i in range(size) for j in range(i)}
            factors = factor_entries([D[i, i] - S[i, i] for i in range(size)], below, range(size))
            G = np.stack([factors.solve(C[i]) for i in range(size)], axis=1)
            g = factors.solve(w - s)
            return {"S": np.tril(C @ G), "s": C @ g, "G": G, "g": g}

        last, pairs = self.joints[-1], list(pairwise(self.joints))
        items = {
            "D": np.array([self.blocks[k] for k, _ in pairs]),
            "C": np.array([self._coupling(following, k) for k, following in pairs]),
            "w": np.array([self.wanted[k] for k, _ in pairs]),
        }
        result = scan(step, items, {"S": np.zeros((size, size)), "s": np.zeros(size)})
        self.G, self.g = result["G"], result["g"]
        self.blocks[last] = self.blocks[last] - result["S"][-1]
        self.wanted[last] = self.wanted[last] - result["s"][-1]

    def _coupling(self, row: int, column: int) -> np.ndarray:
        block = self.between.get((row, column))
        return self.between[column, row].T if block is None else block

    def impulses(self, last: np.ndarray) -> dict[int, np.ndarray]:
        """Impulses of all joints but the last one, whose p' is known: p = g − G p'."""
        step = lambda p, G, g: {"p": g - G @ p}  # noqa: E731
        p = scan(step, {"G": self.G, "g": self.g}, {"p": last}, reverse=True)["p"]
        return dict(zip(self.joints[:-1], p, strict=True))


def neighbours(closures: list[Closure]) -> list[set[int]]:
    """For every closure, the others on the same bodies."""
    on: dict[int, set[int]] = {}
    for k, closure in enumerate(closures):
        for frame in (closure.a, closure.b):
            on.setdefault(frame.body, set()).add(k)
    return [set().union(*(on[f.body] for f in (c.a, c.b) if f.body > 0)) - {k} for k, c in enumerate(closures)]


def elimination_order(closures: list[Closure]) -> list[int]:
    """Minimum degree over the graph of closures; of equals the one that waits least, as of a chain both ends."""
    near = neighbours(closures)
    left, depth, order = set(range(len(closures))), [0] * len(closures), []
    while left:
        k = min(left, key=lambda i: (sum(closures[j].count for j in near[i]), depth[i], i))
        left.discard(k)
        order.append(k)
        for i in near[k]:
            near[i] = (near[i] | near[k]) - {i, k}
            depth[i] = max(depth[i], depth[k] + 1)
    return order


def _add(diagonal: list[Any], below: dict[tuple[int, int], Any], first: int, second: int, block: np.ndarray) -> None:
    for (i, j), value in np.ndenumerate(block):
        row, column = int(first + i), int(second + j)
        if row == column:
            diagonal[row] = diagonal[row] + value
        elif (first != second or j < i) and not is_zero(value):
            below[row, column] = below[row, column] + value if (row, column) in below else value
