"""A time step of robots among many loose bodies: see `contact_step`, `scene_step`.

Loose bodies are rows of a table that loops go over, as in a scene. Joints are a part of the same table, in coordinates
in which their inertia is the identity: so contacts of links are solved for together with all others, and the code does
not grow with the number of bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms import poses
from dalembert.contact.bounds import body_radius
from dalembert.contact.gathering import Motions, freedom_signs, law_of, number_of
from dalembert.contact.rows import tangent_frame
from dalembert.contact.scene import Touching
from dalembert.contact.solver import (
    Carrier,
    ConstraintImpulses,
    CrowdProblem,
    LinkContacts,
    LinkSweeps,
    Rows,
    Sweeps,
    largest_size,
    solved_crowd,
)
from dalembert.contact.solver.arrays import NOTHING
from dalembert.math import abs as absolute
from dalembert.math import logical_or, lookup, maximum, sqrt, visit, where
from dalembert.spatial import cross

from ..elements.contact import Memory, RigidContact
from .contact_problem import (
    ContactImpulses,
    ContactStep,
    Middle,
    Situated,
    Solved,
    counts,
    finer_tolerance,
    without_gain,
)
from .drift import drifted
from .links import LinkedModel, Links, linked_model
from .loose_bodies import LooseBodies
from .meeting import meeting_times
from .one_contact import Asked, Last, mobility, pushed_alone
from .paired_contacts import PlacedBodies
from .scene_side import MOTION, Side
from .scene_step import FINEST, SceneImpulses, rows_of_bodies
from .turning import Turned, where_fast

if TYPE_CHECKING:
    from .system import Applied, System

SIZE = 6  # velocities of a row


class CrowdStep(ContactStep):
    """A step of a system with links and many loose bodies."""

    def __init__(self, system: System, element: RigidContact) -> None:
        super().__init__(system, element)
        scene = element.scene(system.model)
        self.linked, self.loose = linked_model(system.model, scene.loose), LooseBodies(system, scene)

    def drifted(
        self, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """q, v after a time h without forces; more (nv,): a further displacement."""
        linked = self.linked
        q1, v1 = self.loose.drifted(q, v, h, more)
        of_links = None if more is None else more[linked.v]
        q1[linked.q], v1[linked.v] = drifted(linked.model, q[linked.q], v[linked.v], h, of_links)
        return q1, v1

    def start(self, middle: Middle) -> Situated:
        """The state before impulses."""
        system, linked, (t, h, q, v, e, u, applied) = self.system, self.linked, middle
        links, on_links = Links(system, linked, t, h, q, e, u), linked.applied(applied)
        v_links, moving = v[linked.v], self.loose.moving(q, v, h, applied)
        kick, memory = links.kick(v_links, on_links), system.contact_memory(e)
        return Situated(h, v_links, links, on_links, kick, memory, middle, moving)

    def problem(self, at: Situated) -> CrowdImpulses:
        """All contacts at once."""
        return CrowdImpulses(self, at)

    def rebounds(self, memory: Memory) -> Any:
        """Whether links have a contact that leaves faster than what comes to rest does."""
        parts = self.element.scene(self.system.model).parts
        every = memory_parts(memory, [part.room for part in parts], len(self.element.turning))
        of_links = [kept for part, kept in zip(parts, every, strict=True) if part.of_links]
        return reduce(logical_or, [super(CrowdStep, self).rebounds(kept) for kept in of_links], False)


class LinkImpulses(SceneImpulses):
    """Contacts of links with loose bodies, each other and what is fixed; see `SceneImpulses`."""

    def __init__(self, at: Situated, linked: LinkedModel, motions: Motions, *scene: Any) -> None:
        self.at, self.motions, self.links = at, motions, at.bodies
        bodies = scene[0].scene
        pairs = [(linked.number[body.index], -1) for body in bodies.links]
        self.loose_count = len(bodies.loose)
        self.signs = np.concatenate([freedom_signs(linked.model, pairs), np.zeros((1, len(motions.freedoms)))])
        super().__init__(*scene)

    def sweeps(self, bouncing: bool, finer: Any, joints: int = 0) -> Sweeps:
        """The contacts as `linear` takes them; joints: rows of the table of velocities before those of bodies."""
        n, parts = len(self.moving.motion), self.problem_columns(LinkContacts._fields, bouncing)
        contacts = LinkContacts(loose=rows_of_bodies(self.loose, joints, n), **parts)
        return LinkSweeps(contacts, joints + n, self.element.contact.tolerance, finer)

    def _pushing_links(self, touching: Touching, remembered: dict[str, np.ndarray]) -> Any:
        """How many contacts of links pushed in the step before."""

        def one_more(_: Any, pushing: Any, last: Any) -> dict[str, Any]:
            return {"pushing": pushing + where(last["p"][0] > 0.0, 1.0, 0.0)}

        begin = {"pushing": 0.0}
        return visit(one_more, {"last": remembered}, NOTHING, carry=begin, count=touching.count)["pushing"]

    def _columns(
        self, touching: Touching, remembered: dict[str, np.ndarray], times: np.ndarray
    ) -> dict[str, np.ndarray]:
        """All that the problem needs of contacts."""
        about, n, none = self.about, float(self.loose_count), float(len(self.signs) - 1)
        asked = Asked(self.element, self.h, self.memory, about, self.at.recovers)
        alone = pushed_alone([self._pushing_links(touching, remembered)])

        def loose_side(bodies: Any) -> dict[str, Any]:
            first, second = bodies
            number = where(first < n, first, where(second < n, second, -1.0))
            return {"at": np.array([number]), "sign": where(first < n, 1.0, where(second < n, -1.0, 0.0))}

        def one(
            rows: Any, number: Any, bodies: Any, sign: Any, gap: Any, position: Any, normal: Any, aside: Any, last: Any
        ) -> dict[str, Any]:
            law, axes = law_of(self.element.laws, number), tangent_frame(normal)
            side = Side(rows[0], axes, position + sign * aside, about)
            a, b = (lookup(self.signs, where(x < n, none, x - n)) for x in bodies)
            J_links = self.motions.rows(a - b, axes, position - sign * aside, about)
            carrier = self.links.carrier(J_links)
            jump = None if self.at.jump is None else carrier.X.T @ self.at.jump
            before = sign * side.before + J_links @ self.at.v
            free = before + sign * side.kick + carrier.X.T @ self.at.kick
            J, Y = (sign * x for x in _loose_rows(side, axes, about))
            both = (np.concatenate([x[:, :3], y[:3].T]) for x, y in ((carrier.X, J), (carrier.Y, Y)))
            last, thin = Last(**last), number_of(self.element.thin, number)
            columns = asked.columns(law, gap, before, free, last, alone, mobility(*both), jump, thin=thin)
            columns |= self.start_columns(last)
            return columns | {"one_more": number + 1.0, "J": J, "Y": Y, "B": whitened(carrier.Y.T, self.links.mass.r)}

        sides = visit(lambda _, bodies: loose_side(bodies), {"bodies": touching.bodies}, NOTHING, count=touching.count)
        self.loose = sides["at"][:, 0]
        items: dict[str, Any] = {"number": touching.number, "bodies": touching.bodies, "sign": sides["sign"]}
        items |= {"gap": touching.gap, "position": touching.position, "normal": touching.normal}
        items |= {"aside": touching.aside, "last": remembered}
        return visit(one, items, self.moving.motion, sides["at"], count=touching.count)


def _loose_rows(side: Side, axes: np.ndarray, about: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(3 + m, 6) of a loose body: velocities along and about axes per velocity of it, and what impulses change."""
    turning = np.array([[0.0, 0.0, 0.0, *axes[k]] for k in about]).reshape(-1, SIZE)
    turned = np.concatenate([np.zeros((len(about), 3)), side.spins], axis=1)
    J = np.concatenate([np.concatenate([axes, side.levers], axis=1), turning])
    return J, np.concatenate([np.concatenate([side.light * axes, side.turns], axis=1), turned])


