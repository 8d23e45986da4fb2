"""The equation of motion solved as a linear system, for short limbs and for joints that are coupled."""

from __future__ import annotations

import numpy as np

from dalembert.linear import Factor, factor
from dalembert.model import Model

from .articulated import refuse_massless
from .crba import mass_matrix


class MassSolver:
    """M(q) = Lᵀ D L, factored from the tips to the base.

    In that order bodies of different limbs stay independent of each other (Featherstone 2008, §6.5), apart from limbs
    that coupled joints tie together.
    """

    def __init__(self, model: Model, q: np.ndarray) -> None:
        with np.errstate(invalid="ignore"):  # a coordinate that moves no mass is refused below
            self.factor: Factor = factor(mass_matrix(model, q), range(model.nv)[::-1])
        for body in model.independent:
            for r in self.factor.r[body.v]:
                refuse_massless(r, body.joint)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """M⁻¹ b for b (nv,) or (nv, m)."""
        return self.factor.solve(b)
