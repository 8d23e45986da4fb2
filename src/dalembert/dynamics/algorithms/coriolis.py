"""The Coriolis operator of moving bodies, and the Coriolis matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.spatial import cross, so3

from .mass import Mass


class Coriolis(NamedTuple):
    """The operator 2B = (V ×*) I − I (V ×) + (· ×* I V) of bodies with inertias I and twists V, summed.

    For particles dm at r with velocity u, 2B [s; t] = 2 ∫[r × (s × u); s × u] dm = [K s; s × p]: it does not see t.
    K = 2 (tr U 1 − U) with U = ∫u rᵀ dm, and p = 2 ∫u dm; at one origin, in one set of axes.
    """

    K: np.ndarray  # (3, 3)
    p: np.ndarray  # (3,)

    @staticmethod
    def of(mass: Mass, V: np.ndarray) -> Coriolis:
        """The Coriolis matrix of one body with twist V (6,)."""
        w, v = V[:3], V[3:]
        U = np.outer(v, mass.h) + so3.skew(w) @ mass.P
        return Coriolis(2.0 * (np.trace(U) * np.eye(3) - U), 2.0 * (mass.m * v + cross(w, mass.h)))

    def plus(self, other: Coriolis) -> Coriolis:
        """The sum of both."""
        return Coriolis(self.K + other.K, self.p + other.p)

    def times(self, S: np.ndarray) -> np.ndarray:
        """2B S (6,) for a motion vector S (6,)."""
        return np.concatenate([self.K @ S[:3], cross(S[:3], self.p)])

    def transposed_times(self, S: np.ndarray) -> np.ndarray:
        """(2B)ᵀ S (6,): its linear part is zero."""
        return np.concatenate([self.K.T @ S[:3] + cross(self.p, S[3:]), np.zeros(3)])
