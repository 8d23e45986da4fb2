"""Products of a large matrix of constants with a vector, such as the layers of a network: one node, compiled as a loop.

The matrix stays an array of numbers, in the graph as in compiled code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from .compound import Compound, Rates, results

if TYPE_CHECKING:
    from .scalar import Graph, Scalar


class Weighted(Compound):
    """y = W x with constants W (m, n), all finite; arguments: x; results: y."""

    verb = "multiplies matrices of constants"

    def __init__(self, W: np.ndarray) -> None:
        self.W = np.ascontiguousarray(W, float)
        self.size = len(self.W)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the matrix."""
        return sha256(repr(self.W.shape).encode() + self.W.tobytes()).hexdigest()

    @cached_property
    def is_single(self) -> bool:
        """Whether float32 holds every number of W exactly."""
        return bool(np.all(np.abs(self.W) <= np.finfo(np.float32).max) and np.all(self.W.astype(np.float32) == self.W))

    def identity(self) -> tuple[Any, ...]:
        return (self.digest,)

    def operations(self) -> Counter[str]:
        m, n = self.W.shape
        return Counter({"mul": m * n, "add": m * (n - 1)})

    def forward(self, node: Scalar, rates: Sequence[Rates]) -> list[dict[int, Any]]:
        rows: list[dict[int, Any]] = [{} for _ in range(self.size)]
        for direction in sorted({d for x in rates for d in x}):
            columns = [k for k, x in enumerate(rates) if direction in x]
            moved = weighted(node.graph, self.W[:, columns], [rates[k][direction] for k in columns])
            for row, y in zip(rows, moved, strict=True):
                row[direction] = y
        return rows

    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        columns = [k for k, wanted in enumerate(active) if wanted]
        pulled = weighted(node.graph, self.W[list(weights)][:, columns].T, list(weights.values()))
        return dict(zip(columns, pulled, strict=True))


def weighted(graph: Graph, W: np.ndarray, x: Sequence[Any]) -> list[Scalar]:
    """W x as traced scalars, from traced scalars and numbers x."""
    arguments = [y if hasattr(y, "__traced__") else graph.constant(y) for y in x]
    return results(graph, Weighted(W), arguments)
