"""A log of any length as one small triangle per joint: QR, chunk after chunk, in constant memory.

Of the rows of joint j, [W_j | tau_j] = Q R_j: least squares needs R_j only. Joints are kept apart so that each can be
weighted by its own noise later. Columns that are zero for a joint (bodies it does not carry) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .columns import Columns

CHUNK = 4096  # samples taken together
HELD = 1e4  # weight of conditions on parameters beside that of the data
UNSEEN = 1e-4  # of the largest column: one below counts as that large when its parameter is held


@dataclass(frozen=True)
class Samples:
    """Measurements: q (T, nq), v, a, tau (T, nv); used (T, nv): which torques count (NaN of tau never does)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    used: np.ndarray | None = None

    def chunks(self) -> Iterator[Samples]:
        """Pieces of at most CHUNK samples."""
        for begin in range(0, len(self.q), CHUNK):
            yield self[begin : begin + CHUNK]

    def __getitem__(self, at: slice) -> Samples:
        used = None if self.used is None else self.used[at]
        return Samples(self.q[at], self.v[at], self.a[at], self.tau[at], used)

    def counted(self) -> np.ndarray:
        """(T, nv): which torques count."""
        finite = np.isfinite(self.tau)
        return finite if self.used is None else finite & self.used


@dataclass(frozen=True)
class Compressed:
    """factors: per freedom (k, size + 1), k ≤ size + 1 rows of [W | tau]; rows (nv,): how many there were.

    held (k, size + 1): rows [A | b] of conditions A x = b on the parameters, which are no data.
    """

    columns: Columns
    factors: tuple[np.ndarray, ...]
    rows: np.ndarray
    held: np.ndarray | None = None

    def stacked(self, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """(R, z, rest): ‖R x − z‖² + rest is the sum over joints of ‖W_j x − tau_j‖² / sigma_j².

        Conditions count HELD times as much as the data on the same parameters.
        """
        size = self.columns.size
        full = np.concatenate([factor / s for factor, s in zip(self.factors, sigma, strict=True)])
        if self.held is not None:
            norms = np.linalg.norm(full[:, :size], axis=0)
            norms = np.maximum(norms, UNSEEN * norms.max(initial=0.0))
            weights = HELD * np.max(np.abs(self.held[:, :size]) * norms, axis=1)
            full = np.concatenate([full, weights[:, None] * self.held])
        R = triangle(full)
        if len(R) < size + 1:
            R = np.concatenate([R, np.zeros((size + 1 - len(R), size + 1))])
        return R[:size, :size], R[:size, size], float(R[size, size] ** 2)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """(nv,): sum of squares of W_j x − tau_j."""
        y = np.append(x, -1.0)
        return np.array([float(np.sum((factor @ y) ** 2)) for factor in self.factors])

    @property
    def torque_squares(self) -> np.ndarray:
        """(nv,): sum of squares of the measured torques, less what is known."""
        return np.array([float(np.sum(factor[:, -1] ** 2)) for factor in self.factors])


def triangle(A: np.ndarray) -> np.ndarray:
    """R of A = Q R."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def compress(columns: Columns, logs: Iterable[Samples]) -> Compressed:
    """The triangles of all samples of all logs."""
    nv, size = columns.robot.nv, columns.size
    factors = [np.zeros((0, size + 1)) for _ in range(nv)]
    rows = np.zeros(nv, int)
    for log in logs:
        for chunk in log.chunks():
            W = columns.matrix(chunk.q, chunk.v, chunk.a)
            tau = chunk.tau - columns.known(chunk.q, chunk.v, chunk.a)
            counted = chunk.counted()
            for j in range(nv):
                use = counted[:, j]
                both = np.concatenate([factors[j], np.column_stack([W[use, j], tau[use, j]])])
                seen = np.flatnonzero(np.any(both != 0.0, axis=0))  # zero columns are left alone
                if len(seen):
                    R = triangle(both[:, seen])
                    factors[j] = np.zeros((len(R), size + 1))
                    factors[j][:, seen] = R
                rows[j] += int(use.sum())
    return Compressed(columns, tuple(factors), rows)
