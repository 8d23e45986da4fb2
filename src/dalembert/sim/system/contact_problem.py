"""The problem of a time step with rigid contact: see `contact_step`. What impulses move, and what rows add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact.gathering import points
from dalembert.contact.solver import ANY, Carrier, ConstraintImpulses
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms import poses
from dalembert.dynamics.algorithms.free_bodies import drifts
from dalembert.dynamics.algorithms.gather import gathered
from dalembert.dynamics.algorithms.passive import dissipation
from dalembert.linear import factor, is_zero, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import branch, clip, logical_and, logical_or, maximum, repeat, sqrt, where
from dalembert.model.aligned import AlignedFrames

from ..elements.contact import Memory, RigidContact
from .accounts import CONTACT_FRICTION, CONTACT_IMPACTS, CONTACT_RECOVERY, Entry
from .drift import drifted, still
from .impulses import RECOVERED, Loops, opened, row_laws
from .turning import Turned

if TYPE_CHECKING:
    from dalembert.dynamics.algorithms import ServoStep

    from .constraints import Rows
    from .loose_bodies import Moving
    from .system import Applied, System

ROUNDING = 1e-10  # of the energies that impulses exchange: a gain that is none
ALIKE = 1e-3  # of the fastest contact: an error of velocities that is small beside it
FINEST = 1e-4  # of the tolerance: the least that is asked for, of bodies at rest
AGAIN = 5.0  # times that where the step before needed one pass


class Bodies:
    """Inertia that impulses move at the middle of a step: with damping, springs, servos at its end, and loops.

    frames: those of the bodies in which the equations of motion are written; q (nq,): coordinates there. servos: what
    servos add to forces and inertia, or None; rows: of all constraints; loops: those that always hold.
    """

    def __init__(
        self, system: System, frames: AlignedFrames, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
    ) -> None:
        self.frames, self.model, self.h, model = frames, frames.model, h, frames.model
        self.q = self._coordinates(q)
        self.damping = gathered(model, [b.joint.damping for b in model.bodies])
        stiffness = gathered(model, [b.joint.stiffness for b in model.bodies])
        self.M = algorithms.mass_matrix(model, self.q) + np.diag(h * self.damping + (0.25 * h * h) * stiffness)
        self.servos = self._servo_step(system, t, q, e, u)
        if self.servos is not None:
            self.M = self.M + self.servos.inertia
        self.mass, always = factor(self.M, range(model.nv)[::-1]), system.permanent_count
        self.rows = self._rows(system, t, q, e)
        self.compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
        self.loops: Loops | None = None
        if always:
            self.loops = Loops(self.mass, self.rows.first(always), self.compliance[:always], h, system.rows_repeat)

    def _coordinates(self, q: np.ndarray) -> np.ndarray:
        return self.frames.coordinates(q)

    def _servo_step(self, system: System, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> ServoStep | None:
        return system.servo_step(t, self.h, q, e, u, self.M)

    def _rows(self, system: System, t: Any, q: np.ndarray, e: np.ndarray) -> Rows:
        return system.constraint_rows(t, q, system.layout.velocity(e), system.layout.states(e))

    def kick(self, v: np.ndarray, applied: Applied) -> np.ndarray:
        """L⁻¹ h f of all forces but impulses, with those of loops; forces of inertia at the velocity of the middle.

        They are c(v + δ) − c(δ), to second order, with half the change δ that the kick alone makes: at rest there are
        none, whatever the impulses take back of that change. Since c is quadratic, that is c(v) and a force that is
        linear in δ.
        """
        model, q, forces = self.model.without("damping"), self.q, applied.forces - self.damping * v
        wrenches = {body: self.frames.wrench(body, F) for body, F in applied.wrenches.items()}
        if self.servos is not None:
            forces = forces + self.servos.force
        slow = still(model, v)
        kick = self.mass.forward(self.h * (forces - algorithms.bias(model, q, slow, wrenches)))
        if self.loops is not None:
            kick = self.loops.kicked(kick, v, 0.5 * self.loops.rows.bias)
        half = still(model, 0.5 * self.change(kick))
        later = algorithms.velocity_product_force(model, q, slow, half)
        later = later + dissipation(model, slow + half) - dissipation(model, slow)  # smooth friction
        more = self.mass.forward(self.h * later)
        return kick - (more if self.loops is None else self.loops.freed(more))

    def kinetic_energy(self, v: np.ndarray) -> Any:
        """Kinetic energy of velocities v (nv,) [J]."""
        return 0.5 * (v @ sparse_product(self.M, v))

    def change(self, kick: np.ndarray) -> np.ndarray:
        """The change of velocities (nv,) that a kick makes."""
        return self.mass.backward(self.mass.r * kick)

    def carrier(self, J: np.ndarray) -> Carrier:
        """How impulses along rows J (n, nv) move them."""
        carrier = Carrier.bodies(self.M, self.mass, J)
        return carrier if self.loops is None else Carrier.reduced(self.loops.freed(carrier.Y), self.mass.r)


class Middle(NamedTuple):
    """The middle of a step of h [s], after half a drift: time, q (nq,), v (nv,), e (ne,), u, and forces there."""

    t: Any
    h: Any
    q: np.ndarray
    v: np.ndarray
    e: np.ndarray
    u: np.ndarray
    applied: Applied


class Situated(NamedTuple):
    """Where a step of h [s] puts its impulses: at v (nv,), on bodies that joints carry, which say where they are.

    applied: all forces on these but impulses; kick (nv,): L⁻¹ h f of them. memory: of the step before. jump (nv,):
    where an impact parts the step, by how much the half of the kick before it differs from that after it, since forces
    of inertia have changed; else None. recovers: 1, or 0 where what penetrates is held as it is and nothing rebounds,
    since no motion lets all of it come out. middle, loose: of the whole system, and of the bodies that are looped over.
    measures: whether the heat of contacts is asked for in any case.
    """

    h: Any
    v: np.ndarray
    bodies: Bodies
    applied: Applied
    kick: np.ndarray
    memory: Memory
    middle: Middle
    loose: Moving | None = None
    jump: np.ndarray | None = None
    recovers: Any = 1.0
    measures: bool = False

    def after(self, v1: np.ndarray) -> np.ndarray:
        """The kick (nv,) with forces of inertia at velocities v1 (nv,) of joints, those after the impulses."""
        return self.bodies.kick(v1, self.applied)

    def parted(self, later: np.ndarray) -> Situated:
        """With half of this kick before the impulses, and half of another one, `after` them."""
        return self._replace(kick=0.5 * (self.kick + later), jump=0.5 * (self.kick - later))


class Solved(NamedTuple):
    """Solution for all contacts and rows: impulses, w, the memory for the next step, and the heat of contacts [J].

    w: Y p (nv,) of joints; behind it, changes of the velocities of loose bodies that are looped over, six of each.
    impacts: along normals; friction: along tangents and about axes. recovery: the work that lifts what penetrates.
    """

    w: np.ndarray
    memory: Memory
    impacts: Any
    friction: Any
    recovery: Any

    def numbers(self) -> dict[str, Any]:
        """All numbers by name, as the state of a loop or a branch."""
        return self._asdict() | {"memory": self.memory.flat()}


class ContactStep(ABC):
    """A step of links that joints carry, or of loose bodies that are looped over, with links or without."""

    joints = True  # whether there are any

    def __init__(self, system: System, element: RigidContact) -> None:
        self.system, self.element = system, element

    @abstractmethod
    def drifted(
        self, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """q, v after a time h [s] without forces; more (nv,): a further displacement."""

    @abstractmethod
    def start(self, middle: Middle) -> Situated:
        """The state before impulses."""

    @abstractmethod
    def problem(self, at: Situated) -> ContactProblem:
        """The problem there."""

    def rebounds(self, memory: Memory) -> Any:
        """Whether joints carry a contact that leaves faster than what comes to rest does."""
        contacts = zip(memory.contacts[::3], memory.held[::3], strict=True)
        leaving = [logical_and(p > 0.0, held > self.element.contact.rest_speed) for p, held in contacts]
        return reduce(logical_or, leaving)


class ContactProblem(ABC):
    """The problem that a step solves."""

    @abstractmethod
    def solved(self) -> Solved:
        """All impulses on their laws."""

    @abstractmethod
    def velocity(self, w: np.ndarray) -> np.ndarray:
        """v (nv,) at the end of the step; w: as of `Solved`."""

    def joints_after(self, w: np.ndarray) -> np.ndarray:
        """Velocities of joints at the end of the step, at which their forces of inertia are asked for."""
        return self.velocity(w)

    @abstractmethod
    def displacement(self, w: np.ndarray) -> np.ndarray | None:
        """How the system is moved beside its velocities (nv,): joints back on their constraints; None: not at all."""

    @abstractmethod
    def work(self, applied: Applied, v1: np.ndarray, solution: Solved) -> np.ndarray:
        """The change of each account of the ledger in the step [J]."""


class ContactImpulses(ContactProblem):
    """Contacts of what joints carry. Rows that always hold are eliminated; those that come and go are solved for."""

    def __init__(self, system: System, element: RigidContact, at: Situated) -> None:
        self.system, self.element, self.at, self.h, self.v, self.bodies = system, element, at, at.h, at.v, at.bodies
        self.kick, self.mass, always = at.kick, at.bodies.mass, system.permanent_count
        self.rows, self.switching = self.bodies.rows, slice(always, None)
        self.row_carrier = self.bodies.carrier(self.rows.J[always:])
        self.row_before = self.rows.rate(self.v)[always:]
        self.row_free = self.row_before + sparse_product(self.row_carrier.X.T, self.kick)
        jump = None if at.jump is None else sparse_product(self.row_carrier.X.T, at.jump)
        self.row_meets = self.row_before if jump is None else self.row_before + jump
        self.row_laws = row_laws(system, self.rows, self.h, self.row_before, self.row_free)
        self.row_give = self.bodies.compliance[always:] / (self.h * self.h)
        self.measures = at.measures or bool(system.layout.nw)

    def finer_tolerance(self, before: np.ndarray) -> Any:
        """The `finer_tolerance` where neither contacts nor coordinates move. before: of all contacts."""
        motion = reduce(maximum, [absolute(x) for x in [*before, *self.v]])
        return finer_tolerance(self.element.contact.tolerance, motion, self.at.memory.passes)

    def gaps_ahead(self, meets: Any) -> np.ndarray:
        """(n,): the gap of each candidate after a step h along the path of the joints, without impulses [m].

        meets: whether they are asked for; −1 where they are not, or where nothing but free bodies moves.
        """
        model, unknown = self.bodies.model, {"gap": np.full(len(self.element.names), -1.0)}
        if all(drifts(model, body) or not body.joint.nv for body in model.bodies):
            return unknown["gap"]

        def along() -> dict[str, np.ndarray]:
            q, _ = drifted(model, self.bodies.q, self.v + self.bodies.change(self.kick), self.h)
            return {"gap": points(self.element.patches, poses(model, q)).gap}

        return branch(meets, along, unknown)["gap"]

    def velocity(self, w: np.ndarray) -> np.ndarray:
        """v (nv,) at the end of the step."""
        return self.v + self.bodies.change(self.kick + w)

    def displacement(self, w: np.ndarray) -> np.ndarray | None:
        """(nv,): closes loops, and brings coordinates back that are beyond their ends, without speed; None: none."""
        owners = self.system.row_owners[self.switching]
        mass, loops = self.mass, self.bodies.loops
        out = np.zeros(len(self.v)) if loops is None else loops.closing(0.125)
        coordinates = self.rows.coordinate[self.switching]
        for owner, x, column in zip(owners, coordinates, self.row_carrier.Y.T, strict=True):
            back = opened(owner.constraint.admissible, x)
            if not is_zero(back):
                size = maximum(sparse_product((column * mass.r)[None], column)[0], 1.0 / ANY)
                out = out + column * (RECOVERED * back / size)
        return self.bodies.change(out) if nonzeros(out).any() else None

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
        if self.bodies.servos is not None:  # their forces changed within the step
            entries = [Entry("work", f"actuator {name}") for name in model.freedom_names]
            servos = self.bodies.servos
            impulses = h * servos.force - sparse_product(servos.inertia, v1 - self.v)
            for entry, more in zip(entries, impulses * mean, strict=True):
                work[names[entry]] = work[names[entry]] + more
        lost = -solution.memory.rows * 0.5 * (self.row_before + self.rows.rate(v1)[self.switching])
        for owner, heat in zip(system.row_owners[self.switching], lost, strict=True):
            entry = Entry("heat", "" if owner.element is None else system.labels[owner.element])
            if entry in names:
                work[names[entry]] = work[names[entry]] + heat
        work[names[CONTACT_RECOVERY]] = solution.recovery
        work[names[CONTACT_IMPACTS]] = solution.impacts
        work[names[CONTACT_FRICTION]] = solution.friction
        return np.array(work)


def state_after(
    system: System, e: np.ndarray, h: Any, applied: Applied, v: np.ndarray, memory: Memory, work: Callable[[], Any]
) -> np.ndarray:
    """e after a step of h [s]: velocities v (nv,), the memory of contacts, states of other elements at their rates.

    work: the change of each account of the ledger in the step, called where there is one.
    """
    layout = system.layout
    moved = layout.replaced(e, v, layout.states(e) + h * system.state_rates(applied))
    after = system.with_contact_memory(moved, memory)
    return layout.replaced(after, accounts=layout.accounts(e) + work()) if layout.nw else after


def counts(before: Memory, solution: ConstraintImpulses, passed: Any, turned: Turned) -> dict[str, Any]:
    """Numbers of the memory after a step, by name; before: the memory of the step before it.

    passed: the most that the function of this name says of a contact; turned: what the step did not follow.
    """
    missed = maximum(passed, turned.missed)
    residual = maximum(solution.change, missed)
    failed = where(missed > 0.0, 1.0, 1.0 - solution.settled)
    most = Turned(0.0, before.turn, before.turner).worse(turned)
    return {
        "residual": residual,
        "worst": maximum(before.worst, residual),
        "unsettled": before.unsettled + failed,
        "passes": solution.passes,
        "turn": most.angle,
        "turner": most.body,
        "passed": before.passed + where(missed > 0.0, 1.0, 0.0),
        "share": before.share,
    }


def finer_tolerance(tolerance: float, motion: Any, passes: Any, finest: float = FINEST) -> Any:
    """The error of velocities towards which a few passes go on where all is nearly at rest: so it comes to rest.

    After a time step that took several passes it is less, so that the error which these took back is not left with its
    sign turned, and taken back again two steps later. motion: the velocity of the fastest contact before the step
    [m/s]; finest: of the tolerance, the least that is asked for.
    """
    least = where(passes > 1.5, finest, AGAIN * finest) * tolerance
    return clip(ALIKE * motion, least, tolerance)


def without_gain(
    impulses: Callable[[bool], ConstraintImpulses],
    before: np.ndarray,
    free: np.ndarray,
    responded: Callable[[np.ndarray], np.ndarray],
    owed: Any,
) -> tuple[ConstraintImpulses, Any]:
    """The impulses with rebounds. Where one from several points at once would gain energy, it is as much as does not.

    before, free: velocities of all rows before the step, and after it without impulses; responded: G p. owed: the
    energy that rebounds give back to approaches which the step before stopped [J]. Returns what is left of it as well,
    with all that the impulses take.
    """

    def gain(p: np.ndarray) -> Any:
        return 0.5 * (p @ (before + free + responded(p)))

    def without_rebound(p: np.ndarray, slip: np.ndarray, change: Any, settled: Any, done: Any) -> dict[str, Any]:
        plain = impulses(False)
        d = p - plain.p
        half = 0.5 * (d @ responded(d))
        at_plain = gain(plain.p)
        slope, left = gain(p) - at_plain - half, maximum(owed - at_plain, 0.0)
        share = 2.0 * left / maximum(slope + sqrt(maximum(slope * slope + 4.0 * half * left, 0.0)), 1.0 / ANY)
        mixed = plain.p + clip(share, 0.0, 1.0) * d
        change = maximum(change, plain.change)
        return {"p": mixed, "slip": plain.slip, "change": change, "settled": settled * plain.settled, "done": 1.0}

    p, slip, change, passes, settled = impulses(True)
    fine = where(gain(p) <= owed + ROUNDING * absolute(p) @ absolute(before), 1.0, 0.0)
    end = repeat(without_rebound, 1, {"p": p, "slip": slip, "change": change, "settled": settled, "done": fine}, "done")
    solution = ConstraintImpulses(end["p"], end["slip"], end["change"], passes, end["settled"])
    return solution, owed - gain(solution.p)
