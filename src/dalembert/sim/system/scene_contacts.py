"""Impulses of a time step with very many pairs of bodies, loose or linked: see `contact_step`.

Each state lists the pairs whose bounds come near each other; their points that may touch within the step go into slots
(`contact.scene`). So neither code nor most of the work grows with the number of pairs. Loose bodies are rows of a table
of velocities beside the coordinates of joints, so contacts of links are solved for together with all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.bounds import body_radius, possible_motion
from dalembert.contact.gathering import AHEAD, NEAR, Motions, freedom_signs, known_before
from dalembert.contact.scene import Scene, Touching
from dalembert.dynamics.algorithms import poses
from dalembert.dynamics.collision.groups import pose_numbers
from dalembert.math import branch, logical_and, lookup, maximum, repeat, where
from dalembert.math import map as loop
from dalembert.model import Body
from dalembert.spatial import Pose, cross

from ..elements.contact import Memory
from .contact_problem import ContactImpulses, Situated, Solved
from .gathered_contacts import ROUNDS
from .looped_contacts import LinkContacts, LoopedContacts, LooseContacts
from .meeting import meeting_times

if TYPE_CHECKING:
    from .contact_step import ContactStep


class SceneImpulses(ContactImpulses):
    """Contacts of pairs that are near: of loose bodies among themselves, then of links."""

    def __init__(self, step: ContactStep, at: Situated) -> None:
        super().__init__(step, at)
        assert step.scene is not None
        self.scene = step.scene
        self.parts = self.scene.parts if self.element.looped else [self.scene]
        self.loose_count = 0 if self.loose is None else len(self.loose.motion)
        links = [self.model.bodies[k] for k in step.links]
        radii = [body_radius(body) for body in self.scene.bodies[self.loose_count :]]
        self.placed = PlacedBodies(links, radii, self.X, self.motions, self.h)
        if self.loose is not None:
            self.every = self._touching(self.placed.ahead(self.v))
            self.meeting_times = np.zeros(self.loose_count)
            if self.scene.pairs_of_loose:
                least = self.element.contact.tolerance * self.h
                self.meeting_times = meeting_times(self.every, self.loose.motion, self.h, least)

    def solved(self) -> Solved:
        """All impulses on their laws, of all points that bodies reach within the step.

        If a step moves a link further than its bound allowed for, it looks for pairs again, with that much more room.
        """

        def attempt(ahead: Any, *_: Any) -> dict[str, Any]:
            solved, full = self._on(self._touching(ahead))
            moved = self.placed.ahead(self.joints_after(solved.w))
            seen = [x <= AHEAD * y + NEAR for x, y in zip(moved, ahead, strict=True)]
            done = where(reduce(logical_and, seen), 1.0, full)
            return {"ahead": maximum(ahead, moved), **solved.numbers(), "full": full, "done": done}

        before = self.at.memory
        if self.loose is not None:
            solved, full = self._on(self.every)
            failed = full
        else:
            nothing = Solved(np.zeros(len(self.v)), before, 0.0, 0.0, 0.0)
            begin = {"ahead": self.placed.ahead(self.v), **nothing.numbers(), "full": 0.0, "done": 0.0}
            end = repeat(attempt, ROUNDS, begin, "done")
            memory = self.element.memory(end["memory"])
            solved = Solved(end["w"], memory, end["impacts"], end["friction"], end["recovery"])
            full, failed = end["full"], maximum(end["full"], where(end["done"] > 0.0, 0.0, 1.0))
        unsettled = maximum(solved.memory.unsettled, before.unsettled + failed)
        memory = solved.memory._replace(unsettled=unsettled, crowded=before.crowded + full)
        return solved._replace(memory=memory)

    def _touching(self, ahead: np.ndarray) -> list[Touching]:
        """Contacts of each part on pairs that come near, where links may move so far [m]."""
        rows, later = self.placed.rows(ahead), self.placed.later(self.v)
        if self.loose is not None:
            rows = np.concatenate([self.loose.placed[:-1], rows])
            later = np.concatenate([self.loose.later[:-1], later])
        self.reach = rows[:, -1:]
        return [part.touching(rows, later) for part in self.parts]

    def _on(self, every: Sequence[Touching]) -> tuple[Solved, Any]:
        """The solution on these contacts, and 1 where some found no room, else 0."""
        memories = memory_parts(self.at.memory, [part.room for part in self.parts], len(self.element.turning))
        tables = [self._table(*parts) for parts in zip(self.parts, every, memories, strict=True)]
        full = reduce(maximum, [where(touching.lost > 0.0, 1.0, 0.0) for touching in every])
        return self.solution(tables), full

    def gaps_ahead(self, meets: Any, numbers: np.ndarray, count: Any) -> np.ndarray:
        """(k,): see `ContactImpulses.gaps_ahead`; of pairs that are near after the step, others are open."""
        unknown = {"gap": np.full(len(numbers), -1.0)}

        def along() -> dict[str, np.ndarray]:
            q = self._coordinates_ahead
            X = poses(self.model, q)
            poses_ahead = PlacedBodies(self.placed.bodies, self.placed.radii, X, Motions(self.model, X, q), self.h)
            rows = poses_ahead.later(0.0 * self.v)
            if self.loose is not None:
                rows = np.concatenate([self.loose.later_pushed(self.h), rows])
            touching = self.parts[-1].touching(np.concatenate([rows, self.reach], axis=1), rows)
            one_more = loop(lambda number: {"x": number + 1.0}, {"number": touching.number}, touching.count)["x"]
            near = {"gap": touching.gap, "known": np.ones(len(one_more))}
            found = known_before(numbers, count, one_more, len(self.element.names), near)
            full = touching.lost > 0.0

            def gap(gap: Any, known: Any) -> dict[str, Any]:
                return {"gap": where(full, -1.0, where(known > 0.5, gap, NEAR))}

            return loop(gap, found, count)

        return branch(meets, along, unknown)["gap"] if self._on_arcs else unknown["gap"]

    def _table(self, part: Scene, touching: Touching, memory: Memory) -> LoopedContacts:
        """Contacts of one kind."""
        here = self, touching, touching.count, memory, len(touching.number)
        if self.loose is not None and not part.of_links:
            return LooseContacts(*here)
        n, none = float(self.loose_count), float(len(self.step.links))
        signs = freedom_signs(self.model, [(k, -1) for k in self.step.links])
        table = np.concatenate([signs, np.zeros((1, len(self.motions.freedoms)))])

        def signs_of(_: Any, bodies: Any) -> np.ndarray:
            first, second = (lookup(table, where(x < n, none, x - n)) for x in bodies)
            return first - second

        if self.loose is not None:
            return LinkContacts(*here, signs_of, lambda _: np.ones(1), None)
        gathering = self.element.gathering(self.model)
        return LinkContacts(*here, signs_of, gathering.groups_of, gathering.pattern)


def memory_parts(memory: Memory, rooms: list[int], m: int) -> list[Memory]:
    """The memory of contacts in as many slots as each kind has room for; m: axes of friction about them."""
    parts, ends = [], np.cumsum(rooms)
    widths = {"contacts": 3, "turned": m, "slip": 1, "held": 3, "numbers": 1, "normals": 3}
    widths["approach"] = len(memory.approach) // len(memory.slip)
    for begin, end in zip(ends - rooms, ends, strict=True):
        arrays = {name: getattr(memory, name)[n * begin : n * end] for name, n in widths.items()}
        parts.append(memory._replace(rows=np.zeros(0), **arrays))
    return parts


class PlacedBodies:
    """Bodies of a model at poses X, which moves as `motions` says in a step of h [s].

    radii (n,): of balls about their centres of mass that hold all their shapes [m].
    """

    def __init__(
        self, bodies: Sequence[Body], radii: Sequence[float], X: Sequence[Pose], motions: Motions, h: Any
    ) -> None:
        self.bodies, self.radii, self.X, self.motions, self.h = bodies, radii, X, motions, h

    def ahead(self, v: np.ndarray) -> np.ndarray:
        """(n,): how far each body may move in the time in which contacts are looked for, at v (nv,) [m]."""
        twists, moves = self.motions.twists(v), []
        for body, radius in zip(self.bodies, self.radii, strict=True):
            twist, X = twists[body.index], self.X[body.index]
            centre = X.p + X.R @ body.inertia.com
            velocity = twist[3:] + cross(twist[:3], centre - self.motions.reference)
            moves.append(possible_motion(self.h, velocity, twist[:3], radius))
        return np.array(moves)

    def later(self, v: np.ndarray) -> np.ndarray:
        """(n + 1, 12): poses after a step at v (nv,), the world last."""
        poses = self.motions.later(self.X, v, self.h)
        rows = [pose_numbers(poses[body.index]) for body in self.bodies]
        return np.array([*rows, pose_numbers(Pose.identity())])

    def rows(self, ahead: np.ndarray) -> np.ndarray:
        """(n + 1, 13): as `Scene.touching` takes them, the world last."""
        poses = [self.X[body.index] for body in self.bodies]
        rows = [[*X.R.ravel(), *X.p, far] for X, far in zip(poses, ahead, strict=True)]
        return np.array([*rows, [*np.eye(3).ravel(), 0.0, 0.0, 0.0, 0.0]])
