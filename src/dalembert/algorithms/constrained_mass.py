"""How constraint rows resist: J M⁻¹ Jᵀ, assembled and factored along the tree."""

from __future__ import annotations

import numpy as np

from dalembert.linear import Factor, SharingFactor, factor_semidefinite, gram, sparse_product
from dalembert.model import Model

from .coupled import MassSolver


class ConstrainedMass:
    """Forces λ along rows J (nr, nv), and the accelerations M⁻¹ Jᵀ λ that they cause.

    With M = L D Lᵀ, tips first, and half a solve Y = L⁻¹ Jᵀ, J M⁻¹ Jᵀ = Yᵀ D⁻¹ Y: rows on different limbs or bodies
    share no entry of Y, and stay apart. `on` (nr,): 1 where a row is active, 0 where it exerts no force. repeated:
    whether rows follow from others wherever the loops are closed (`rows_repeat`); they then share the force, the least
    that does it. Otherwise a row that others imply exerts none.
    """

    def __init__(
        self, model: Model, q: np.ndarray, J: np.ndarray, on: np.ndarray | None = None, repeated: bool = False
    ) -> None:
        self.mass: Factor = MassSolver(model, q).factor
        self.on, self._Y = on, self.mass.forward(J.T)
        G = gram(self._Y, self.mass.r)
        A = G if on is None else G * np.outer(on, on) + np.diag(1.0 - on)
        self._rows = SharingFactor(A) if repeated else factor_semidefinite(A)

    def forces(self, goal: np.ndarray) -> np.ndarray:
        """λ (nr,) with J M⁻¹ Jᵀ λ = goal on the active rows, goal (nr,) or (nr, m)."""
        if self.on is None:
            return self._rows.solve(goal)
        return (self.on * self._rows.solve((self.on * goal.T).T).T).T

    def response(self, forces: np.ndarray) -> np.ndarray:
        """M⁻¹ Jᵀ λ (nv,) for λ (nr,)."""
        return self.mass.backward(self.mass.r * sparse_product(self._Y, forces))

    def accelerated(self, f: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a (nv,) and λ (nr,) with M a = f + Jᵀ λ and J a = goal on the active rows."""
        z = self.mass.forward(f)
        forces = self.forces(goal - sparse_product(self._Y.T, self.mass.r * z))
        return self.mass.backward(self.mass.r * (z + sparse_product(self._Y, forces))), forces
