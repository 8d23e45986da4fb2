"""The problem of a time step with rigid contact: see `contact_step`. What impulses move, and what rows add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact.gathering import Motions, points
from dalembert.contact.solver import ANY, Carrier, ConstraintImpulses, ContactProblem
from dalembert.contact.solver import Rows as SolverRows
from dalembert.contact.solver.motions import SIZE
from dalembert.contact.solver.problem import NO_BODIES
from dalembert.dynamics.algorithms import poses
from dalembert.dynamics.algorithms.free_bodies import drifts
from dalembert.linear import is_zero, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import branch, clip, maximum, repeat, sqrt, take, where
from dalembert.spatial import Pose

from ..elements.contact import Memory
from .accounts import CONTACT_FRICTION, CONTACT_IMPACTS, CONTACT_RECOVERY, Entry
from .bodies import Bodies
from .drift import drifted
from .impulses import RECOVERED, opened, row_laws
from .looped_contacts import LoopedContacts
from .turning import STILL, Turned, most_turned, turning_rows, where_fast
from .written_contacts import WrittenContacts

if TYPE_CHECKING:
    from .contact_step import ContactStep
    from .contact_table import ContactTable
    from .loose_bodies import Moving
    from .system import Applied

ROUNDING = 1e-10  # of the energies that impulses exchange: a gain below this is rounding
ALIKE = 1e-3  # of the fastest contact: an error of velocities that is small beside it
FINEST, FINEST_LOOSE = 1e-4, 1e-6  # of the tolerance: the least error asked for at rest, of robots and of loose bodies
AGAIN = 5.0  # times that where the step before needed one pass


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


class ContactImpulses(ABC):
    """The impulses of a step on some contacts, and on rows of joints that come and go; rows that always hold are
    eliminated.
    """

    meeting_times = np.zeros(0)  # of loose bodies: how long after the middle of the step they meet [s]

    def __init__(self, step: ContactStep, at: Situated) -> None:
        self.step, self.system, self.element, self.at = step, step.system, step.element, at
        self.h, self.v, self.kick, self.bodies, self.loose = at.h, at.v, at.kick, at.bodies, at.loose
        self.model, self.mass, always = at.bodies.model, at.bodies.mass, self.system.permanent_count
        self.rows, self.switching = self.bodies.rows, slice(always, None)
        self.row_carrier = self.bodies.carrier(self.rows.J[always:])
        self.row_before = self.rows.rate(self.v)[always:]
        self.row_free = self.row_before + sparse_product(self.row_carrier.X.T, self.kick)
        jump = None if at.jump is None else sparse_product(self.row_carrier.X.T, at.jump)
        self.row_meets = self.row_before if jump is None else self.row_before + jump
        self.row_laws = row_laws(self.system, self.rows, self.h, self.row_before, self.row_free)
        self.row_give = self.bodies.compliance[always:] / (self.h * self.h)
        self.measures = at.measures or bool(self.system.layout.nw)

    @abstractmethod
    def solved(self) -> Solved:
        """All impulses on their laws."""

    @cached_property
    def X(self) -> Sequence[Pose]:
        """Poses of the links."""
        return poses(self.model, self.bodies.q)

    @cached_property
    def motions(self) -> Motions:
        """How the links move."""
        return Motions(self.model, self.X, self.bodies.q)

    @cached_property
    def root(self) -> np.ndarray:
        """Factors (nv,) by which w = L⁻¹ Jᵀ p has the inertia 1."""
        return np.array([sqrt(x) for x in self.mass.r])

    @cached_property
    def bodies_of_candidates(self) -> np.ndarray:
        """(n, 2): numbers of both bodies of each candidate."""
        return np.array([(patch.first, patch.second) for patch in self.element.patches for _ in patch.names], float)

    def problem_of(self, tables: Sequence[ContactTable], bouncing: bool) -> ContactProblem:
        """The problem as the solver takes it, with rebounds or without."""
        first = tables[0]
        if isinstance(first, WrittenContacts):
            return first.problem_of(bouncing)
        kinds = [table.contacts(bouncing) for table in tables if isinstance(table, LoopedContacts)]
        Y = (self.row_carrier.Y.T * self.root).T  # in coordinates of joints with the inertia 1
        rows = SolverRows(Carrier(np.eye(len(Y)), Y.T, Y, Y), self.row_free, self.row_laws, self.row_give)
        return ContactProblem(kinds, rows, NO_BODIES if self.loose is None else self.loose.inertia)

    def solution(self, tables: Sequence[ContactTable]) -> Solved:
        """All impulses on their laws."""
        contact, memory, problem = self.element.contact, self.at.memory, self.problem_of(tables, True)
        motion = [table.largest("before") for table in tables] + [absolute(x) for x in [*self.row_before, *self.v]]
        finest = FINEST if self.loose is None else FINEST_LOOSE
        finer = finer_tolerance(contact.tolerance, reduce(maximum, motion), memory.passes, finest)

        def joined(name: str, rows: np.ndarray) -> np.ndarray:
            return problem.joined([table.columns[name] for table in tables], rows)

        def impulses(bouncing: bool) -> ConstraintImpulses:
            here = problem if bouncing else self.problem_of(tables, False)
            return here.impulses((start, slip), contact.tolerance, finer)

        start, slip = joined("p", memory.rows), np.concatenate([table.columns["slip"] for table in tables])
        if not self.element.bounces:
            return self._result(tables, problem, impulses(True), 0.0)
        before, free = joined("meets", self.row_meets), joined("free", self.row_free)
        solution, left = without_gain(impulses, before, free, problem.responses, memory.owed)
        parts, rows = problem.split(solution.p)
        stopped = [table.stopped(p) for table, p in zip(tables, parts, strict=True)]
        changes, _ = problem.split(problem.responses(solution.p))
        by_stops, _ = problem.split(problem.responses(problem.joined(stopped, 0.0 * rows)))
        for table, *numbers in zip(tables, parts, by_stops, changes, strict=True):
            table.wait(*numbers)
        return self._result(tables, problem, solution, left)

    def _result(self, tables: Sequence[ContactTable], problem: Any, solution: ConstraintImpulses, left: Any) -> Solved:
        """Changes by the impulses and memory for the next step; left: energy of rebounds that is not given back."""
        memory, owed, lost, kept = self.at.memory, 0.0, np.zeros(3), []
        w, (parts, rows) = tables[0].moved(problem.pushed(solution.p)), problem.split(solution.p)
        slips = np.split(solution.slip, np.cumsum([len(p) for p in parts])[:-1])
        measured = self.element.bounces or self.measures
        changes = problem.split(problem.responses(solution.p))[0] if measured else parts
        for table, p, slip, du in zip(tables, parts, slips, changes, strict=True):
            if self.element.bounces:
                owed = owed + table.owed(p, du, left - owed)
            if self.measures:
                lost = lost + table.lost(p, du)
            kept.append(table.remembered(p, slip))
        arrays = {name: np.concatenate([each[name].ravel() for each in kept]) for name in kept[0]}
        missed = reduce(maximum, [table.missed() for table in tables])
        numbered = bool(self.element.slots or self.element.scene_room)
        after = Memory(
            contacts=arrays["p"],
            turned=arrays["turned"],
            rows=rows,
            slip=arrays["slip"],
            held=arrays["held"],
            approach=arrays["waits"],
            numbers=arrays["one_more"] if numbered else np.zeros(0),
            normals=arrays["normals"],
            owed=owed,
            crowded=memory.crowded,
            **counts(memory, solution, missed, self.turned(tables, w, parts)),
        )
        return Solved(w, after, *lost)

    def turned(self, tables: Sequence[ContactTable], w: np.ndarray, p: Sequence[np.ndarray]) -> Turned:
        """Find what turns too far for the step to follow it; p: impulses of the contacts of each table."""
        if not any(table.turns for table in tables):
            return STILL
        turning, v1, loose = self.step.turning, self.joints_after(w), None
        angle = most_turned(self.h, v1, self.model)
        if self.loose is not None:
            velocities = self.loose.before + self._loose_changes(w)
            loose = self.loose.placed[:-1, :12], velocities
            angle = maximum(angle, turning.most(self.h, velocities[:, 3:]))

        def at_length() -> Turned:
            rows = turning_rows(turning, self.step.links, self.X, self.motions, v1, loose)
            kinds = zip(tables, p, strict=True)
            return reduce(Turned.worse, [kind.turned(rows, impulses) for kind, impulses in kinds])

        return where_fast(angle, turning.followed, at_length)

    def gaps_ahead(self, meets: Any, numbers: np.ndarray, count: Any) -> np.ndarray:
        """(k,): gaps of the candidates with these numbers after a step along the path of joints, without impulses [m].

        meets: whether they are asked for; −1 where they are not, or where nothing but free bodies moves.
        """
        unknown = {"gap": np.full(len(self.element.names), -1.0)}

        def along() -> dict[str, np.ndarray]:
            return {"gap": points(self.element.patches, poses(self.model, self._coordinates_ahead)).gap}

        gaps = branch(meets, along, unknown)["gap"] if self._on_arcs else unknown["gap"]
        constant = not any(hasattr(x, "__traced__") for x in numbers)
        return gaps[numbers.astype(int)] if constant else take(gaps[:, None], numbers)[:, 0]

    @property
    def _on_arcs(self) -> bool:
        """Whether some points of links do not move straight ahead."""
        return not all(drifts(self.model, body) or not body.joint.nv for body in self.model.bodies)

    @property
    def _coordinates_ahead(self) -> np.ndarray:
        """Coordinates of links after a step without impulses."""
        return drifted(self.model, self.bodies.q, self.v + self.bodies.change(self.kick), self.h)[0]

    def _loose_changes(self, w: np.ndarray) -> np.ndarray:
        """(n, 6) of velocities of loose bodies."""
        assert self.loose is not None
        return self.loose.changes(w[len(self.v) :].reshape(-1, SIZE))

    def joints_after(self, w: np.ndarray) -> np.ndarray:
        """Velocities of joints at the end of the step, at which their forces of inertia are asked for."""
        return self.v + self.bodies.change(self.kick + w[: len(self.v)])

    def velocity(self, w: np.ndarray) -> np.ndarray:
        """v (nv,) of all bodies at the end of the step; w: as of `Solved`."""
        if self.loose is None:
            return self.joints_after(w)
        middle = self.at.middle
        v1 = self.step.loose_bodies.changed(middle.q, middle.v, self._loose_changes(w))
        v1[self.step.linked.v] = self.joints_after(w)
        return v1

    def displacement(self, w: np.ndarray) -> np.ndarray | None:
        """(nv,): a further displacement without speed, None: none.

        It closes loops, brings coordinates back that are beyond their ends, and takes bodies that met to where they go.
        """
        owners = self.system.row_owners[self.switching]
        mass, loops = self.mass, self.bodies.loops
        out = np.zeros(len(self.v)) if loops is None else loops.closing(0.125)
        coordinates = self.rows.coordinate[self.switching]
        for owner, x, column in zip(owners, coordinates, self.row_carrier.Y.T, strict=True):
            back = opened(owner.constraint.admissible, x)
            if not is_zero(back):
                size = maximum(sparse_product((column * mass.r)[None], column)[0], 1.0 / ANY)
                out = out + column * (RECOVERED * back / size)
        joints = self.bodies.change(out) if nonzeros(out).any() else None
        if self.loose is None:
            return joints
        rows = w[len(self.v) :].reshape(-1, SIZE)
        more = self.step.loose_bodies.moved_back(self.at.middle.q, self.meeting_times, rows)
        if joints is not None:
            more[self.step.linked.v] = joints
        return more

    def work(self, applied: Applied, v1: np.ndarray, solution: Solved) -> np.ndarray:
        """The change of each account of the ledger in the step [J]: forces over it times the mean velocity."""
        system, h, model, v = self.system, self.h, self.system.model, self.at.middle.v
        mean = 0.5 * (v + v1)
        work = list(h * system.powers(v, mean, applied))
        names = {entry: k for k, entry in enumerate(system.entries)}
        for body in model.bodies:
            entry = Entry("heat", f"damping {body.joint.name}")
            if entry in names:
                work[names[entry]] = h * ((body.joint.damping * v1[body.v]) @ mean[body.v])
        servos = self.bodies.whole_servos
        if servos is not None:  # their forces changed within the step
            entries = [Entry("work", f"actuator {name}") for name in model.freedom_names]
            impulses = h * servos.force - sparse_product(servos.inertia, v1 - v)
            for entry, more in zip(entries, impulses * mean, strict=True):
                work[names[entry]] = work[names[entry]] + more
        lost = -solution.memory.rows * 0.5 * (self.row_before + self.bodies.whole_rows.rate(v1)[self.switching])
        for owner, heat in zip(system.row_owners[self.switching], lost, strict=True):
            entry = Entry("heat", "" if owner.element is None else system.labels[owner.element])
            if entry in names:
                work[names[entry]] = work[names[entry]] + heat
        work[names[CONTACT_RECOVERY]] = solution.recovery
        work[names[CONTACT_IMPACTS]] = solution.impacts
        work[names[CONTACT_FRICTION]] = solution.friction
        return np.array(work)


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


def finer_tolerance(tolerance: float, motion: Any, passes: Any, finest: float) -> Any:
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
