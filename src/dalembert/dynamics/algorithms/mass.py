"""Moments of mass: the inertia of a body, kept in the form that takes the fewest operations to move and to use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.spatial import Inertia, Pose, cross, so3

from .tensors import mirror, rotate_symmetric


class Mass(NamedTuple):
    """Moments of the mass of a body about its origin, in its axes: ∫dm, ∫r dm, ∫r rᵀ dm.

    m [kg]; h (3,) [kg·m]; P (3, 3) [kg·m²], symmetric. The rotational inertia is I = tr(P) 1 − P; P moves and turns
    with fewer operations than I, and a mass at the origin or on an axis has only zeros beside it.
    """

    m: Any
    h: np.ndarray
    P: np.ndarray

    @staticmethod
    def of(inertia: Inertia) -> Mass:
        """The moments of an inertia."""
        return Mass(inertia.mass, inertia.moment, 0.5 * np.trace(inertia.I) * np.eye(3) - inertia.I)

    def plus(self, other: Mass) -> Mass:
        """Two bodies moving as one, both in the same frame."""
        return Mass(self.m + other.m, self.h + other.h, self.P + other.P)

    def minus(self, other: Mass) -> Mass:
        """The moments without those of `other`."""
        return Mass(self.m - other.m, self.h - other.h, self.P - other.P)

    def seen_from(self, X_AB: Pose) -> Mass:
        """The same body seen from A, when these are its moments in B.   P_A = R P Rᵀ + p gᵀ + g pᵀ, g = R h + ½ m p"""
        R, p = X_AB.R, X_AB.p
        h = R @ self.h
        pg = np.outer(p, h + 0.5 * self.m * p)
        return Mass(self.m, h + self.m * p, mirror(rotate_symmetric(R, self.P) + pg + pg.T))

    def wrench(self, a: np.ndarray, E: np.ndarray) -> np.ndarray:
        """The wrench [n; f] (6,) at the origin that accelerates every point r of the body by a + E r.

        f = ∫(a + E r) dm = m a + E h and n = ∫r × (a + E r) dm = h × a + ∫r × E r dm.
        """
        return np.concatenate([cross(self.h, a) + _moment(E, self.P), self.m * a + E @ self.h])

    def momentum(self, V: np.ndarray) -> np.ndarray:
        """Momentum [n; f] (6,) at the twist V (6,), at the origin."""
        return self.wrench(V[3:], so3.skew(V[:3]))

    def inertia(self) -> Inertia:
        """The same, as mass, first moment and rotational inertia."""
        return Inertia(self.m, self.h, np.trace(self.P) * np.eye(3) - self.P)


def _moment(E: np.ndarray, P: np.ndarray) -> np.ndarray:
    """∫r × E r dm (3,): the antisymmetric part of N = E P, with products that share a factor taken together."""
    d = np.diag(E)
    N = (E - np.diag(d)) @ P
    return np.array([N[k, j] - N[j, k] + (d[k] - d[j]) * P[j, k] for j, k in ((1, 2), (2, 0), (0, 1))])
