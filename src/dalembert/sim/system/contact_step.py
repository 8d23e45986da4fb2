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

from functools import reduce
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
    Law,
    Moment,
    constraint_impulses,
    factor,
    is_zero,
    nonzeros,
    sparse_product,
)
from dalembert.linear.cones import TINY
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_or, maximum, repeat, sqrt, where

from ..elements.contact import Memory, RigidContact
from .accounts import CONTACT_FRICTION, CONTACT_IMPACTS, CONTACT_RECOVERY, Entry
from .drift import drifted, still
from .impulses import RECOVERED, Loops, opened, row_laws

if TYPE_CHECKING:
    from .system import Applied, System

ROUNDING = 1e-9  # of the energies that impulses exchange: a gain that is none
ALIKE = 1e-3  # of the fastest contact: an error of velocities that is small beside it
FINEST = 1e-4  # of the tolerance: the least that is asked for, of bodies at rest
STILL = 1e-6  # [m/s]: a contact that slides more slowly before a step holds as one at rest


def contact_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s] with the system's contacts."""
    model, layout, element = system.model, system.layout, system.contact
    assert element is not None
    q_half, v = drifted(model, q, layout.velocity(e), 0.5 * h)
    e_half = layout.replaced(e, v)
    applied = system.applied(t + 0.5 * h, q_half, e_half, u)
    bodies = _Bodies(system, t + 0.5 * h, h, q_half, e_half, u)
    z = layout.states(e)
    memory = element.memory(layout.by_element(z)[system.contact_number])
    touching = contact_rows(model, q_half, element.patches)
    step = _Impulses(system, element, h, v, bodies, bodies.kick(q_half, v, applied), touching, memory)
    solution = step.solved()
    v1 = v + bodies.change(step.kick + sparse_product(step.carrier.Y, solution.p))
    q1, v_end = drifted(model, q_half, v1, 0.5 * h, step.displacement())

    p, slip, change, passes, settled = solution
    rolling, worst, unsettled = (
        step.rolling.reshape(-1),
        maximum(memory.worst, change),
        memory.unsettled + 1.0 - settled,
    )
    after = Memory(p, slip, rolling, change, worst, unsettled, passes)
    states = layout.by_element(z + h * system.state_rates(applied))
    states[system.contact_number] = after.flat()
    e1 = layout.replaced(e, v_end, np.concatenate(states))
    if layout.nw:
        e1 = layout.replaced(e1, accounts=layout.accounts(e) + step.work(applied, v1, p))
    return q1, e1


