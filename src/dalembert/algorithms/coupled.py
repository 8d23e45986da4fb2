"""The equation of motion solved as a linear system, for short limbs and for joints that are coupled."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model

from .articulated import refuse_massless
from .crba import mass_matrix
from .factor import Factor, factor


class MassSolver:
    """M(q) = Lᵀ D L, factored from the tips to the base.

    In that order bodies of different limbs stay independent of each other (Featherstone 2008, §6.5), apart from limbs
    that coupled joints tie together.
    """

    def __init__(self, model: Model, q: np.ndarray) -> None:
        with np.errstate(invalid="ignore"):  # a coordinate that moves no mass is refused below
            self._reversed: Factor = factor(mass_matrix(model, q)[::-1, ::-1])
        for body in model.independent:
            for r in self._reversed.r[::-1][body.v]:
                refuse_massless(r, body.joint)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """M⁻¹ b for b (nv,) or (nv, m)."""
        return self._reversed.solve(b[::-1])[::-1]
