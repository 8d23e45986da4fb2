"""Least squares with quintic splines on equal cells: a low-pass filter without phase that knows its derivatives.

The cells of length h pass motions below 1/(2h) and stop those above; times need not be equally spaced. The normal
equations have a band of eleven diagonals, so that the work grows with the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

DEGREE = 5
BLOCK = DEGREE  # coefficients further apart than this do not meet in any cell
THIRD = np.array([-1.0, 3.0, -3.0, 1.0])
FIFTH = np.array([-1.0, 5.0, -10.0, 10.0, -5.0, 1.0])  # that of a quartic is zero
STIFFNESS = 1e-12  # of the normal equations: lets cells without rows, in gaps of a log, follow their neighbours


def _pieces() -> np.ndarray:
    """Polynomials (DEGREE + 1, DEGREE + 1) in x of the basis functions within a cell 0 ≤ x < 1, highest power last.

    By de Boor's recursion, B_k = (x + k) / d B_k + (d + 1 - x - k) / d B_(k-1).
    """
    pieces = np.ones((1, 1))
    for degree in range(1, DEGREE + 1):
        longer = np.zeros((degree + 1, degree + 1))
        for k in range(degree):  # piece k of the lower degree, counted from the oldest function
            rising, falling = degree - 1 - k, k + 1
            longer[k, :-1] += pieces[k] * falling / degree
            longer[k, 1:] -= pieces[k] / degree
            longer[k + 1, :-1] += pieces[k] * rising / degree
            longer[k + 1, 1:] += pieces[k] / degree
        pieces = longer
    return pieces


PIECES = _pieces()


@dataclass(frozen=True)
class Basis:
    """Quintic splines on `cells` equal cells over the times t (n,)."""

    t: np.ndarray
    cells: int

    @property
    def count(self) -> int:
        """Number of coefficients."""
        return self.cells + DEGREE

    @property
    def length(self) -> float:
        """Length of a cell [s]."""
        return float(self.t[-1] - self.t[0]) / self.cells

    def weights(self, order: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """(cell of each row (n,), weights (6, n) of the coefficients that act there) of a derivative."""
        x = (self.t - self.t[0]) / self.length
        cell = np.minimum(x.astype(int), self.cells - 1)
        powers = np.ones((DEGREE + 1, len(x)))
        np.cumprod(np.broadcast_to(x - cell, (DEGREE, len(x))), axis=0, out=powers[1:])
        factors = np.array([np.prod(p - np.arange(order)) for p in range(order, DEGREE + 1)])
        return cell, (PIECES[:, order:] * factors) @ powers[: DEGREE + 1 - order] / self.length**order

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        return self.weights()

    @cached_property
    def _gram(self) -> np.ndarray:
        """Band (6, count) of the normal equations: entry (i + d, i) stands in [d, i]."""
        cell, weights = self._rows
        band = np.zeros((DEGREE + 1, self.count))
        for i in range(DEGREE + 1):
            for j in range(i, DEGREE + 1):
                band[j - i, i : i + self.cells] += np.bincount(cell, weights[i] * weights[j], self.cells)
        self._stiffen(band, THIRD, np.full(self.count - 3, STIFFNESS))
        return band

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Right sides (count, k) of the normal equations for values (n, k)."""
        cell, weights = self._rows
        right = np.zeros((self.count, values.shape[1]))
        for i in range(DEGREE + 1):
            for k in range(values.shape[1]):
                right[i : i + self.cells, k] += np.bincount(cell, weights[i] * values[:, k], self.cells)
        return right

    def solve(self, sums: np.ndarray, ends: tuple[int, int] = (0, 0)) -> np.ndarray:
        """Coefficients (count, k) of the least squares fit to the values of these sums.

        ends: over how many cells at the start and at the end the fit is a single quartic: fewer freedoms where
        derivatives carry most noise.
        """
        band, stiff = self._gram.copy(), np.zeros(self.cells)
        stiff[: ends[0]] = stiff[self.cells - ends[1] :] = 1.0
        self._stiffen(band, FIFTH, stiff)
        return _solve(band, sums)

    def fit(self, values: np.ndarray) -> np.ndarray:
        """Coefficients (count, k) of the least squares fit to values (n, k)."""
        return self.solve(self.sums(values))

    def _stiffen(self, band: np.ndarray, difference: np.ndarray, weights: np.ndarray) -> None:
        """Add weighted squares of differences of the coefficients, in units of the rows of a cell."""
        scaled = weights * len(self.t) / self.cells
        for i, a in enumerate(difference):
            for j, b in enumerate(difference[i:]):
                band[j, i : i + len(weights)] += scaled * a * b

    def evaluate(self, coefficients: np.ndarray, order: int = 0) -> np.ndarray:
        """Values (n, k) of the fit, or of a derivative."""
        cell, weights = self.weights(order) if order else self._rows
        return sum(weights[i, :, None] * coefficients[cell + i] for i in range(DEGREE + 1))


def _solve(band: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve the symmetric positive definite system of a band: block by block down, then up."""
    count, columns = right.shape
    blocks = -(-count // BLOCK)
    size = blocks * BLOCK
    padded = np.zeros((DEGREE + 1, size + BLOCK))
    padded[:, :count] = band
    padded[0, count:] = 1.0
    rows = np.zeros((size, columns))
    rows[:count] = right
    i, j = np.indices((BLOCK, BLOCK))
    first = BLOCK * np.arange(blocks)[:, None, None]
    diagonal = padded[np.abs(i - j), first + np.minimum(i, j)]
    offset = BLOCK + i - j  # below the diagonal block: the entry (first + BLOCK + i, first + j)
    below = np.where(offset <= DEGREE, padded[np.minimum(offset, DEGREE), first + j], 0.0)
    rows = rows.reshape(blocks, BLOCK, columns)
    for k in range(1, blocks):
        factor = np.linalg.solve(diagonal[k - 1], below[k - 1].T).T
        diagonal[k] -= factor @ below[k - 1].T
        rows[k] -= factor @ rows[k - 1]
    solution = np.empty_like(rows)
    solution[-1] = np.linalg.solve(diagonal[-1], rows[-1])
    for k in range(blocks - 2, -1, -1):
        solution[k] = np.linalg.solve(diagonal[k], rows[k] - below[k].T @ solution[k + 1])
    return solution.reshape(size, columns)[:count]
