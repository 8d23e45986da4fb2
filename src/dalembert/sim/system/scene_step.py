"""A time step of a scene: loose bodies in contact with each other and with what is fixed; see `contact_step`.

All that is done for a body, a pair or a contact is written once and looped over. Bodies move with the velocities of
their centres of mass and their angular velocities along the axes of the world, in which the inertia of a body is
constant over the kick.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.gathering import known_before, law_of, number_of
from dalembert.contact.rows import tangent_frame
from dalembert.contact.scene import Touching
from dalembert.contact.solver import (
    BodyContacts,
    ConstraintImpulses,
    Sweeps,
    by_contact,
    flat,
    largest_size,
    solved_bodies,
)
from dalembert.contact.solver.arrays import NOTHING
from dalembert.linear import nonzeros
from dalembert.math import clip, logical_and, maximum, take, visit, where
from dalembert.math import map as mapped

from ..elements.contact import Memory, RigidContact
from .accounts import CONTACT_FRICTION, CONTACT_IMPACTS, CONTACT_RECOVERY
from .contact_problem import (
    ContactProblem,
    ContactStep,
    Middle,
    Situated,
    Solved,
    counts,
    finer_tolerance,
    without_gain,
)
from .loose_bodies import LooseBodies, Moving
from .meeting import meeting_times, places_where_they_meet
from .one_contact import Asked, Last, Meeting, braking, pushed_alone, recovered, stopped_approach, stopped_impulse
from .scene_side import MOTION, Side
from .turning import Nearby, Turned, turned_too_far, where_fast

if TYPE_CHECKING:
    from .system import Applied, System

FINEST = 1e-6  # of the tolerance: the least that is asked for, of bodies at rest


class SceneStep(ContactStep):
    """A step of a system whose bodies are all loose."""

    def __init__(self, system: System, element: RigidContact) -> None:
        super().__init__(system, element)
        self.loose = LooseBodies(system, element.scene(system.model))

    def drifted(
        self, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """q, v after a time h without forces; more: by how much bodies that have met are moved back."""
        return self.loose.drifted(q, v, h, more)

    def start(self, middle: Middle) -> Situated:
        """The state before impulses; there are no joints."""
        moving = self.loose.moving(middle.q, middle.v, middle.h, middle.applied)
        memory = self.system.contact_memory(middle.e)
        none: Any = None
        return Situated(middle.h, np.zeros(0), none, middle.applied, np.zeros(0), memory, middle, moving)

    def problem(self, at: Situated) -> SceneProblem:
        """All contacts at once."""
        return SceneProblem(self, at)


class SceneImpulses:
    """The problem of a step: its contacts in slots."""

    columns: dict[str, np.ndarray]

    def __init__(self, bodies: LooseBodies, element: RigidContact, moving: Moving, memory: Memory, h: Any) -> None:
        self.bodies, self.element, self.moving, self.memory, self.h = bodies, element, moving, memory, h
        self.about, self.bounces = element.turning, element.bounces
        self.touching = bodies.scene.touching(moving.placed, moving.later)
        known = memory.numbers, len(element.names), memory.by_place()
        self.last = known_before(self.touching.number, self.touching.count, *known)

    def ask(self, times: np.ndarray) -> None:
        """Compute what the laws ask of all contacts; times (n,): when bodies meet, see `meeting_times`."""
        self.columns = self._columns(self.touching, self.last, times)
        self.columns.setdefault("meets", self.columns["before"])

    def solved(self, accounts: bool) -> Solved:
        """All impulses on their laws; accounts: with the heat that they make."""
        columns, contact, count = self.columns, self.element.contact, self.touching.count
        m, motion = len(self.about), largest_size(columns["before"], count)
        finer = finer_tolerance(contact.tolerance, motion, self.memory.passes, FINEST)
        problem = self.sweeps(True, finer)

        def impulses(bouncing: bool) -> ConstraintImpulses:
            sweeping, start = problem if bouncing else self.sweeps(False, finer), (columns["p"], columns["slip"])
            return solved_bodies(sweeping, self.moving.inertia, *start, contact.tolerance, finer)

        def responded(p: np.ndarray) -> np.ndarray:
            return flat(problem.velocities(problem.pushed(by_contact(p, 3 + m))))

        if self.bounces:
            velocities = flat(columns["meets"]), flat(columns["free"])
            solution, left = without_gain(impulses, *velocities, responded, self.memory.owed)
        else:
            solution, left = impulses(True), 0.0
        p = by_contact(solution.p, 3 + m)
        w = problem.pushed(p)
        if self.bounces:
            stopped = problem.velocities(problem.pushed(self._stopped(p)))
            self.columns["waits"] = self._waits(p, stopped, problem.velocities(w))
        owed = self.owed(p, problem.velocities(w), left) if self.bounces else 0.0
        lost = self.lost(p, problem.velocities(w)) if accounts else (0.0, 0.0, 0.0)
        before = self.memory
        crowded = where(self.touching.lost > 0.0, 1.0, 0.0)
        turning, after = self.bodies.turning, MOTION.named(self.moving.motion)["before"] + self.moving.changes(w)

        def too_far() -> Turned:
            return self.turned(turning.rows(self.moving.placed[:-1, :12], after[:, 3:], after[:, :3]), p)

        turned = where_fast(turning.most(self.h, after[:, 3:]), too_far)
        numbers = counts(before, solution, largest_size(columns["passed"], count), turned)
        numbers["unsettled"] = maximum(numbers["unsettled"], before.unsettled + crowded)
        memory = Memory(
            contacts=p[:, :3].ravel(),
            turned=p[:, 3:].ravel(),
            rows=np.zeros(0),
            slip=solution.slip,
            held=columns["held"].ravel(),
            approach=columns["waits"].ravel(),
            numbers=columns["one_more"],
            normals=self.normals,
            owed=owed,
            crowded=before.crowded + crowded,
            **numbers,
        )
        return Solved(w.ravel(), memory, *lost)

    def sweeps(self, bouncing: bool, finer: Any, joints: int = 0) -> Sweeps:
        """The contacts as `linear` takes them; joints: rows of the table of velocities before those of bodies."""
        n, (first, second) = len(self.moving.motion), self.touching.bodies.T
        if joints:
            first, second = rows_of_bodies(first, joints, n), rows_of_bodies(second, joints, n)
        parts = self.problem_columns(BodyContacts._fields, bouncing) | {"group": self.touching.group}
        return Sweeps(
            BodyContacts(first=first, second=second, **parts), joints + n, self.element.contact.tolerance, finer
        )

    def problem_columns(self, names: Sequence[str], bouncing: bool) -> dict[str, Any]:
        """The columns with some names, and what else both kinds of contacts have."""
        columns = {name: self.columns[name] for name in names if name in self.columns}
        if self.bounces and not bouncing:
            columns["c"] = self.columns["c_plain"]
        return columns | {"about": self.about, "count": self.touching.count}

    @property
    def normals(self) -> np.ndarray:
        """(3 k,) of all contacts, where these are reported."""
        return self.touching.normal.ravel() if self.element.keeps_normals else np.zeros(0)

    def turned(self, table: np.ndarray, p: np.ndarray) -> Turned:
        """Find what turns too far for the step to follow it; table: `Turning.rows`, p (k, 3 + m): impulses."""
        at = self.touching
        return turned_too_far(self.h, table, Nearby(at.bodies, at.normal, at.position, at.gap, p[:, 0]), at.count)

    def start_columns(self, last: Last) -> dict[str, Any]:
        """For one contact: from where the iteration starts, and the approach that has waited for its rebound."""
        waited = {"waited": last.approach[0]} if self.bounces else {}
        return {"p": np.concatenate([last.p, last.turned]), "slip": last.slip, **waited}

    def _pushing(self, touching: Touching, normal: np.ndarray) -> np.ndarray:
        """(k,): how many contacts pushed in the step before at the body of each that has most of them.

        normal (k,): impulses of that step.
        """

        def one_more(rows: Any, bodies: Any, normal: Any) -> dict[str, Any]:
            return {"rows": rows + where(normal > 0.0, 1.0, 0.0), "to": bodies}

        at, count = touching.bodies, touching.count
        items, start = {"bodies": at, "normal": normal}, np.zeros((len(self.moving.motion), 1))
        numbers = visit(one_more, items, start, at, count=count, groups=touching.group)["table"]
        return visit(lambda rows: {"most": maximum(rows[0, 0], rows[1, 0])}, {}, numbers, at, count=count)["most"]

    def _columns(
        self, touching: Touching, remembered: dict[str, np.ndarray], times: np.ndarray
    ) -> dict[str, np.ndarray]:
        """All that the problem needs of contacts; remembered: of each, the fields of `Last`."""
        asked, meet = Asked(self.element, self.h, self.memory, self.about), bool(nonzeros(times).any())

        def one(
            rows: Any,
            number: Any,
            gap: Any,
            position: Any,
            normal: Any,
            aside: Any,
            last: Any,
            pushing: Any,
            time: Any = 0.0,
        ) -> dict[str, Any]:
            law = law_of(self.element.laws, number)
            axes = tangent_frame(normal)
            places, there = (position + aside, position - aside), gap
            if meet:
                first, second, there = places_where_they_meet(rows, places, normal, gap, time)
                places = first, second
            a, b = (Side(row, axes, place, self.about) for row, place in zip(rows, places, strict=True))
            before, kick = a.before - b.before, a.kick - b.kick
            free, last, thin = before + kick, Last(**last), number_of(self.element.thin, number)
            alone, meeting = pushed_alone([pushing]), Meeting(there, time)
            columns = asked.columns(law, gap, before, free, last, alone, thin=thin, meeting=meeting)
            columns |= self.start_columns(last)
            return columns | {
                "one_more": number + 1.0,
                "axes": axes,
                "levers_a": a.levers,
                "levers_b": b.levers,
                "turns_a": a.turns,
                "turns_b": b.turns,
                "light_a": a.light,
                "light_b": b.light,
                "spins_a": a.spins,
                "spins_b": b.spins,
            }

        items = {
            "number": touching.number,
            "gap": touching.gap,
            "position": touching.position,
            "normal": touching.normal,
            "aside": touching.aside,
            "last": remembered,
            "pushing": self._pushing(touching, remembered["p"][:, 0]),
        }
        if meet:
            items["time"] = take(times[:, None], touching.bodies[:, 0])[:, 0]
        return visit(one, items, self.moving.motion, touching.bodies, count=touching.count)

    def _stopped(self, p: np.ndarray) -> np.ndarray:
        """The impulses (k, 3 + m) that stop contacts without a rebound."""
        items = {"p": p, "stops": self.columns["stops"]}
        return mapped(lambda p, stops: {"p": stopped_impulse(p, stops)}, items, self.touching.count)["p"]

    def _waits(self, p: np.ndarray, stopped: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """(k, 1): squares of the speeds of approaches that wait; changes: of velocities, and by what is stopped."""

        def step(waits: Any, stops: Any, before: Any, free: Any, p: Any, by_stops: Any, du: Any) -> dict[str, Any]:
            motion = by_stops[0], before[0], free[0] + du[0]
            return {"waits": np.array([stopped_approach(self.element.contact, stops, p[0], waits[0], *motion)])}

        items = {name: self.columns[name] for name in ("waits", "stops", "before", "free")}
        return mapped(step, items | {"p": p, "by_stops": stopped, "du": changes}, self.touching.count)["waits"]

    def owed(self, p: np.ndarray, changes: np.ndarray, left: Any) -> Any:
        """The energy that approaches which wait for their rebounds have lost, at most what is left of all [J]."""

        def step(_: Any, taken: Any, waits: Any, waited: Any, before: Any, free: Any, p: Any, du: Any) -> Any:
            return {"taken": taken + braking(waits[0], waited, p[0], before[0], free[0] + du[0])}

        items = {name: self.columns[name] for name in ("waits", "waited", "before", "free")} | {"p": p, "du": changes}
        taken = visit(step, items, NOTHING, carry={"taken": 0.0}, count=self.touching.count)["taken"]
        return clip(taken, 0.0, maximum(left, 0.0))

    def lost(self, p: np.ndarray, changes: np.ndarray) -> tuple[Any, Any, Any]:
        """The heat of impacts and of friction, and the work of recovery, of all contacts [J]."""

        def step(
            _: Any, impact: Any, friction: Any, lift: Any, gap: Any, meets: Any, free: Any, p: Any, du: Any
        ) -> Any:
            lost = -0.5 * p * (meets + free + du)
            lifted = recovered(lost[0], gap)
            more = {"impact": impact + lost[0] + lifted, "friction": friction + sum(lost[1:]), "lift": lift + lifted}
            return more

        items = {"gap": self.touching.gap, "meets": self.columns["meets"], "free": self.columns["free"]}
        start = {"impact": 0.0, "friction": 0.0, "lift": 0.0}
        heat = visit(step, items | {"p": p, "du": changes}, NOTHING, carry=start, count=self.touching.count)
        return heat["impact"], heat["friction"], heat["lift"]


class SceneProblem(ContactProblem):
    """The problem of loose bodies alone."""

    def __init__(self, step: SceneStep, at: Situated) -> None:
        assert at.loose is not None
        self.step, self.at, self.moving = step, at, at.loose
        self.contacts = SceneImpulses(step.loose, step.element, at.loose, at.memory, at.h)
        self.times = meeting_times([self.contacts], at.loose.motion, at.h)
        self.contacts.ask(self.times)

    def solved(self) -> Solved:
        """All impulses on their laws."""
        return self.contacts.solved(bool(self.step.system.layout.nw))

    def velocity(self, w: np.ndarray) -> np.ndarray:
        """v (nv,) at the end of the step."""
        middle = self.at.middle
        return self.step.loose.changed(middle.q, middle.v, self.moving.changes(w.reshape(-1, 6)))

    def displacement(self, w: np.ndarray) -> np.ndarray | None:
        """By how much bodies that have met within the step are moved back."""
        return self.step.loose.moved_back(self.at.middle.q, self.times, w.reshape(-1, 6))

    def work(self, applied: Applied, v1: np.ndarray, solution: Solved) -> np.ndarray:
        """The change of each account of the ledger in the step [J]."""
        system, middle = self.step.system, self.at.middle
        changes = list(middle.h * system.powers(middle.q, 0.5 * (middle.v + v1), applied))
        lost = solution.impacts, solution.friction, solution.recovery
        for entry, heat in zip((CONTACT_IMPACTS, CONTACT_FRICTION, CONTACT_RECOVERY), lost, strict=True):
            changes[system.entries.index(entry)] = heat
        return np.array(changes)


def rows_of_bodies(numbers: np.ndarray, joints: int, n: int) -> np.ndarray:
    """Rows of the table of the first n bodies by number, which lie behind those of joints; −1 of others: none."""
    return np.array([where(logical_and(x >= 0.0, x < float(n)), x + float(joints), -1.0) for x in numbers])
