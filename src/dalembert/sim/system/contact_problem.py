"""What a time step with rigid contact solves for: see `contact_step`. The laws of one contact, and what rows add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact import Contact, ContactLaw
from dalembert.linear import ANY, Carrier, ConstraintImpulses, Factor, is_zero, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, maximum, repeat, sqrt, where

from ..elements.contact import Memory, RigidContact
from .accounts import Entry
from .impulses import RECOVERED, Loops, opened, row_laws

if TYPE_CHECKING:
    from .system import Applied, System

ROUNDING = 1e-9  # of the energies that impulses exchange: a gain that is none
STILL = 1e-6  # [m/s]: a contact that slides more slowly before a step holds as one at rest


class Situated(NamedTuple):
    """Where a step of h [s] puts its impulses: at t, q (nq,), v (nv,), z, with the inertia M and its factor.

    kick (nv,): L⁻¹ h f of all other forces. memory: of the step before.
    """

    t: Any
    h: Any
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    M: np.ndarray
    mass: Factor
    kick: np.ndarray
    memory: Memory


class Solved(NamedTuple):
    """Of all contacts and rows: w = Y p (nv,), the memory for the next step, and the heat of contacts [J].

    impacts: along normals; friction: along tangents and about axes.
    """

    w: np.ndarray
    memory: Memory
    impacts: Any
    friction: Any


class ContactImpulses(ABC):
    """The problem of a step. Rows that always hold are eliminated; those that come and go are solved for."""

    def __init__(self, system: System, element: RigidContact, at: Situated) -> None:
        self.system, self.element, self.at, self.h, self.v, self.mass = system, element, at, at.h, at.v, at.mass
        always = system.permanent_count
        self.rows, self.switching = system.constraint_rows(at.t, at.q, at.v, at.z), slice(always, None)
        compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
        self.kick, self.closing, self.loops = at.kick, np.zeros(system.model.nv), None
        if always:
            self.loops = Loops(self.mass, self.rows.first(always), compliance[:always], self.h, system.rows_repeat)
            self.kick = self.loops.kicked(self.kick, self.v, 0.5 * self.loops.rows.bias)
            self.closing = self.loops.closing(0.125)
        self.row_carrier = self.carrier(self.rows.J[always:])
        self.row_before = self.rows.rate(self.v)[always:]
        self.row_free = self.row_before + sparse_product(self.row_carrier.X.T, self.kick)
        self.row_laws = row_laws(system, self.rows, self.h, self.row_before, self.row_free)
        self.row_give = compliance[always:] / (self.h * self.h)

    @abstractmethod
    def solved(self) -> Solved:
        """All impulses on their laws."""

    def carrier(self, J: np.ndarray) -> Carrier:
        """What rows J (n, nv) hold on to, with loops eliminated."""
        bodies = Carrier.bodies(self.at.M, self.mass, J)
        return bodies if self.loops is None else Carrier.reduced(self.loops.freed(bodies.Y), self.mass.r)

    def velocity(self, w: np.ndarray) -> np.ndarray:
        """v (nv,) at the end of the step."""
        return self.v + self.mass.backward(self.mass.r * (self.kick + w))

    def displacement(self) -> np.ndarray | None:
        """(nv,): closes loops, and brings coordinates back that are beyond their ends, without speed; None: none."""
        owners = self.system.row_owners[self.switching]
        out, mass = self.closing, self.mass
        coordinates = self.rows.coordinate[self.switching]
        for owner, x, column in zip(owners, coordinates, self.row_carrier.Y.T, strict=True):
            back = opened(owner.constraint.admissible, x)
            if not is_zero(back):
                size = maximum(sparse_product((column * mass.r)[None], column)[0], 1.0 / ANY)
                out = out + column * (RECOVERED * back / size)
        return mass.backward(mass.r * out) if nonzeros(out).any() else None

    def work(self, applied: Applied, v1: np.ndarray, solution: Solved) -> np.ndarray:
        """The change of each account of the ledger in the step [J]: forces over it times the mean velocity."""
        system, h, model = self.system, self.h, self.system.model
        mean = 0.5 * (self.v + v1)
        work = list(h * system.powers(self.v, mean, applied))
        names = {entry: k for k, entry in enumerate(system.entries)}
        for body in model.bodies:
            entry = Entry("heat", f"damping {body.joint.name}")
            if entry in names:
                work[names[entry]] = h * ((body.joint.damping * v1[body.v]) @ mean[body.v])
        lost = -solution.memory.rows * 0.5 * (self.row_before + self.rows.rate(v1)[self.switching])
        for owner, heat in zip(system.row_owners[self.switching], lost, strict=True):
            entry = Entry("heat", "" if owner.element is None else system.labels[owner.element])
            if entry in names:
                work[names[entry]] = work[names[entry]] + heat
        work[names[Entry("heat", "contact impacts")]] = solution.impacts
        work[names[Entry("heat", "contact friction")]] = solution.friction
        return np.array(work)

    def remembered(self, solution: ConstraintImpulses, *arrays: np.ndarray) -> Memory:
        """The memory after a step; arrays: as `Memory` begins."""
        before = self.at.memory
        worst = maximum(before.worst, solution.change)
        unsettled = before.unsettled + (1.0 - solution.settled)
        return Memory(*arrays, solution.change, worst, unsettled, solution.passes)


def normal_shift(contact: Contact, law: ContactLaw, h: Any, gap: Any, before: Any, free: Any, bouncing: bool) -> Any:
    """What is added to the velocity of a normal: what is open may close, what penetrates comes out slowly.

    bouncing: what meets fast enough bounces. before, free: the velocity before the step, and after it without impulses.
    """
    out = maximum(RECOVERED * gap / h, -contact.recovery_speed)
    shift = where(gap > 0.0, gap / h, out)
    if not bouncing or is_zero(law.restitution):
        return shift
    bounce = _bounce(law.restitution, h, gap, before, (free - before) / h)
    meets = logical_and(before < -contact.rest_speed, free + shift < 0.0)
    bounces = logical_and(meets, logical_and(bounce > 0.0, law.restitution > 0.0))
    return where(bounces, -bounce, shift)


def friction_coefficient(law: ContactLaw, slides: np.ndarray) -> Any:
    """That of rest for a contact that did not slide before; slides (2,): how fast [m/s]."""
    if law.static_friction is law.friction or is_zero(law.static_friction - law.friction):
        return law.friction
    return where(slides @ slides < STILL * STILL, law.static_friction, law.friction)


def without_gain(
    impulses: Callable[[bool], ConstraintImpulses],
    before: np.ndarray,
    free: np.ndarray,
    responded: Callable[[np.ndarray], np.ndarray],
) -> ConstraintImpulses:
    """The impulses with rebounds. Where one from several points at once would gain energy, it is as much as does not.

    before, free: velocities of all rows before the step, and after it without impulses; responded: G p.
    """

    def gain(p: np.ndarray) -> Any:
        return 0.5 * (p @ (before + free + responded(p)))

    def without_rebound(p: np.ndarray, slip: np.ndarray, change: Any, settled: Any, done: Any) -> dict[str, Any]:
        plain = impulses(False)
        d = p - plain.p
        half = 0.5 * (d @ responded(d))
        at_plain = gain(plain.p)
        slope, left = gain(p) - at_plain - half, maximum(-at_plain, 0.0)
        share = 2.0 * left / maximum(slope + sqrt(maximum(slope * slope + 4.0 * half * left, 0.0)), 1.0 / ANY)
        mixed = plain.p + clip(share, 0.0, 1.0) * d
        change = maximum(change, plain.change)
        return {"p": mixed, "slip": plain.slip, "change": change, "settled": settled * plain.settled, "done": 1.0}

    p, slip, change, passes, settled = impulses(True)
    fine = where(gain(p) <= ROUNDING * absolute(p) @ absolute(before), 1.0, 0.0)
    end = repeat(without_rebound, 1, {"p": p, "slip": slip, "change": change, "settled": settled, "done": fine}, "done")
    return ConstraintImpulses(end["p"], end["slip"], end["change"], passes, end["settled"])


def _bounce(e: Any, h: Any, gap: Any, speed: Any, acceleration: Any) -> Any:
    """The speed u1 of a normal after an impact within the step, or 0 where it does not come off the surface again.

    gap at q½, speed and acceleration without contact. With a constant acceleration a and the gap x = gap − h/2 speed at
    the start, impact and rebound give u1² − 2 a x1 = e² (speed² − 2 a x), where x1 = gap + h/2 u1 ends the step.
    """
    half = 0.5 * h * acceleration
    start = gap - 0.5 * h * speed
    square = half * half + 2.0 * acceleration * gap + e * e * (speed * speed - 2.0 * acceleration * start)
    return where(square > 0.0, half + sqrt(maximum(square, 0.0)), 0.0)
