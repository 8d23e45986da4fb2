"""A time step with rigid contact: half a drift, all impulses at once, half a drift.

    q½ = q ⊕ h/2 v,   (M + h D + h²/4 K) (v1 − v) = h f + Jᵀ p at q½,   q1 = q½ ⊕ h/2 v1

(Moreau 1988). Smooth motion is followed to second order, and v belongs to the same time as q. Impulses p put all
contacts, stops and dry friction on their laws together. A gap may close within the step and no more: u_n + gap/h ≥ 0
with the gap at q½, which then is never below zero, nor is its mean with the next one, that at q1.

Free bodies drift straight ahead in the world, with their velocities turned into the new axes, so that no force has to
bend their way; loose ones keep their angular momentum as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import algorithms
from dalembert.algorithms.gather import gathered
from dalembert.contact import ContactLaw
from dalembert.contact.rows import Rows as ContactRows
from dalembert.contact.rows import contact_rows
from dalembert.linear import (
    ANY,
    Carrier,
    ConstraintImpulses,
    Factor,
    Law,
    Moment,
    constraint_impulses,
    factor,
    is_zero,
    nonzeros,
    sparse_product,
)
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, maximum, repeat, sqrt, where

from ..elements.contact import Memory, RigidContact
from .accounts import Entry
from .drift import drifted, still
from .impulses import RECOVERED, Loops, opened, row_laws

if TYPE_CHECKING:
    from .system import Applied, System

ROUNDING = 1e-9  # of the energies that impulses exchange: a gain that is none
STILL = 1e-6  # [m/s]: a contact that slides more slowly before a step holds as one at rest


def contact_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s] with the system's contacts."""
    model, layout, element = system.model, system.layout, system.contact
    assert element is not None
    q_half, v = drifted(model, q, layout.velocity(e), 0.5 * h)
    applied = system.applied(t + 0.5 * h, q_half, layout.replaced(e, v), u)
    M, mass, kick = _kick(system, h, q_half, v, applied)
    z = layout.states(e)
    memory = element.memory(layout.by_element(z)[system.contact_number])
    touching = contact_rows(model, q_half, element.patches)
    step = _Impulses(system, element, t + 0.5 * h, h, q_half, v, z, M, mass, kick, touching)
    solution = step.solved(memory)
    v1 = v + mass.backward(mass.r * (step.kick + sparse_product(step.carrier.Y, solution.p)))
    q1, v_end = drifted(model, q_half, v1, 0.5 * h, step.displacement(mass))

    missed = 1.0 - solution.settled
    worst = maximum(memory.worst, solution.change)
    after = Memory(solution.p, solution.slip, solution.change, worst, memory.unsettled + missed, solution.passes)
    states = layout.by_element(z + h * system.state_rates(applied))
    states[system.contact_number] = after.flat()
    e1 = layout.replaced(e, v_end, np.concatenate(states))
    if layout.nw:
        e1 = layout.replaced(e1, accounts=layout.accounts(e) + step.work(applied, v1, solution.p))
    return q1, e1


def _kick(
    system: System, h: Any, q: np.ndarray, v: np.ndarray, applied: Applied
) -> tuple[np.ndarray, Factor, np.ndarray]:
    """The inertia, with damping and springs at the end of the step, its factor, and L⁻¹ h f of all other forces."""
    model = system.model
    damping = gathered(model, [b.joint.damping for b in model.bodies])
    stiffness = gathered(model, [b.joint.stiffness for b in model.bodies])
    undamped = model.without("damping")
    bias = algorithms.bias(undamped, q, still(model, v), applied.wrenches)
    M = algorithms.mass_matrix(model, q) + np.diag(h * damping + (0.25 * h * h) * stiffness)
    mass = factor(M, range(model.nv)[::-1])
    return M, mass, mass.forward(h * (applied.forces - bias - damping * v))


