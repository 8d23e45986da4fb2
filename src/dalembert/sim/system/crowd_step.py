"""A time step of loose bodies that are looped over, alone or among robots: see `contact_step`.

Loose bodies are rows of a table of velocities. Joints are rows of the same table, in coordinates in which their inertia
is the identity, so contacts of links are solved for together with all others, and the code does not grow with the
number of bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.bounds import body_radius
from dalembert.contact.gathering import Motions
from dalembert.contact.solver import BodyProblem, Carrier, Rows
from dalembert.dynamics.algorithms import poses
from dalembert.math import logical_or, maximum, sqrt, where
from dalembert.spatial import cross

from ..elements.contact import Memory, RigidContact
from .contact_problem import ContactImpulses, ContactStep, Middle, Situated, Solved
from .crowd_contacts import SIZE, CrowdContacts, LinkedContacts, LooseContacts
from .drift import drifted
from .links import Links, linked_model
from .loose_bodies import MOTION, LooseBodies
from .meeting import meeting_times
from .paired_contacts import PlacedBodies
from .turning import Turned, where_fast

if TYPE_CHECKING:
    from .contact_table import ContactTable
    from .system import Applied, System

FINEST = 1e-6  # of the tolerance: the least that is asked for, of bodies at rest


class CrowdStep(ContactStep):
    """A step of a system with loose bodies that are looped over."""

    def __init__(self, system: System, element: RigidContact) -> None:
        super().__init__(system, element)
        scene = element.scene(system.model)
        self.linked, self.loose = linked_model(system.model, scene.loose), LooseBodies(system, scene)
        self.joints = bool(self.linked.model.nv)

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


class CrowdImpulses(ContactImpulses):
    """The problem of a step: contacts of loose bodies, then those of links, in slots, and rows of joints."""

    finest = FINEST

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
        self.moving, self.motions, self.link_bodies = moving, motions, bodies
        self.placed, self.joints = rows, -(-model.nv // SIZE)
        self.root = np.array([sqrt(x) for x in at.bodies.mass.r])
        self.kinds: list[CrowdContacts] = []  # of loose bodies among themselves, then of links
        memories = memory_parts(at.memory, [part.room for part in scene.parts], len(element.turning))
        for part, memory in zip(scene.parts, memories, strict=True):
            here = element, at, memory, part.touching(rows, later)
            self.kinds.append(LinkedContacts(linked, motions, scene, *here) if part.of_links else LooseContacts(*here))
        self.times = np.zeros(len(moving.motion))
        if scene.pairs_of_loose:
            touching = [kind.touching for kind in self.kinds]
            self.times = meeting_times(touching, moving.motion, h, element.contact.tolerance * h)
        for kind in self.kinds:
            kind.ask(self.times)

    def _problem(self, bouncing: bool) -> BodyProblem:
        kinds = [kind.contacts(bouncing, self.joints) for kind in self.kinds]
        Y = (self.row_carrier.Y.T * self.root).T  # of rows of joints, in the coordinates of the table
        rows = Rows(Carrier(np.eye(len(Y)), Y.T, Y, Y), self.row_free, self.row_laws, self.row_give)
        return BodyProblem(kinds, rows, self.moving.inertia)

    def solved(self) -> Solved:
        """All impulses on their laws."""
        before, solved = self.at.memory, self.solution(self.kinds, self._problem)
        crowded = reduce(maximum, [where(kind.touching.lost > 0.0, 1.0, 0.0) for kind in self.kinds])
        unsettled = maximum(solved.memory.unsettled, before.unsettled + crowded)
        memory = solved.memory._replace(unsettled=unsettled, crowded=before.crowded + crowded)
        return solved._replace(memory=memory)

    def moved(self, pushed: np.ndarray) -> np.ndarray:
        """w of a `Solved`: that of joints, then the changes of velocities of loose bodies."""
        return np.concatenate([pushed[: len(self.v)] / self.root, pushed[SIZE * self.joints :]])

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

    def turned(self, tables: Sequence[ContactTable], w: np.ndarray, p: Sequence[np.ndarray]) -> Turned:
        """Find what turns too far for the step to follow it."""
        twists, turning = self.motions.twists(self.joints_after(w)), self.step.loose.turning
        loose = MOTION.named(self.moving.motion)["before"] + self._loose_changes(w)
        of_links = [twists[body.index] for body in self.link_bodies]
        spins = np.concatenate([loose[:, 3:], np.reshape([twist[:3] for twist in of_links], (-1, 3))])

        def at_length() -> Turned:
            poses = self.placed[: len(spins), :12]
            places = zip(of_links, poses[len(loose) :], strict=True)
            origins = [twist[3:] + cross(twist[:3], x[9:] - self.motions.reference) for twist, x in places]
            table = turning.rows(poses, spins, np.concatenate([loose[:, :3], np.reshape(origins, (-1, 3))]))
            kinds = zip(tables, p, strict=True)
            return reduce(Turned.worse, [kind.turned(table, impulses) for kind, impulses in kinds])

        return where_fast(turning.most(self.h, spins), turning.followed, at_length)

    def work(self, applied: Applied, v1: np.ndarray, solution: Solved) -> np.ndarray:
        """The change of each account of the ledger in the step [J], at velocities (nv,) of all bodies."""
        whole, links = copy(self), copy(self.bodies)
        assert isinstance(links, Links)
        links.servos = links.whole_servos
        whole.v, whole.rows, whole.bodies = self.at.middle.v, links.whole_rows, links
        return super(CrowdImpulses, whole).work(applied, v1, solution)


def memory_parts(memory: Memory, rooms: list[int], m: int) -> list[Memory]:
    """The memory of contacts in as many slots as each kind has room for; m: axes of friction about them."""
    parts, ends = [], np.cumsum(rooms)
    widths = {"contacts": 3, "turned": m, "slip": 1, "held": 3, "numbers": 1, "normals": 3}
    widths["approach"] = len(memory.approach) // len(memory.slip)
    for begin, end in zip(ends - rooms, ends, strict=True):
        arrays = {name: getattr(memory, name)[n * begin : n * end] for name, n in widths.items()}
        parts.append(memory._replace(rows=np.zeros(0), **arrays))
    return parts
