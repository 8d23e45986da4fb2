"""Linear-quadratic problems in stages: how a stage lies in memory, and a dense solution to check faster ones with.

Stage k has a state x (n,) and a control u (m,), and the problem is

    minimise   Σ ½ zᵀ H z + gᵀ z,  z = [x; u],   +  ½ xᵀ V x + gᵀ x at the end
    subject to  x' = A x + B u + c

Rows of matrices lie in memory as vectors of LANES columns: those of the state in parts, each padded to whole vectors,
then those of the control. The column behind the first part holds what is constant: g in rows of H, c in rows of [A B].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

LANES = 8


def vectors(size: int) -> int:
    """Vectors that hold so many numbers."""
    return -(-size // LANES)


@dataclass(frozen=True)
class StageLayout:
    """Where columns lie. parts: sizes of the parts of the state; controls: numbers in the control.

    Two parts (n, n) with n controls are positions, velocities and accelerations: v' = v + h a, q' = q + h v'. Other
    systems have one part, and rows [A B c].
    """

    parts: tuple[int, ...]
    controls: int

    @property
    def states(self) -> int:
        """Numbers in the state."""
        return sum(self.parts)

    @cached_property
    def part_vectors(self) -> tuple[int, ...]:
        """Vectors of each part, the first with the constant column."""
        return tuple(vectors(size + (k == 0)) for k, size in enumerate(self.parts))

    @property
    def state_vectors(self) -> int:
        """Vectors of a row over the state."""
        return sum(self.part_vectors)

    @property
    def control_vectors(self) -> int:
        """Vectors of a row over the control."""
        return vectors(self.controls)

    @property
    def state_width(self) -> int:
        """Numbers in a row over the state, padding included."""
        return LANES * self.state_vectors

    @property
    def control_width(self) -> int:
        """Numbers in a row over the control, padding included."""
        return LANES * self.control_vectors

    @property
    def constant(self) -> int:
        """The column of what is constant."""
        return self.parts[0]

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The column of each number of the state."""
        starts = np.cumsum([0, *(LANES * v for v in self.part_vectors[:-1])])
        return tuple(int(s) + k for s, size in zip(starts, self.parts, strict=True) for k in range(size))

    @cached_property
    def blocks(self) -> tuple[tuple[range, int], ...]:
        """Numbers of the state whose columns share a vector, and which vector that is."""
        blocks, start, vector = [], 0, 0
        for size, count in zip(self.parts, self.part_vectors, strict=True):
            for k in range(0, size, LANES):
                blocks.append((range(start + k, start + min(k + LANES, size)), vector + k // LANES))
            start, vector = start + size, vector + count
        return tuple(blocks)

    @property
    def quadratic_width(self) -> int:
        """Numbers of a stage's H and g: rows of the state over the state, rows of the control over both."""
        return self.states * self.state_width + self.controls * (self.state_width + self.control_width)

    @property
    def transition_width(self) -> int:
        """Numbers of a stage's [A B c]."""
        return self.states * (self.state_width + self.control_width)

    def state_row(self, values: Any, constant: Any = 0.0) -> np.ndarray:
        """A row over the state (state_width,), of any scalars."""
        row = np.zeros(self.state_width, object)
        row[list(self.columns)] = values
        row[self.constant] = constant
        return row

    def control_row(self, values: Any) -> np.ndarray:
        """A row over the control (control_width,), of any scalars."""
        row = np.zeros(self.control_width, object)
        row[: self.controls] = values
        return row

    def quadratic(self, H: np.ndarray, g: np.ndarray) -> np.ndarray:
        """H (n + m, n + m) and g (n + m,) of a stage as numbers in a row."""
        n = self.states
        rows = [self.state_row(H[i, :n], g[i]) for i in range(n)]
        for j in range(n, n + self.controls):
            rows += [self.state_row(H[j, :n], g[j]), self.control_row(H[j, n:])]
        return np.concatenate(rows)

    def transition(self, A: np.ndarray, B: np.ndarray, c: np.ndarray) -> np.ndarray:
        """A (n, n), B (n, m), c (n,) of a stage as numbers in a row."""
        rows = [x for a, b, d in zip(A, B, c, strict=True) for x in (self.state_row(a, d), self.control_row(b))]
        return np.concatenate(rows)

    @property
    def control_diagonal(self) -> list[int]:
        """Where in a stage's quadratic model the diagonal of the control's Hessian lies."""
        start, row = self.states * self.state_width + self.state_width, self.state_width + self.control_width
        return [start + j * row + j for j in range(self.controls)]

    @property
    def state_diagonal(self) -> list[int]:
        """Where in a stage's quadratic model the diagonal of the state's Hessian lies."""
        return [i * self.state_width + column for i, column in enumerate(self.columns)]

    def end(self, V: np.ndarray, g: np.ndarray) -> np.ndarray:
        """V (n, n) and g (n,) at the end as numbers in a row."""
        return np.concatenate([self.state_row(V[i], g[i]) for i in range(self.states)])


def dense_solution(
    H: np.ndarray, g: np.ndarray, A: np.ndarray, B: np.ndarray, c: np.ndarray, V: np.ndarray, gV: np.ndarray, first: Any
) -> tuple[np.ndarray, np.ndarray]:
    """x (N + 1, n) and u (N, m) by one dense system of all optimality conditions; first: x of stage 0.

    H (N, n + m, n + m), g (N, n + m), A (N, n, n), B (N, n, m), c (N, n), V (n, n), gV (n,). For small problems.
    """
    N, n, m = B.shape
    size = N * (n + m) + n
    K = np.zeros((size + (N + 1) * n,) * 2)
    b = np.zeros(len(K))
    at = [k * (n + m) for k in range(N + 1)]
    for k in range(N):
        z = slice(at[k], at[k] + n + m)
        K[z, z], b[z] = H[k], -g[k]
    K[at[N] : size, at[N] : size], b[at[N] : size] = V, -gV
    for k in range(N + 1):
        rows = slice(size + k * n, size + (k + 1) * n)
        K[rows, at[k] : at[k] + n] = -np.eye(n)
        if k:
            K[rows, at[k - 1] : at[k]] = np.hstack([A[k - 1], B[k - 1]])
        b[rows] = -np.asarray(first) if k == 0 else -c[k - 1]
    K[:size, size:] = K[size:, :size].T
    solution = np.linalg.solve(K, b)[:size]
    stages = solution[: at[N]].reshape(N, n + m)
    return np.vstack([stages[:, :n], solution[at[N] :]]), stages[:, n:]