class CrowdImpulses(ContactImpulses):
    """The problem of a step: contacts of loose bodies, then those of links, in slots, and rows of joints."""

    def __init__(self, step: CrowdStep, at: Situated) -> None:
        system, element, linked, loose, moving = step.system, step.element, step.linked, step.loose, at.loose
        assert moving is not None
        super().__init__(system, element, at)
        self.step = step
        scene, model, h = loose.scene, linked.model, at.h
        X = poses(model, at.bodies.q)
        motions = Motions(model, X, at.bodies.q)
        radii = [body_radius(body) for body in scene.links]
        bodies = [model.bodies[linked.number[body.index]] for body in scene.links]
        placed = PlacedBodies(bodies, radii, X, motions, h)
        rows = np.concatenate([moving.placed[:-1], placed.rows(placed.ahead(at.v))])
        later = np.concatenate([moving.later[:-1], placed.later(at.v)])
        self.moving = moving = moving._replace(placed=rows, later=later)
        self.turning, self.motions, self.link_bodies = loose.turning, motions, bodies
        self.joints = -(-model.nv // SIZE)
        self.root = np.array([sqrt(x) for x in at.bodies.mass.r])
        self.kinds: list[SceneImpulses] = []  # of loose bodies among themselves, then of links
        memories = memory_parts(at.memory, [part.room for part in scene.parts], len(element.turning))
        for part, memory in zip(scene.parts, memories, strict=True):
            here = LooseBodies(system, part), element, moving, memory, h
            self.kinds.append(LinkImpulses(at, linked, motions, *here) if part.of_links else SceneImpulses(*here))
        self.times = meeting_times(self.kinds, moving.motion, h)
        for kind in self.kinds:
            kind.ask(self.times)

    def _problem(self, bouncing: bool, finer: Any) -> CrowdProblem:
        kinds = [kind.sweeps(bouncing, finer, self.joints) for kind in self.kinds]
        return CrowdProblem(kinds, self._joint_rows(), self.moving.inertia)

    def _joint_rows(self) -> Rows:
        """Stops, friction and other rows of joints, in the coordinates of the table."""
        Y = (self.row_carrier.Y.T * self.root).T
        carrier = Carrier(np.eye(len(Y)), Y.T, Y, Y)
        return Rows(carrier, self.row_free, self.row_laws, self.row_give)

    def solved(self) -> Solved:
        """All impulses on their laws."""
        contact, memory = self.element.contact, self.at.memory
        motion = [largest_size(kind.columns["before"], kind.touching.count) for kind in self.kinds]
        motion += [absolute(x) for x in self.v]
        finer = finer_tolerance(contact.tolerance, reduce(maximum, motion), memory.passes, FINEST)
        problem = self._problem(True, finer)
        rows = memory.rows
        start = problem.joined([kind.columns["p"] for kind in self.kinds], rows)
        slip = np.concatenate([kind.columns["slip"] for kind in self.kinds])

        def impulses(bouncing: bool) -> ConstraintImpulses:
            here = problem if bouncing else self._problem(False, finer)
            return solved_crowd(here, (start, slip), contact.tolerance, finer)

        def responded(p: np.ndarray) -> np.ndarray:
            return problem.along(problem.pushed(p))

        if self.element.bounces:
            before = problem.joined([kind.columns["meets"] for kind in self.kinds], self.row_meets)
            free = problem.joined([kind.columns["free"] for kind in self.kinds], self.row_free)
            solution, left = without_gain(impulses, before, free, responded, memory.owed)
        else:
            solution, left = impulses(True), 0.0
        return self._result(problem, solution, left)

    def _result(self, problem: CrowdProblem, solution: ConstraintImpulses, left: Any) -> Solved:
        """The changes of velocities of loose bodies, and what the step remembers."""
        pushed = problem.pushed(solution.p)
        w = np.concatenate([problem.of_joints(pushed) / self.root, pushed[SIZE * self.joints :]])
        (parts, rows), slips = problem.split(solution.p), problem.slips(solution.slip)
        lost, owed = [0.0, 0.0, 0.0], 0.0
        changes, _ = problem.split(problem.along(pushed))
        for kind, p, du in zip(self.kinds, parts, changes, strict=True):
            if self.element.bounces:
                owed = owed + kind.owed(p, du, left - owed)
            if self.measures:
                lost = [x + y for x, y in zip(lost, kind.lost(p, du), strict=True)]
        memory = self.at.memory
        crowded = reduce(maximum, [where(kind.touching.lost > 0.0, 1.0, 0.0) for kind in self.kinds])
        missed = [largest_size(kind.columns["passed"], kind.touching.count) for kind in self.kinds]
        too_far = self._turned(w, parts)
        numbers = counts(memory, solution, reduce(maximum, missed), too_far)
        numbers["unsettled"] = maximum(numbers["unsettled"], memory.unsettled + crowded)
        after = Memory(
            contacts=np.concatenate([p[:, :3].ravel() for p in parts]),
            turned=np.concatenate([p[:, 3:].ravel() for p in parts]),
            rows=rows,
            slip=np.concatenate(slips),
            held=np.concatenate([kind.columns["held"].ravel() for kind in self.kinds]),
            approach=np.concatenate([kind.columns["waits"].ravel() for kind in self.kinds]),
            numbers=np.concatenate([kind.columns["one_more"] for kind in self.kinds]),
            normals=np.concatenate([kind.normals for kind in self.kinds]),
            owed=owed,
            crowded=memory.crowded + crowded,
            **numbers,
        )
        return Solved(w, after, *lost)

    def joints_after(self, w: np.ndarray) -> np.ndarray:
        """Velocities of the links at the end of the step."""
        return super().velocity(w[: len(self.v)])

    def velocity(self, w: np.ndarray) -> np.ndarray:
        """v (nv,) of all bodies at the end of the step."""
        v1 = self.step.loose.changed(self.at.middle.q, self.at.middle.v, self._loose_changes(w))
        v1[self.step.linked.v] = self.joints_after(w)
        return v1

    def displacement(self, w: np.ndarray) -> np.ndarray:
        """The move that brings joints back on their constraints, and met bodies to where they go."""
        more = self.step.loose.moved_back(self.at.middle.q, self.times, w[len(self.v) :].reshape(-1, SIZE))
        joints = super().displacement(w)
        if joints is not None:
            more[self.step.linked.v] = joints
        return more

    def _loose_changes(self, w: np.ndarray) -> np.ndarray:
        return self.moving.changes(w[len(self.v) :].reshape(-1, SIZE))

    def _turned(self, w: np.ndarray, p: Sequence[np.ndarray]) -> Turned:
        """Find what turns too far for the step to follow it; p: impulses of contacts of each kind."""
        twists = self.motions.twists(self.joints_after(w))
        loose = MOTION.named(self.moving.motion)["before"] + self._loose_changes(w)
        of_links = [twists[body.index] for body in self.link_bodies]
        spins = np.array([*loose[:, 3:], *(twist[:3] for twist in of_links)])

        def at_length() -> Turned:
            poses = self.moving.placed[: len(spins), :12]
            places = zip(of_links, poses[len(loose) :], strict=True)
            origins = [twist[3:] + cross(twist[:3], x[9:] - self.motions.reference) for twist, x in places]
            table = self.turning.rows(poses, spins, np.array([*loose[:, :3], *origins]))
            kinds = zip(self.kinds, p, strict=True)
            return reduce(Turned.worse, [kind.turned(table, impulses) for kind, impulses in kinds])

        return where_fast(self.turning.most(self.h, spins), at_length)

    def work(self, applied: Applied, v1: np.ndarray, solution: Solved) -> np.ndarray:
        """The change of each account of the ledger in the step [J], at velocities (nv,) of all bodies."""
        whole, links = copy(self), copy(self.bodies)
        assert isinstance(links, Links)
        links.servos = links.whole_servos
        whole.v, whole.rows, whole.bodies = self.at.middle.v, links.whole_rows, links
        return super(CrowdImpulses, whole).work(applied, v1, solution)


def memory_parts(memory: Memory, rooms: list[int], m: int) -> list[Memory]:
    """The memory of contacts in as many slots as each kind has room for; m: axes of friction about them."""
    parts, at = [], 0
    for room in rooms:
        end = at + room

        def part(x: np.ndarray, width: int, at: int = at, end: int = end) -> np.ndarray:
            return x[width * at : width * end]

        parts.append(
            memory._replace(
                contacts=part(memory.contacts, 3),
                turned=part(memory.turned, m),
                rows=np.zeros(0),
                slip=part(memory.slip, 1),
                held=part(memory.held, 3),
                approach=part(memory.approach, len(memory.approach) // len(memory.slip)),
                numbers=part(memory.numbers, 1),
                normals=part(memory.normals, 3),
            )
        )
        at = end
    return parts


def whitened(Y: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Rows Y (m, n) of Y = L⁻¹ Jᵀ in coordinates with the inertia 1, with zeros behind them up to whole rows of six."""
    more = -len(r) % SIZE
    return np.concatenate([Y * np.array([sqrt(x) for x in r]), np.zeros((len(Y), more))], axis=1)
