"""Forward dynamics by the shorter of two routes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.model import Model

from .aba import aba
from .coupled import MassSolver
from .rnea import bias

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
