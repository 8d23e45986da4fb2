"""The quadratic model of a node, from slopes of rows; contacts come in between.

Rows may depend on the accelerations and forces y of contacts, which depend on state and control z in turn. Those that
depend on y alone, such as friction cones, are summed up over y before the slopes of y multiply them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.graph.differentiate import vanishes
from dalembert.linear import sparse_product


def sum_of(items: Any) -> Any:
    """A sum that starts from nothing, so that traced values stay sparse."""
    total: Any = 0.0
    for item in items:
        total = total + item
    return total


class Slopes(NamedTuple):
    """Slopes of rows in z, and in y, accelerations and forces of contacts, whose slopes in z are the chain."""

    z: np.ndarray
    y: np.ndarray
    chain: np.ndarray

    def rows(self, start: int, count: int) -> Slopes:
        """Some of the rows."""
        return Slopes(self.z[start : start + count], self.y[start : start + count], self.chain)

    def total(self) -> np.ndarray:
        """Slopes in z alone."""
        return self.z + sparse_product(self.y, self.chain) if len(self.chain) else self.z


class Quadratic:
    """A model ½ zᵀ H z + gᵀ z that rows are added to. Rows that depend on y alone are gathered there first."""

    def __init__(self, size: int, chain: np.ndarray) -> None:
        self.H, self.g = np.zeros((size, size), object), np.zeros(size, object)
        self.chain, count = chain, len(chain)
        self.K, self.k = np.zeros((count, count), object), np.zeros(count, object)

    def add(self, J: Slopes, weights: Any, forces: Any) -> None:
        """H += Jᵀ diag(weights) J and g += Jᵀ forces."""
        for i, (weight, force) in enumerate(zip(weights, forces, strict=True)):
            row = J.rows(i, 1)
            if all(map(vanishes, row.z[0])):
                add_products(self.K, self.k, row.y[0], weight, force)
            else:
                add_products(self.H, self.g, row.total()[0], weight, force)

    def total(self) -> tuple[np.ndarray, np.ndarray]:
        """H and g, with what y adds."""
        if not len(self.chain):
            return self.H.copy(), self.g.copy()
        scaled = sparse_product(self.K, self.chain)
        H, g = self.H.copy(), self.g + sparse_product(self.chain.T, self.k)
        for y, (row, product) in enumerate(zip(self.chain, scaled, strict=True)):
            if all(map(vanishes, self.K[y])):
                continue
            for i in range(len(row)):
                for j in range(i + 1):
                    H[i, j] = H[i, j] + row[i] * product[j]
        lower = np.tril_indices(len(H), -1)
        H.T[lower] = H[lower]
        return H, g


def add_products(H: np.ndarray, g: np.ndarray, row: np.ndarray, weight: Any, force: Any) -> None:
    """H += weight · rowᵀ row and g += force · row, in place; entries of the row that are 0 take no part."""
    places = [k for k, x in enumerate(row) if not vanishes(x)]
    for i in places:
        g[i] = g[i] + row[i] * force
        weighted = weight * row[i]
        for j in places:
            if j > i:
                break
            H[i, j] = H[i, j] + weighted * row[j]
            if i != j:
                H[j, i] = H[i, j]
