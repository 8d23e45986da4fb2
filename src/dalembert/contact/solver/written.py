"""Few contacts and rows on a carrier, written out: impulses by contact, and in one row as the solver has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.linear.zeros import sparse_product

from .cold_start import impulses_from_rest
from .impulses import Carrier, Moment, constraint_impulses
from .iteration import ConstraintImpulses, numbers
from .row_laws import Law


class WrittenProblem:
    """Contacts and rows on a carrier as one problem, written out.

    c: velocities without impulses, in the order of `constraint_impulses`. at (k, 3 + m): numbers of the rows of each
    contact in that order, −1: it has no such moment; levers (k, m) [m]. anew: whether nothing is known of a step
    before. lift: what carries the coordinates of the carrier, where these are velocities of pairs of bodies.
    """

    def __init__(
        self,
        carrier: Carrier,
        c: np.ndarray,
        mu: Sequence[Any],
        at: np.ndarray,
        levers: np.ndarray,
        laws: Sequence[Law],
        give: np.ndarray,
        anew: bool = False,
        lift: np.ndarray | None = None,
    ) -> None:
        self.carrier, self.c, self.mu, self.at, self.anew, self.lift = carrier, c, mu, at, anew, lift
        moments = [(i, levers[i, j]) for i, j in np.argwhere(at[:, 3:] >= 0)]
        self.laws: list[Law | Moment] = [*(Moment(i, lever) for i, lever in moments), *laws]
        self.give = np.concatenate([np.zeros(len(moments)), give])

    def joined(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Impulses or velocities of contacts (k, 3 + m) and of rows in the order of the problem."""
        taken = self.at >= 0
        x = np.zeros(taken.sum(), object)
        x[self.at[taken]] = parts[0][taken]
        return numbers(np.concatenate([x, rows]))

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The reverse."""
        return [np.append(p, 0.0)[self.at]], p[np.sum(self.at >= 0) :]

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """Y p of all impulses, of what carries the carrier."""
        w = sparse_product(self.carrier.Y, p)
        return w if self.lift is None else sparse_product(self.lift, w)

    def responses(self, p: np.ndarray) -> np.ndarray:
        """G p: velocities that impulses make."""
        return sparse_product(self.carrier.X.T, sparse_product(self.carrier.Y, p))

    def impulses(self, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any) -> ConstraintImpulses:
        """All impulses on their laws, from (p, slip) on."""
        if self.anew:
            return impulses_from_rest(self.carrier, self.c, self.mu, tolerance, finer)
        return constraint_impulses(self.carrier, self.c, self.mu, self.laws, start, tolerance, self.give, finer)