class _Impulses:
    """The problem of a step: columns Y = L⁻¹ Jᵀ, velocities without impulses, and laws, with loops eliminated."""

    def __init__(
        self,
        system: System,
        element: RigidContact,
        t: Any,
        h: Any,
        q: np.ndarray,
        v: np.ndarray,
        z: np.ndarray,
        M: np.ndarray,
        mass: Factor,
        kick: np.ndarray,
        touching: ContactRows,
    ) -> None:
        self.system, self.element, self.h, self.v, self.touching = system, element, h, v, touching
        always = system.permanent_count
        rows = system.constraint_rows(t, q, v, z)
        self.rows, self.switching = rows, slice(always, None)
        k = len(element.names)
        spins = touching.spin.reshape(k, 3, -1)
        moments = element.moments
        self.moment_rows = np.array([spins[i, axis] for i, axis in moments]).reshape(len(moments), system.model.nv)
        self.J = np.concatenate([touching.J, self.moment_rows, rows.J[always:]])
        self.before = np.concatenate(
            [sparse_product(np.concatenate([touching.J, self.moment_rows]), v), rows.rate(v)[always:]]
        )
        self.carrier, self.kick, self.closing = Carrier.bodies(M, mass, self.J), kick, np.zeros(system.model.nv)
        compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
        if always:
            loops = Loops(mass, rows.first(always), compliance[:always], h, system.rows_repeat)
            self.kick, self.closing = loops.kicked(kick, v, 0.5 * loops.rows.bias), loops.closing(0.125)
            self.carrier = Carrier.reduced(loops.freed(self.carrier.Y), mass.r)
        self.free = self.before + sparse_product(self.carrier.X.T, self.kick)
        self.mu = self._friction()
        levers = [(law.torsion, law.rolling, law.rolling) for law in element.laws]
        self.laws: list[Law | Moment] = [Moment(i, levers[i][axis]) for i, axis in moments]
        first = 3 * k + len(moments)
        self.laws += row_laws(system, rows, h, self.before[first:], self.free[first:])
        self.give = np.concatenate([np.zeros(len(moments)), compliance[always:] / (h * h)])

    def solved(self, memory: Memory) -> ConstraintImpulses:
        """All impulses. Where a rebound from several points at once would gain energy, it is as much as does not."""
        carrier, contact, start = self.carrier, self.element.contact, (memory.impulses, memory.slip)

        def impulses(bouncing: bool) -> ConstraintImpulses:
            c = self._shifted(bouncing)
            return constraint_impulses(carrier, c, self.mu, self.laws, start, contact.tolerance, self.give)

        solution = impulses(bouncing=True)
        if not any(law.restitution for law in self.element.laws):
            return solution

        def gain(p: np.ndarray) -> Any:
            mean = self.before + self.free + sparse_product(carrier.X.T, sparse_product(carrier.Y, p))
            return 0.5 * (p @ mean)

        def without_rebound(p: np.ndarray, slip: np.ndarray, change: Any, settled: Any, done: Any) -> dict[str, Any]:
            plain = impulses(bouncing=False)
            d = p - plain.p
            half = 0.5 * (d @ sparse_product(carrier.X.T, sparse_product(carrier.Y, d)))
            at_plain = gain(plain.p)
            slope, left = gain(p) - at_plain - half, maximum(-at_plain, 0.0)
            share = 2.0 * left / maximum(slope + sqrt(maximum(slope * slope + 4.0 * half * left, 0.0)), 1.0 / ANY)
            mixed = plain.p + clip(share, 0.0, 1.0) * d
            change = maximum(change, plain.change)
            return {"p": mixed, "slip": plain.slip, "change": change, "settled": settled * plain.settled, "done": 1.0}

        fine = where(gain(solution.p) <= ROUNDING * absolute(solution.p) @ absolute(self.before), 1.0, 0.0)
        p, slip, change, passes, settled = solution
        end = repeat(
            without_rebound, 1, {"p": p, "slip": slip, "change": change, "settled": settled, "done": fine}, "done"
        )
        return ConstraintImpulses(end["p"], end["slip"], end["change"], passes, end["settled"])

    def _shifted(self, bouncing: bool) -> np.ndarray:
        """Velocities without impulses; normals: what is open may close, what penetrates comes out slowly, what meets
        fast enough bounces."""
        contact, h, velocities = self.element.contact, self.h, self.free.copy()
        for i, (gap, law) in enumerate(zip(self.touching.gap, self.element.laws, strict=True)):
            before, free = self.before[3 * i], self.free[3 * i]
            out = maximum(RECOVERED * gap / h, -contact.recovery_speed)
            shift = where(gap > 0.0, gap / h, out)
            if bouncing and law.restitution:
                bounce = _bounce(law.restitution, h, gap, before, (free - before) / h)
                meets = logical_and(before < -contact.rest_speed, free + shift < 0.0)
                shift = where(logical_and(meets, bounce > 0.0), -bounce, shift)
            velocities[3 * i] = free + shift
        return velocities

    def _friction(self) -> list[Any]:
        """The coefficient of each contact: that of rest for one that did not slide before."""

        def coefficient(law: ContactLaw, slides: np.ndarray) -> Any:
            if law.static_friction == law.friction:
                return law.friction
            return where(slides @ slides < STILL * STILL, law.static_friction, law.friction)

        tangents = (self.before[3 * i + 1 : 3 * i + 3] for i in range(len(self.element.names)))
        return [coefficient(*each) for each in zip(self.element.laws, tangents, strict=True)]

    def displacement(self, mass: Factor) -> np.ndarray | None:
        """(nv,): closes loops, and brings coordinates back that are beyond their ends, without speed; None: none."""
        owners = self.system.row_owners[self.switching]
        out = self.closing
        for k, (owner, x) in enumerate(zip(owners, self.rows.coordinate[self.switching], strict=True), -len(owners)):
            column, back = self.carrier.Y[:, k], opened(owner.constraint.admissible, x)
            if not is_zero(back):
                size = maximum(sparse_product((column * mass.r)[None], column)[0], 1.0 / ANY)
                out = out + column * (RECOVERED * back / size)
        return mass.backward(mass.r * out) if nonzeros(out).any() else None

    def work(self, applied: Applied, v1: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The change of each account of the ledger in the step [J]: forces over it times the mean velocity."""
        system, h, model = self.system, self.h, self.system.model
        mean = 0.5 * (self.v + v1)
        rates = 0.5 * (self.before + (sparse_product(self.J, v1) - self._surface()))
        lost = -p * rates
        work = list(h * system.powers(self.v, mean, applied))
        names = {entry: k for k, entry in enumerate(system.entries)}
        for body in model.bodies:
            entry = Entry("heat", f"damping {body.joint.name}")
            if entry in names:
                work[names[entry]] = h * ((body.joint.damping * v1[body.v]) @ mean[body.v])
        first = len(p) - len(system.row_owners[self.switching])
        for k, owner in enumerate(system.row_owners[self.switching], first):
            entry = Entry("heat", "" if owner.element is None else system.labels[owner.element])
            if entry in names:
                work[names[entry]] = work[names[entry]] + lost[k]
        normals = np.arange(0, 3 * len(self.element.names), 3)
        work[names[Entry("heat", "contact impacts")]] = sum(lost[normals])
        others = [k for k in range(first) if k not in set(normals.tolist())]
        work[names[Entry("heat", "contact friction")]] = sum(lost[k] for k in others) if others else 0.0
        return np.array(work)

    def _surface(self) -> np.ndarray:
        """Speeds of surfaces that move by themselves, of all rows."""
        still_rows = np.zeros(len(self.J) - len(self.rows.surface[self.switching]))
        return np.concatenate([still_rows, self.rows.surface[self.switching]])


def _bounce(e: float, h: Any, gap: Any, speed: Any, acceleration: Any) -> Any:
    """The speed u1 of a normal after an impact within the step, or 0 where it does not come off the surface again.

    gap at q½, speed and acceleration without contact. With a constant acceleration a and the gap x = gap − h/2 speed at
    the start, impact and rebound give u1² − 2 a x1 = e² (speed² − 2 a x), where x1 = gap + h/2 u1 ends the step.
    """
    half = 0.5 * h * acceleration
    start = gap - 0.5 * h * speed
    square = half * half + 2.0 * acceleration * gap + e * e * (speed * speed - 2.0 * acceleration * start)
    return where(square > 0.0, half + sqrt(maximum(square, 0.0)), 0.0)
