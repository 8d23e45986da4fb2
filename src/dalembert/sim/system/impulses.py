"""A step under constraints that come and go, without events: impulses that put every row on its law at the end.

v1 = v + M⁻¹ (h f + Jᵀ p), and the rates J v1 at the end of the step go with the impulses p as the admissible sets say
(Moreau 1988): a stop may be reached within the step and not passed, friction holds while the impulse that this takes is
small enough. Rows that always hold are eliminated first, so that closed loops stay exact. Order 1 in the step: when
something happens within a step is not resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import algorithms
from dalembert.algorithms.coupled import MassSolver
from dalembert.linear import (
    ANY,
    DenseResponse,
    Response,
    SparseResponse,
    factor_semidefinite,
    gram,
    row_impulses,
    sparse_product,
)
from dalembert.math import maximum

if TYPE_CHECKING:
    from .constraints import Admissible
    from .system import System

RECOVERED = 0.2  # share of what a coordinate is beyond its set that a step takes back


def impulsive_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Displacement (nv,) and e after a step h: see `System.kicked`, which it extends to rows that come and go."""
    layout, applied = system.layout, system.applied(t, q, e, u)
    v, z, always = layout.velocity(e), layout.states(e), system.permanent_count
    rows = system.constraint_rows(t, q, v, z)
    mass = MassSolver(system.model, q).factor
    Y = mass.forward(rows.J.T)
    kick = mass.forward(h * (applied.forces - algorithms.bias(system.model, q, v, applied.wrenches)))
    compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
    G = gram(Y, mass.r) + np.diag(compliance / (h * h))
    rates = rows.rate(v)
    unhindered = rates + sparse_product(Y.T, mass.r * kick)
    B, N = slice(None, always), slice(always, None)

    loops = factor_semidefinite(G[B, B])
    rigid = np.array([not owner.constraint.compliance for owner in system.row_owners[B]], float)
    ends = -rows.bias[B] * h * (0.5 + 0.5 * rigid) - (1.0 - rigid) * rows.coordinate[B] / h
    alone = loops.solve(ends - unhindered[B])
    felt = loops.solve(G[B, N])
    free = unhindered[N] + sparse_product(G[N, B], alone)
    owners = system.row_owners[N]
    numbers = zip(rows.coordinate[N], rates[N], rows.bias[N], free, strict=True)
    laws = [
        owner.constraint.admissible.law(h, coordinate, rate, bias, end, owner.constraint.impact)
        for owner, (coordinate, rate, bias, end) in zip(owners, numbers, strict=True)
    ]
    between = G[N, N] - sparse_product(G[N, B], felt)
    response: Response = DenseResponse(between, free)
    if not always and not compliance.any():
        response = SparseResponse(algorithms.mass_matrix(system.model, q), mass, rows.J, free, np.diag(G))
    pushes = row_impulses(response, laws).p
    p = np.concatenate([alone - sparse_product(felt, pushes), pushes])

    v1 = v + mass.backward(mass.r * (kick + sparse_product(Y, p)))
    beyond = np.array([opened(o.constraint.admissible, x) for o, x in zip(owners, rows.coordinate[N], strict=True)])
    out = RECOVERED * beyond / np.array([maximum(x, 1.0 / ANY) for x in np.diag(between)])
    closed = loops.solve(rigid * (0.5 * h * h * rows.bias[B] - rows.coordinate[B]))
    back = sparse_product(Y, np.concatenate([closed - sparse_product(felt, out), out]))
    d = h * v1 + mass.backward(mass.r * back)
    return d, layout.replaced(e, v1, system.next_states(h, e, applied))


def opened(admissible: Admissible, coordinate: Any) -> Any:
    """How far a coordinate is beyond an end of its set, back towards it; it goes back without gaining speed."""
    below = maximum(admissible.lower - coordinate, 0.0) if np.isfinite(admissible.lower) else 0.0
    above = maximum(coordinate - admissible.upper, 0.0) if np.isfinite(admissible.upper) else 0.0
    return below - above