class _Bodies:
    """What impulses move, at the middle of a step: inertia with damping, springs and servos at its end, and loops.

    servos: what servos add to forces and inertia, or None; rows: of all constraints; loops: those that always hold.
    """

    def __init__(self, system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> None:
        self.model, self.h, model = system.model, h, system.model
        self.damping = gathered(model, [b.joint.damping for b in model.bodies])
        stiffness = gathered(model, [b.joint.stiffness for b in model.bodies])
        self.M = algorithms.mass_matrix(model, q) + np.diag(h * self.damping + (0.25 * h * h) * stiffness)
        self.servos = system.servo_step(t, h, q, e, u, self.M)
        if self.servos is not None:
            self.M = self.M + self.servos.inertia
        self.mass = factor(self.M, range(model.nv)[::-1])
        v, z, always = system.layout.velocity(e), system.layout.states(e), system.permanent_count
        self.rows = system.constraint_rows(t, q, v, z)
        self.compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
        self.loops: Loops | None = None
        if always:
            self.loops = Loops(self.mass, self.rows.first(always), self.compliance[:always], h, system.rows_repeat)

    def kick(self, q: np.ndarray, v: np.ndarray, applied: Applied) -> np.ndarray:
        """L⁻¹ h f of all forces but impulses, with those of loops; forces of inertia at the velocity of the middle.

        They are c(v + δ) − c(δ), to second order, with half the change δ that the kick alone makes: at rest there are
        none, whatever the impulses take back of that change.
        """
        model, forces = self.model, applied.forces
        if self.servos is not None:
            forces = forces + self.servos.force

        def kicked(velocity: np.ndarray, less: Any) -> np.ndarray:
            bias = algorithms.bias(model.without("damping"), q, still(model, velocity), applied.wrenches) - less
            kick = self.mass.forward(self.h * (forces - bias - self.damping * v))
            return kick if self.loops is None else self.loops.kicked(kick, v, 0.5 * self.loops.rows.bias)

        half, bare = 0.5 * self.change(kicked(v, 0.0)), model.without("damping", "friction", "springs")
        alone = algorithms.rnea(bare, q, still(model, half), np.zeros(model.nv), gravity=np.zeros(3))
        return kicked(v + half, alone)

    def change(self, kick: np.ndarray) -> np.ndarray:
        """The change of velocities (nv,) that a kick makes."""
        return self.mass.backward(self.mass.r * kick)

    def carrier(self, J: np.ndarray) -> Carrier:
        """How impulses along rows J (n, nv) move them."""
        carrier = Carrier.bodies(self.M, self.mass, J)
        return carrier if self.loops is None else Carrier.reduced(self.loops.freed(carrier.Y), self.mass.r)


class _Impulses:
    """The problem of a step: columns Y = L⁻¹ Jᵀ, velocities without impulses, and laws, with loops eliminated."""

    def __init__(
        self,
        system: System,
        element: RigidContact,
        h: Any,
        v: np.ndarray,
        bodies: _Bodies,
        kick: np.ndarray,
        touching: ContactRows,
        memory: Memory,
    ) -> None:
        self.start = memory.impulses, memory.slip
        self.system, self.element, self.h, self.v, self.touching = system, element, h, v, touching
        self.bodies, self.kick, rows, always = bodies, kick, bodies.rows, system.permanent_count
        self.rows, self.switching = rows, slice(always, None)
        k = len(element.names)
        spins = touching.spin.reshape(k, 3, -1)
        moments = element.moments
        self.moment_rows = np.array([spins[i, axis] for i, axis in moments]).reshape(len(moments), system.model.nv)
        self.J = np.concatenate([touching.J, self.moment_rows, rows.J[always:]])
        self.before = np.concatenate(
            [sparse_product(np.concatenate([touching.J, self.moment_rows]), v), rows.rate(v)[always:]]
        )
        self.carrier = bodies.carrier(self.J)
        self.free = self.before + sparse_product(self.carrier.X.T, self.kick)
        self.stuck = [_stuck(memory, i) for i in range(k)]
        self.rolling = np.array([self._rolling(memory, i) for i in range(k)]).reshape(k, 2)
        self.mu = self._friction()
        levers = [(law.torsion, law.rolling, law.rolling) for law in element.laws]
        self.laws: list[Law | Moment] = [Moment(i, levers[i][axis]) for i, axis in moments]
        first = 3 * k + len(moments)
        self.laws += row_laws(system, rows, h, self.before[first:], self.free[first:])
        self.give = np.concatenate([np.zeros(len(moments)), bodies.compliance[always:] / (h * h)])

    def solved(self) -> ConstraintImpulses:
        """All impulses. Where a rebound from several points at once would gain energy, it is as much as does not."""
        carrier, start = self.carrier, self.start
        tolerance = self._tolerance()

        def impulses(bouncing: bool) -> ConstraintImpulses:
            c = self._shifted(bouncing)
            return constraint_impulses(carrier, c, self.mu, self.laws, start, tolerance, self.give)

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

    def _tolerance(self) -> Any:
        """The error of velocities at which passes end: finer where all is nearly at rest, so that it comes to rest.

        Not beside stops and dry friction of joints, which would take many passes for it.
        """
        tolerance = self.element.contact.tolerance
        if self.system.row_owners[self.switching]:
            return tolerance
        motion = reduce(maximum, [absolute(x) for x in self.before])
        return clip(ALIKE * motion, FINEST * tolerance, tolerance)

    def _shifted(self, bouncing: bool) -> np.ndarray:
        """Velocities without impulses; normals: what is open may close, what penetrates comes out slowly, what meets
        fast enough bounces. Gaps that the tolerance cannot tell from none are none: closing them would shake bodies at
        rest by as much as the last step's error."""
        contact, h, velocities = self.element.contact, self.h, self.free.copy()
        for i, (gap, law) in enumerate(zip(self.touching.gap, self.element.laws, strict=True)):
            before, free = self.before[3 * i], self.free[3 * i]
            out = maximum(RECOVERED * gap / h, -contact.recovery_speed)
            shift = where(absolute(gap) < contact.tolerance * h, 0.0, where(gap > 0.0, gap / h, out))
            if bouncing and law.restitution:
                bounce = _bounce(law.restitution, h, gap, before, (free - before) / h)
                meets = logical_and(before < -contact.rest_speed, free + shift < 0.0)
                shift = where(logical_and(meets, bounce > 0.0), -bounce, shift)
            velocities[3 * i] = free + shift
            velocities[3 * i + 1 : 3 * i + 3] -= self.rolling[i]
        return velocities

    def _rolling(self, memory: Memory, i: int) -> np.ndarray:
        """The velocity (2,) along its tangents at which a contact holds: not 0 where it sticks and rolls.

        The point wanders over the surfaces, and the velocity of what is there changes within a drift from that after
        the step before to `before`. Held at minus half of the change, it is at rest in the mean, and friction does no
        work, to second order. Where it still would put in some, against the force of the step before, it does none.
        """
        tangents = slice(3 * i + 1, 3 * i + 3)
        before, p = self.before[tangents], memory.impulses[tangents]
        mean = 0.5 * (memory.rolling[2 * i : 2 * i + 2] + before)
        mean = mean - p * (maximum(p @ mean, 0.0) / (p @ p + TINY))
        return where(self.stuck[i], mean - before, 0.0)

    def _friction(self) -> list[Any]:
        """The coefficient of each contact: that of rest for one that did not slide before."""

        def coefficient(law: ContactLaw, slides: np.ndarray, stuck: Any) -> Any:
            if law.static_friction == law.friction:
                return law.friction
            rests = logical_or(stuck, slides @ slides < STILL * STILL)
            return where(rests, law.static_friction, law.friction)

        tangents = (self.before[3 * i + 1 : 3 * i + 3] for i in range(len(self.element.names)))
        return [coefficient(*each) for each in zip(self.element.laws, tangents, self.stuck, strict=True)]

    def displacement(self) -> np.ndarray | None:
        """(nv,): closes loops, and brings coordinates back that are beyond their ends, without speed; None: none."""
        owners = self.system.row_owners[self.switching]
        mass, loops = self.bodies.mass, self.bodies.loops
        out = np.zeros(len(self.v)) if loops is None else loops.closing(0.125)
        for k, (owner, x) in enumerate(zip(owners, self.rows.coordinate[self.switching], strict=True), -len(owners)):
            column, back = self.carrier.Y[:, k], opened(owner.constraint.admissible, x)
            if not is_zero(back):
                size = maximum(sparse_product((column * mass.r)[None], column)[0], 1.0 / ANY)
                out = out + column * (RECOVERED * back / size)
        return self.bodies.change(out) if nonzeros(out).any() else None

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
        if self.bodies.servos is not None:  # their forces changed within the step
            entries = [Entry("work", f"actuator {name}") for name in model.freedom_names]
            servos = self.bodies.servos
            impulses = h * servos.force - sparse_product(servos.inertia, v1 - self.v)
            for entry, more in zip(entries, impulses * mean, strict=True):
                work[names[entry]] = work[names[entry]] + more
        first = len(p) - len(system.row_owners[self.switching])
        for k, owner in enumerate(system.row_owners[self.switching], first):
            entry = Entry("heat", "" if owner.element is None else system.labels[owner.element])
            if entry in names:
                work[names[entry]] = work[names[entry]] + lost[k]
        normals = range(0, 3 * len(self.element.names), 3)
        lifts = [
            where(gap < 0.0, maximum(-lost[k], 0.0), 0.0) for k, gap in zip(normals, self.touching.gap, strict=True)
        ]
        work[names[CONTACT_RECOVERY]] = sum(lifts)
        work[names[CONTACT_IMPACTS]] = sum(lost[k] for k in normals) + sum(lifts)
        work[names[CONTACT_FRICTION]] = sum((lost[k] for k in range(first) if k not in normals), 0.0)
        return np.array(work)

    def _surface(self) -> np.ndarray:
        """Speeds of surfaces that move by themselves, of all rows."""
        still_rows = np.zeros(len(self.J) - len(self.rows.surface[self.switching]))
        return np.concatenate([still_rows, self.rows.surface[self.switching]])


def _stuck(memory: Memory, i: int) -> Any:
    """Whether a contact stuck in the step before."""
    return logical_and(memory.impulses[3 * i] > 0.0, memory.slip[i] == 0.0)


def _bounce(e: float, h: Any, gap: Any, speed: Any, acceleration: Any) -> Any:
    """The speed u1 of a normal after an impact within the step, or 0 where it does not come off the surface again.

    gap at q½, speed and acceleration without contact. With a constant acceleration a and the gap x = gap − h/2 speed at
    the start, impact and rebound give u1² − 2 a x1 = e² (speed² − 2 a x), where x1 = gap + h/2 u1 ends the step.
    """
    half = 0.5 * h * acceleration
    start = gap - 0.5 * h * speed
    square = half * half + 2.0 * acceleration * gap + e * e * (speed * speed - 2.0 * acceleration * start)
    return where(square > 0.0, half + sqrt(maximum(square, 0.0)), 0.0)
