"""Forward dynamics by the shorter of two routes: the articulated bodies, or the mass matrix, factored."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.linear import Factor, factor
from dalembert.model import Model

from .aba import aba
from .articulated import refuse_massless
from .crba import mass_matrix
from .rnea import bias


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


SHORT = 8  # freedoms from a tip to the base: up to here M and its factors take fewer operations, one after the other


def forward_dynamics(
    model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> np.ndarray:
    """a (nv,) = M(q)⁻¹ (tau − C(q, v) v − g(q) − passive(q, v) + Σ Jᵢᵀ Fᵢ).

    q (nq,), v (nv,), tau (nv,) [N·m or N]; external: body index → wrench [τ; f] (6,) on that body, at its origin, in
    its axes [N·m, N]. M is made and factored where limbs are short (a six-joint arm takes a tenth fewer operations so,
    and chains of dependent ones a third shorter) and where joints are coupled; else articulated bodies are passed on.
    """
    if model.coupled or longest_way(model) <= SHORT:
        return MassSolver(model, q).solve(tau - bias(model, q, v, external))
    return aba(model, q, v, tau, external)


def longest_way(model: Model) -> int:
    """Freedoms on the way from a tip to the base, at most."""
    ways: list[int] = []
    for body in model.bodies:
        ways.append(body.joint.nv + (ways[body.parent] if body.parent >= 0 else 0))
    return max(ways, default=0)
