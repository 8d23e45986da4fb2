"""A time step with rigid contact: half a drift, all impulses at once, half a drift.

    q½ = q ⊕ h/2 v,   (M + h D + h²/4 K) (v1 − v) = h f + Jᵀ p at q½,   q1 = q½ ⊕ h/2 v1

(Moreau 1988), with forces of inertia at the velocity in the middle of the kick. Smooth motion is followed to second
order, and v belongs to the same time as q. Impulses p put all contacts, stops and dry friction on their laws together.
A gap may close within the step and no more: u_n + gap/h ≥ 0 with the gap at q½, which then is never below zero, nor is
its mean with the next one, that at q1.

Free bodies drift straight ahead in the world, with their velocities turned into the new axes, so that no force has to
bend their way; loose ones keep their angular momentum as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.rows import contact_rows
from dalembert.linear import Law, Moment, constraint_impulses, impulses_from_rest, nonzeros, sparse_product

from ..elements.contact import Memory, RigidContact
from .contact_problem import (
    Bodies,
    ContactImpulses,
    Situated,
    Solved,
    friction_coefficient,
    normal_shift,
    recovered,
    rolling_velocity,
    was_stuck,
    without_gain,
)
from .drift import drifted
from .gathered_contacts import GatheredImpulses
from .scene_step import scene_step

if TYPE_CHECKING:
    from .system import System

MOST_HELD = 8  # contacts up to which holding all of them at once takes less time than the sweeps that it saves


def contact_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s] with the system's contacts."""
    model, layout, element = system.model, system.layout, system.contact
    assert element is not None
    if element.scene_room:
        return scene_step(system, t, h, q, e, u)
    q_half, v = drifted(model, q, layout.velocity(e), 0.5 * h)
    e_half = layout.replaced(e, v)
    applied = system.applied(t + 0.5 * h, q_half, e_half, u)
    bodies = Bodies(system, t + 0.5 * h, h, q_half, e_half, u)
    z = layout.states(e)
    memory = element.memory(layout.by_element(z)[system.contact_number])
    at = Situated(h, q_half, v, bodies, bodies.kick(q_half, v, applied), memory)
    step = (GatheredImpulses if element.slots else EachContact)(system, element, at)
    solved = step.solved()
    v1 = step.velocity(solved.w)
    q1, v_end = drifted(model, q_half, v1, 0.5 * h, step.displacement())

    states = layout.by_element(z + h * system.state_rates(applied))
    states[system.contact_number] = solved.memory.flat()
    e1 = layout.replaced(e, v_end, np.concatenate(states))
    if layout.nw:
        e1 = layout.replaced(e1, accounts=layout.accounts(e) + step.work(applied, v1, solved))
    return q1, e1


class EachContact(ContactImpulses):
    """Every candidate has its own place in the problem: columns Y = L⁻¹ Jᵀ, velocities without impulses, and laws."""

    def __init__(self, system: System, element: RigidContact, at: Situated) -> None:
        super().__init__(system, element, at)
        touching = contact_rows(system.model, at.q, element.patches)
        k, moments = len(element.names), element.moments
        spins = touching.spin.reshape(k, 3, -1)
        moment_rows = np.array([spins[i, axis] for i, axis in moments]).reshape(len(moments), system.model.nv)
        self.gap, self.contact_rows = touching.gap, np.concatenate([touching.J, moment_rows])
        self.all = self.bodies.carrier(np.concatenate([self.contact_rows, self.rows.J[self.switching]]))
        self.before = np.concatenate([sparse_product(self.contact_rows, self.v), self.row_before])
        self.free = self.before + sparse_product(self.all.X.T, self.kick)
        levers = [(law.torsion, law.rolling, law.rolling) for law in element.laws]
        self.laws: list[Law | Moment] = [Moment(i, levers[i][axis]) for i, axis in moments]
        self.laws += self.row_laws
        self.give = np.concatenate([np.zeros(len(moments)), self.row_give])
        memory, before, impulses = at.memory, self.before[: 3 * k].reshape(k, 3), at.memory.contacts.reshape(k, 3)
        stuck = [was_stuck(*each) for each in zip(impulses, memory.slip, strict=True)]
        motions = zip(before[:, 1:], impulses, memory.rolling.reshape(k, 2), stuck, strict=True)
        self.rolling = np.array([rolling_velocity(*each) for each in motions]).reshape(k, 2)
        self.mu = [friction_coefficient(*each) for each in zip(element.laws, before[:, 1:], stuck, strict=True)]

    def solved(self) -> Solved:
        """All impulses on their laws."""
        memory, tolerance = self.at.memory, self.element.contact.tolerance
        finer = self.finer_tolerance(self.before)
        anew = self._starts_anew()

        def impulses(bouncing: bool) -> Any:
            c = self._shifted(bouncing)
            if anew:
                return impulses_from_rest(self.all, c, self.mu, tolerance, finer)
            start = memory.impulses, memory.slip
            return constraint_impulses(self.all, c, self.mu, self.laws, start, tolerance, self.give, finer)

        def responded(p: np.ndarray) -> np.ndarray:
            return sparse_product(self.all.X.T, sparse_product(self.all.Y, p))

        if any(law.restitution for law in self.element.laws):
            solution = without_gain(impulses, self.before, self.free, responded)
        else:
            solution = impulses(True)
        w, n = sparse_product(self.all.Y, solution.p), len(self.contact_rows)
        p, turned, rows = np.split(solution.p, [3 * len(self.gap), n])
        impacts, friction, recovery = 0.0, 0.0, 0.0
        if self.system.layout.nw:
            mean = 0.5 * (self.before[:n] + sparse_product(self.contact_rows, self.velocity(w)))
            lost = -solution.p[:n] * mean
            normals = lost[: len(p) : 3]
            lifts = [recovered(heat, gap) for heat, gap in zip(normals, self.gap, strict=True)]
            impacts, friction, recovery = sum(normals) + sum(lifts), sum(lost) - sum(normals), sum(lifts)
        rolling = self.rolling.reshape(-1)
        after = Memory(p, turned, rows, solution.slip, rolling, np.zeros(0), *self.counts(solution))
        return Solved(w, after, impacts, friction, recovery)

    def _starts_anew(self) -> bool:
        """Whether nothing is known of a step before, and contacts alone, each on bodies of its own, are solved for."""
        bodies = [body for patch in self.element.patches for body in [patch.first] * len(patch.names)]
        alone = len(set(bodies)) == len(bodies) <= MOST_HELD and len(self.before) == 3 * len(bodies)
        return alone and not nonzeros(self.at.memory.impulses).any()

    def _shifted(self, bouncing: bool) -> np.ndarray:
        """Velocities without impulses, normals by what `normal_shift` adds."""
        velocities = self.free.copy()
        for i, (gap, law) in enumerate(zip(self.gap, self.element.laws, strict=True)):
            before, free = self.before[3 * i], self.free[3 * i]
            shift = normal_shift(self.element.contact, law, self.h, gap, before, free, bouncing)
            velocities[3 * i] = free + shift
            velocities[3 * i + 1 : 3 * i + 3] -= self.rolling[i]
        return velocities
