"""Products of large matrices: kept together, so that a backend can compute them in a loop instead of term by term.

A large matrix of constants times a vector, such as a layer of a network, is one node; it stays an array of numbers.
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

STRAIGHT = 3000  # multiplications up to which a product is written out
FEW = 300  # those of constants with a vector


class ProductBlock:
    """A matrix product C = A B whose entries are `dot` nodes; entries of B that are the constant 0 are left out.

    A (n, k), B (k, m): arrays of nodes. rows[j]: the rows of B whose entry in column j is not the constant 0.
    """

    def __init__(self, A: np.ndarray, B: np.ndarray) -> None:
        self.A, self.B = A, B
        self.rows = [[k for k, x in enumerate(column) if not (x.op == "const" and x.value == 0)] for column in B.T]
        self.nodes = tuple({x.id: x for x in (*A.ravel(), *B.ravel())}.values())


def product(graph: Graph, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B as an array of traced scalars; a large A of finite numbers with a vector B is one node, see `Weighted`."""
    if np.ndim(B) == 1:
        W = np.asarray(A)
        if W.dtype != object and W.size > FEW and np.isfinite(W).all():
            y = np.empty(len(W), object)
            y[:] = weighted(graph, W, list(B))
            return y
        return A @ B
    A, B = _nodes(graph, A), _nodes(graph, B)
    block = ProductBlock(A, B)
    if len(A) * sum(map(len, block.rows)) <= STRAIGHT:
        return A @ B
    C = np.empty((A.shape[0], B.shape[1]), object)
    for j, rows in enumerate(block.rows):
        for i in range(len(A)):
            C[i, j] = _dot(graph, block, i, j, rows)
    return C


def _dot(graph: Graph, block: ProductBlock, i: int, j: int, rows: list[int]) -> Scalar:
    if not rows:
        return graph.constant(0.0)
    args = (*block.A[i, rows], *block.B[rows, j])
    return graph.make(("dot", *[a.id for a in args]), "dot", args, (block, i, j))


def _nodes(graph: Graph, X: Any) -> np.ndarray:
    """An array of nodes from an array of traced scalars and numbers."""
    out = np.empty(np.shape(X), object)
    for index, x in np.ndenumerate(X):
        out[index] = x if hasattr(x, "__traced__") else graph.constant(x)
    return out


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
