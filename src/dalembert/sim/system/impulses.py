"""A step under constraints that come and go, without events: impulses that put every row on its law at the end.

v1 = v + M⁻¹ (h f + Jᵀ p), and the rates J v1 at the end of the step go with the impulses p as the admissible sets say
(Moreau 1988): a stop may be reached within the step and not passed, friction holds while the impulse that this takes is
small enough. Rows that always hold are eliminated first, so that closed loops stay exact. Order 1 in the step: when
something happens within a step is not resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.solver import ANY, Carrier, DryFriction, Law, constraint_impulses, row_impulse, with_dry_friction
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.forward_dynamics import MassSolver
from dalembert.linear import Factor, SharingFactor, factor_semidefinite, gram, is_zero, nonzeros, sparse_product
from dalembert.math import maximum

if TYPE_CHECKING:
    from .constraints import Admissible, Rows
    from .system import System

RECOVERED = 0.2  # share of what a coordinate is beyond its set that a step takes back


class Loops:
    """Rows that always hold, eliminated: the others then move only what these let move.

    compliance (n,): of each; repeated: whether rows follow from others (`System.rows_repeat`).
    """

    def __init__(self, mass: Factor, rows: Rows, compliance: np.ndarray, h: Any, repeated: bool) -> None:
        self.h, self.rows, self.Y = h, rows, mass.forward(rows.J.T)
        self.X = (self.Y.T * mass.r).T
        self.rigid = (compliance == 0.0).astype(float)
        A = gram(self.Y, mass.r) + np.diag(compliance / (h * h))
        self.factor = SharingFactor(A) if repeated else factor_semidefinite(A)

    def kicked(self, kick: np.ndarray, v: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """A kick (m,) = L⁻¹ h f at velocities v, with the impulses of the loops; bias (n,): lost of their rates."""
        ends = -self.h * bias - (1.0 - self.rigid) * self.rows.coordinate / self.h
        return kick + self._response(ends - self.rows.rate(v) - sparse_product(self.X.T, kick))

    def freed(self, Y: np.ndarray) -> np.ndarray:
        """Columns Y (m, k) = L⁻¹ Jᵀ of other rows, without what the loops hold."""
        return Y - self._response(sparse_product(self.X.T, Y))

    def closing(self, ahead: float) -> np.ndarray:
        """(m,): what closes the loops, as a displacement; ahead: the share of h² bias that the step has made."""
        return self._response(self.rigid * (ahead * self.h * self.h * self.rows.bias - self.rows.coordinate))

    def _response(self, x: np.ndarray) -> np.ndarray:
        return sparse_product(self.Y, self.factor.solve(x))


def impulsive_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Displacement (nv,) and e after a step h: see `System.kicked`, which it extends to rows that come and go."""
    layout, applied = system.layout, system.applied(t, q, e, u)
    v, z, always = layout.velocity(e), layout.states(e), system.permanent_count
    rows = system.constraint_rows(t, q, v, z)
    M, mass = algorithms.mass_matrix(system.model, q), MassSolver(system.model, q).factor
    impulse = h * (applied.forces - algorithms.bias(system.model, q, v, applied.wrenches))
    kick = mass.forward(impulse)
    compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
    carrier, closing = Carrier.bodies(M, mass, rows.J[always:]), np.zeros(len(v))
    if always:
        loops = Loops(mass, rows.first(always), compliance[:always], h, system.rows_repeat)
        kick = loops.kicked(kick, v, loops.rows.bias * (0.5 + 0.5 * loops.rigid))
        carrier, closing = Carrier.reduced(loops.freed(carrier.Y), mass.r), loops.closing(0.5)

    rates = rows.rate(v)[always:]
    free = rates + sparse_product(carrier.X.T, kick)
    laws = row_laws(system, rows, h, rates, free)
    sets = [owner.constraint.admissible for owner in system.row_owners[always:]]
    beyond = np.array([opened(each, x) for each, x in zip(sets, rows.coordinate[always:], strict=True)])
    z1 = system.next_states(h, e, applied)
    plain = not (always or compliance.any() or nonzeros(beyond).any())
    if plain and (frictions := _joint_frictions(rows, laws)):
        v1 = with_dry_friction(M, sparse_product(M, v) + impulse, v, frictions)
        return h * v1, layout.replaced(e, v1, z1)
    sizes = np.array([x @ y for x, y in zip(carrier.X.T, carrier.Y.T, strict=True)])
    alone = [row_impulse(law, g, rate) for law, g, rate in zip(laws, sizes, rates, strict=True)]
    start = np.array(alone), np.zeros(0)
    p = constraint_impulses(carrier, free, (), laws, start, give=compliance[always:] / (h * h)).p

    v1 = v + mass.backward(mass.r * (kick + sparse_product(carrier.Y, p)))
    out = RECOVERED * beyond / np.array([maximum(x, 1.0 / ANY) for x in sizes])
    d = h * v1 + mass.backward(mass.r * (closing + sparse_product(carrier.Y, out)))
    return d, layout.replaced(e, v1, z1)


def _joint_frictions(rows: Rows, laws: list[Law]) -> dict[int, DryFriction] | None:
    """Dry friction by coordinate, if that is what all rows are, each of a coordinate of its own; else None."""
    frictions: dict[int, DryFriction] = {}
    for law, J, surface in zip(laws, rows.J, rows.surface, strict=True):
        places = np.flatnonzero(nonzeros(J)).tolist()
        pinned = is_zero(law.low) and is_zero(law.high)
        if len(places) != 1 or not pinned or places[0] in frictions or not is_zero(J[places[0]] - 1.0):
            return None
        frictions[places[0]] = DryFriction(law.most, surface)
    return frictions


def row_laws(system: System, rows: Rows, h: Any, rates: np.ndarray, free: np.ndarray) -> list[Law]:
    """The laws of rows that come and go, with their rates before a step, and after it if none of them acted."""
    always = system.permanent_count
    owners = [owner.constraint for owner in system.row_owners[always:]]
    numbers = zip(owners, rows.coordinate[always:], rates, rows.bias[always:], free, strict=True)
    return [owner.admissible.law(h, x, rate, bias, end, owner.impact) for owner, x, rate, bias, end in numbers]


def opened(admissible: Admissible, coordinate: Any) -> Any:
    """How far a coordinate is beyond an end of its set, back towards it; it goes back without gaining speed."""
    below = maximum(admissible.lower - coordinate, 0.0) if np.isfinite(admissible.lower) else 0.0
    above = maximum(coordinate - admissible.upper, 0.0) if np.isfinite(admissible.upper) else 0.0
    return below - above
