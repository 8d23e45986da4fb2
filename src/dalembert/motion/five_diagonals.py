"""Symmetric positive definite systems with five diagonals, by L D Lᵀ: two compiled loops over the rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dalembert.compiler.execute import Program, Repetition
from dalembert.compiler.graph import trace


class System:
    """Memory for systems of n unknowns, and both loops bound to it."""

    def __init__(self, n: int) -> None:
        self.rows, self.factors, self.x = np.zeros((1, n, 4)), np.zeros((1, n, 3)), np.zeros((1, n, 2))
        start, end = np.zeros((1, 8)), np.zeros((1, 2))
        carried = np.zeros((1, n, 8))
        forward, backward = _programs()
        self.loops = (
            forward.bound(
                {"row": self.rows.reshape(1, -1), "before": start}, {"factors": self.factors, "after": carried}, n
            ),
            backward.bound({"factors": self.factors.reshape(1, -1), "ahead": end}, {"here": self.x}, n),
        )

    def solve(self, bands: np.ndarray, right: np.ndarray) -> np.ndarray:
        """x (n,) with A x = right; bands (3, n): entries [i, i], [i, i + 1], [i, i + 2] of A, 0 beyond its end."""
        self.rows[0, :, :3], self.rows[0, :, 3] = bands.T, right
        for loop in self.loops:
            loop()
        return self.x[0, :, 0].copy()


def _forward(row: np.ndarray, before: np.ndarray) -> dict[str, Any]:
    """One row of L D Lᵀ and of L z = right; before: what the two rows above it leave."""
    a, b, c, right = row
    l1, e1, l2, c2, following_l2, c1, z1, z2 = before
    d = a - e1 * l1 - c2 * l2
    e, z = b - c1 * l1, right - l1 * z1 - l2 * z2
    inverse = 1.0 / d
    after = [e * inverse, e, following_l2, c1, c * inverse, c, z, z1]
    return {"factors": [z * inverse, e * inverse, c * inverse], "after": after}


def _backward(factors: np.ndarray, ahead: np.ndarray) -> dict[str, Any]:
    """One unknown, from the two that follow it."""
    return {"here": [factors[0] - factors[1] * ahead[0] - factors[2] * ahead[1], ahead[0]]}


@cache
def _programs() -> tuple[Program, Program]:
    forth, back = {"row": 4, "before": 8}, {"factors": 3, "ahead": 2}
    return (
        Program(
            "five_diagonals_forward", "five diagonals", forth, {"factors": (3,), "after": (8,)},
            lambda: trace(_forward, forth, "five_diagonals_forward"),
            Repetition((("after", "before"),), ("row",), ("factors", "after")), lanes=1,
        ),
        Program(
            "five_diagonals_backward", "five diagonals", back, {"here": (2,)},
            lambda: trace(_backward, back, "five_diagonals_backward"),
            Repetition((("here", "ahead"),), ("factors",), ("here",), None, None, ("factors", "here")), lanes=1,
        ),
    )  # fmt: skip
