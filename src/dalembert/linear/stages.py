"""Linear-quadratic problems in stages: how a stage lies in memory.

Stage k has a state x (n,) and a control u (m,), and the problem is

    minimise   Σ ½ zᵀ H z + gᵀ z,  z = [x; u],   +  ½ xᵀ V x + gᵀ x at the end
    subject to  x' = A x + B u + c

Rows of matrices lie in memory as vectors of LANES columns: those of the state in parts, each padded to whole vectors,
then those of the control. The column behind the first part holds what is constant: g in rows of H, c in rows of [A B].
Of H and V, which are symmetric, a row reaches to the end of its own part: with positions and velocities as parts, rows
of positions are kept over positions alone.
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
    systems have one part, and rows [A B c]. Where those of positions follow from those of velocities, as
    q' = D q + E v' + c, only the latter are kept: D is 1 and E a duration, but for the freedoms named in `curved`.
    """

    parts: tuple[int, ...]
    controls: int
    curved: tuple[int, ...] | None = None

    @property
    def is_chained(self) -> bool:
        """Whether positions follow from velocities."""
        return self.curved is not None

    @property
    def freedoms(self) -> int:
        """Numbers in the velocity, where positions follow from velocities."""
        return self.states // 2

    @property
    def freedom_vectors(self) -> int:
        """Vectors of a row over the velocities alone."""
        return vectors(self.freedoms)

    @property
    def curved_vectors(self) -> int:
        """Vectors of a row over the freedoms up to the last curved one."""
        return vectors(max(self.curved) + 1) if self.curved else 0

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

    @cached_property
    def state_rows(self) -> tuple[tuple[int, int], ...]:
        """Where each row of the state of a symmetric matrix begins, and how long it is, in vectors."""
        lengths = np.repeat(np.cumsum(self.part_vectors), self.parts).tolist()
        return tuple(zip([0, *np.cumsum(lengths).tolist()], lengths, strict=False))

    @property
    def value_width(self) -> int:
        """Numbers of a symmetric matrix over the state with its gradient."""
        return LANES * sum(length for _, length in self.state_rows)

    @property
    def quadratic_width(self) -> int:
        """Numbers of a stage's H and g: rows of the state over the state, rows of the control over both."""
        return self.value_width + self.controls * (self.state_width + self.control_width)

    @property
    def transition_width(self) -> int:
        """Numbers of a stage's [A B c]."""
        row = self.state_width + self.control_width
        if self.curved is None:
            return self.states * row
        return self.freedoms * row + 2 * LANES * (self.freedom_vectors + len(self.curved) * self.curved_vectors)

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
        n, rows = self.states, []
        for j in range(n, n + self.controls):
            rows += [self.state_row(H[j, :n], g[j]), self.control_row(H[j, n:])]
        return np.concatenate([self.end(H[:n, :n], g[:n]), *rows])

    def transition(self, A: np.ndarray, B: np.ndarray, c: np.ndarray) -> np.ndarray:
        """A (n, n), B (n, m), c (n,) of a stage as numbers in a row."""
        rows = [x for a, b, d in zip(A, B, c, strict=True) for x in (self.state_row(a, d), self.control_row(b))]
        return np.concatenate(rows)

    def chained_transition(
        self, A: np.ndarray, B: np.ndarray, c: np.ndarray, chain: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Rows A (n, 2n), B (n, m), c (n,) of the velocities, and D (n, n), E (n, n), c (n,) of q' = D q + E v' + c."""
        assert self.curved is not None
        n, (D, E, constants) = self.freedoms, chain
        rows = [x for a, b, d in zip(A, B, c, strict=True) for x in (self.state_row(a, d), self.control_row(b))]
        records = np.zeros((2, LANES * self.freedom_vectors), object)
        records[0, :n] = constants
        records[1, :n] = [0.0 if i in self.curved else E[i, i] for i in range(n)]
        turned = np.zeros((2, len(self.curved), LANES * self.curved_vectors), object)
        for k, i in enumerate(self.curved):
            turned[0, k, list(self.curved)] = D[i, list(self.curved)]
            turned[1, k, list(self.curved)] = E[i, list(self.curved)]
        return np.concatenate([*rows, records.ravel(), turned.ravel()])

    def transitions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A (N, n, n), B (N, n, m) and c (N, n) of stages in memory, rows (N, transition_width)."""
        N, width = len(rows), self.state_width + self.control_width
        count = self.freedoms if self.is_chained else self.states
        table = rows[:, : count * width].reshape(N, count, width)
        A, c = table[:, :, list(self.columns)], table[:, :, self.constant]
        B = table[:, :, self.state_width : self.state_width + self.controls]
        if self.curved is None:
            return A, B, c
        n, behind = self.freedoms, rows[:, count * width :]
        constants, durations = behind[:, : 2 * LANES * self.freedom_vectors].reshape(N, 2, -1)[:, :, :n].swapaxes(0, 1)
        D, E = np.zeros((2, N, n, n))
        D[:, range(n), range(n)], E[:, range(n), range(n)] = 1.0, durations
        turned = behind[:, 2 * LANES * self.freedom_vectors :].reshape(
            N, 2, len(self.curved), LANES * self.curved_vectors
        )
        for k, i in enumerate(self.curved):
            D[:, i, : turned.shape[3]], E[:, i, : turned.shape[3]] = (turned[:, e, k, :n] for e in (0, 1))
        above = np.concatenate([E @ A, E @ B, (E @ c[:, :, None]) + constants[:, :, None]], axis=2)
        above[:, :, :n] += D
        m = 2 * n + self.controls
        return (
            np.concatenate([above[:, :, : 2 * n], A], axis=1),
            np.concatenate([above[:, :, 2 * n : m], B], axis=1),
            np.concatenate([above[:, :, m], c], axis=1),
        )

    @property
    def control_diagonal(self) -> list[int]:
        """Where in a stage's quadratic model the diagonal of the control's Hessian lies."""
        start, row = self.value_width + self.state_width, self.state_width + self.control_width
        return [start + j * row + j for j in range(self.controls)]

    @property
    def state_diagonal(self) -> list[int]:
        """Where in a stage's quadratic model the diagonal of the state's Hessian lies."""
        return [LANES * start + column for (start, _), column in zip(self.state_rows, self.columns, strict=True)]

    def end(self, V: np.ndarray, g: np.ndarray) -> np.ndarray:
        """V (n, n) and g (n,) at the end as numbers in a row."""
        lengths = [LANES * length for _, length in self.state_rows]
        return np.concatenate([self.state_row(V[i], g[i])[:length] for i, length in enumerate(lengths)])
