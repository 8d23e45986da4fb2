"""Carriers of contacts and rows: how impulses move them; rows with their laws; one contact beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.order import elimination_order
from dalembert.linear.symmetric import Factor, factor
from dalembert.linear.zeros import nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import maximum, where

from .cones import TINY, contact_impulse, missed_law, slip_where_sliding
from .iteration import Problem, Yielding, numbers
from .row_laws import Law, moment_law, row_impulse, yielding_row

RIGID = 1e-6  # of what moves a coordinate: what moves it at least, beside others that it cannot move apart from

FAR_LESS = 1e-3  # of what its own solution would change: an error of a contact that is at another solution


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

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> tuple[np.ndarray, np.ndarray]:
        """Impulses (n,) where the laws give way, and K = −dp/du (n,) of each."""
        rows = zip(self.laws, held, u, give * self.sizes, self.compliance, strict=True)
        both = np.array([yielding_row(*row) for row in rows]).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def stiffened(self, A: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """A + Jᵀ K J, with K (n,) of each row."""
        for row, k in zip(self.carrier.J, stiffness, strict=True):
            A = A + sparse_product(row[:, None] * k, row[None])
        return A

    def push(self, p: np.ndarray) -> np.ndarray:
        """Jᵀ p."""
        return sparse_product(self.carrier.J.T, p)

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, list[Any]]:
        """The impulse of each row alone, with the others as they are, and what these change."""
        sizes = zip(self.laws, self.sizes, self.sizes + self.compliance, p, u, strict=True)
        new = [row_impulse(law, whole, v - g * x) for law, g, whole, x, v in sizes]
        return np.array(new), [g * absolute(a - b) for g, a, b in zip(self.sizes, new, p, strict=True)]


class RowProblem(Problem):
    """Rows alone."""

    with_contacts = False

    def __init__(self, rows: Rows) -> None:
        self.rows, self.M, self.scale_of, self.sizes = rows, rows.carrier.M, rows.c, rows.sizes

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w = Y p of all rows."""
        return sparse_product(self.rows.carrier.Y, p)

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """u = c + Xᵀ w of all rows."""
        return self.rows.velocities(w)

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all rows."""
        return sparse_product(self.rows.carrier.J, x)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each row in turn."""
        p, w, changes = self.rows.swept(p, w)
        return numbers(p), slip, numbers(w), reduce(maximum, changes)

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u."""
        p, stiffness = self.rows.yielding(held, u, give)
        return Yielding(numbers(p), self.rows.stiffened(self.M, stiffness), self.rows.push(p - held))

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""
        p, _ = self.rows.yielding(held, u, give)
        return numbers(p), du @ (p - held)

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses of each row alone, with the others as they are, and what they change."""
        new, changes = self.rows.chosen(p, u)
        return numbers(new), np.zeros(0), reduce(maximum, changes)

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b."""
        return factor(A, elimination_order(nonzeros(A))).solve(b)


def chosen_contact(
    block: Any, mu: Any, levers: np.ndarray, sizes: np.ndarray, p: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, Any, Any]:
    """Impulses (3 + m,) of a contact and its moments alone, its slip, and the velocity that the change of it makes.

    Where friction jams, a contact alone may have several solutions: one that is on its law stays there.
    """
    slides = slip_where_sliding(mu, p, u)
    new, slip, moved = contact_impulse(block, mu, u[:3] - block.W @ p[:3], slides)
    missed = missed_law(sizes[:3], mu, p[:3], u[:3])
    stays = missed < FAR_LESS * reduce(maximum, sizes[:3] * absolute(new - p[:3]), moved)
    new, slip, moved = where(stays, p[:3], new), where(stays, slides, slip), where(stays, missed, moved)
    turns = zip(levers, sizes[3:], p[3:], u[3:], strict=True)
    turned = [row_impulse(moment_law(lever, new[0]), g, v - g * x) for lever, g, x, v in turns]
    return np.array([*new, *turned]), slip, moved
