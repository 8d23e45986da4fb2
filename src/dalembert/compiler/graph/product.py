"""Products of large matrices: kept together, so that a backend can compute them in a loop instead of term by term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .weighted import weighted

if TYPE_CHECKING:
    from .scalar import Graph, Scalar

STRAIGHT = 3000  # multiplications up to which a product is written out
FEW = 300  # those of constants with a vector


class Block:
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
    block = Block(A, B)
    if len(A) * sum(map(len, block.rows)) <= STRAIGHT:
        return A @ B
    C = np.empty((A.shape[0], B.shape[1]), object)
    for j, rows in enumerate(block.rows):
        for i in range(len(A)):
            C[i, j] = _dot(graph, block, i, j, rows)
    return C


def _dot(graph: Graph, block: Block, i: int, j: int, rows: list[int]) -> Scalar:
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
