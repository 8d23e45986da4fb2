"""Carriers of contacts and rows: how impulses move them; rows with their laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.symmetric import Factor, factor
from dalembert.linear.zeros import sparse_product
from dalembert.math import abs as absolute

from .cones import TINY
from .row_laws import Law, active_part, linear_row, row_impulse

RIGID = 1e-6  # of what moves a coordinate: what moves it at least, beside others that it cannot move apart from


Softening = Callable[[Any, Any, Any, Any], Any]  # (part of a law, part and give before, impulse) → give


class Carrier(NamedTuple):
    """How impulses move what carries them: u = c + J x with M x = Jᵀ p, J (n, m), M (m, m).

    X, Y (m, n): with M = L diag(1/r) Lᵀ, Y = L⁻¹ Jᵀ and X = diag(r) Y, so that G = J M⁻¹ Jᵀ = Xᵀ Y.
    """

    M: np.ndarray
    J: np.ndarray
    X: np.ndarray
    Y: np.ndarray

    @classmethod
    def bodies(cls, M: np.ndarray, mass: Factor, J: np.ndarray) -> Carrier:
        """Bodies with the inertia M (m, m), factored, that rows J (n, m) hold on to."""
        Y = mass.forward(J.T)
        return cls(M, J, (Y.T * mass.r).T, Y)

    @classmethod
    def reduced(cls, Y: np.ndarray, r: np.ndarray) -> Carrier:
        """Columns Y (m, n) in coordinates with the inertia diag(1/r), from which some motions may be taken away."""
        return cls(np.diag(1.0 / r), Y.T, (Y.T * r).T, Y)

    def condensed(self, P: np.ndarray) -> Carrier:
        """Rows P (n, k) of the rows of this carrier, in the velocities of these, which are fewer than those of bodies.

        Where some of them cannot move apart from others, they nearly cannot: what is solved for is not exact there, and
        corrected by what the impulses do.
        """
        W = sparse_product(self.X.T, self.Y)
        least = TINY + sum(np.diag(W))
        inertia = factor(W + np.diag([RIGID * (x + RIGID * least) for x in np.diag(W)])).solve(np.eye(len(W)))
        return Carrier(inertia, P, sparse_product(W, P.T), P.T)

    def some(self, rows: Sequence[int]) -> Carrier:
        """The carrier of some rows alone."""
        at = list(rows)
        return Carrier(self.M, self.J[at], self.X[:, at], self.Y[:, at])


class Rows:
    """Rows one by one, each with its own law: of velocities c, on a carrier; compliance: what they give way."""

    def __init__(self, carrier: Carrier, c: np.ndarray, laws: Sequence[Law], compliance: np.ndarray) -> None:
        self.carrier, self.c, self.laws, self.compliance = carrier, c, laws, compliance
        pairs = zip(carrier.X.T, carrier.Y.T, strict=True)
        self.sizes = np.array([sparse_product(x[None], y)[0] for x, y in pairs])

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Velocities of all rows, with w = Y p of everything."""
        return self.c + sparse_product(self.carrier.X.T, w)

    def swept(self, p: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """Impulses, w = Y p, and the velocities that changed, after each row in turn."""
        X, Y = self.carrier.X, self.carrier.Y
        p, changes = p.astype(object), []
        for i, law in enumerate(self.laws):
            g = self.sizes[i]
            b = self.c[i] + sparse_product(X[:, [i]].T, w)[0] - g * p[i]
            new = row_impulse(law, g + self.compliance[i], b)
            changes.append(g * absolute(new - p[i]))
            w = w + Y[:, i] * (new - p[i])
            p[i] = new
        return p, w, changes

    def linear(
        self, p: np.ndarray, u: np.ndarray, parts: np.ndarray, give: np.ndarray, softened: Softening
    ) -> tuple[np.ndarray, ...]:
        """Changes (n,) of impulses towards the laws, K (n,) = −dp/du, parts of the laws (n,), and shares that give way.

        parts, give: of the step before.
        """
        moved = u + self.compliance * p
        sizes = zip(self.laws, p, moved, self.sizes + self.compliance, strict=True)
        after = np.array([active_part(*each) for each in sizes])
        give = np.array([softened(*each) for each in zip(after, parts, give, p, strict=True)])
        rows = zip(self.laws, p, moved, after, give * self.sizes + self.compliance, strict=True)
        both = np.array([linear_row(*row) for row in rows]).reshape(-1, 2)
        return both[:, 0], both[:, 1], after, give

    def stiffened(self, A: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """A + Jᵀ K J, with K (n,) of each row."""
        for row, k in zip(self.carrier.J, stiffness, strict=True):
            A = A + sparse_product(row[:, None] * k, row[None])
        return A

    def push(self, p: np.ndarray) -> np.ndarray:
        """Jᵀ p."""
        return sparse_product(self.carrier.J.T, p)

    def missed(self, p: np.ndarray, u: np.ndarray) -> list[Any]:
        """Velocities by which rows miss their laws."""
        rows = zip(self.laws, self.sizes, self.sizes + self.compliance, p, u, strict=True)
        return [g * absolute(row_impulse(law, whole, v - g * x) - x) for law, g, whole, x, v in rows]
