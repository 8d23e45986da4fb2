"""Impulses of a time step of a robot whose links may touch each other in very many pairs: see `contact_step`.

Each state lists the pairs whose bounds come near each other; their points that may touch within the step go into slots
(`contact.scene`). So neither code nor most of the work grows with the number of pairs. If a step moves a body further
than its bound allowed for, it looks for pairs again, with that much more room.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.bounds import body_radius, possible_motion
from dalembert.contact.gathering import AHEAD, NEAR, Motions, Slot
from dalembert.dynamics.collision.groups import pose_numbers
from dalembert.math import logical_and, maximum, repeat, where
from dalembert.model import Body
from dalembert.spatial import Pose, cross

from ..elements.contact import RigidContact
from .contact_problem import Situated, Solved
from .gathered_contacts import ROUNDS, GatheredImpulses
from .joint_contacts import SlottedContacts

if TYPE_CHECKING:
    from .system import System


class PairedImpulses(GatheredImpulses):
    """Contacts in slots, those of pairs that are near."""

    def __init__(self, system: System, element: RigidContact, at: Situated) -> None:
        super().__init__(system, element, at)
        self.scene = element.scene(at.bodies.model)
        radii = [body_radius(system.model.bodies[body.index]) for body in self.scene.bodies]
        self.placed = PlacedBodies(self.scene.bodies, radii, self.X, self.motions, at.h)

    def solved(self) -> Solved:
        """All impulses on their laws, of all points that bodies reach within the step."""

        def attempt(ahead: Any, *_: Any) -> dict[str, Any]:
            touching = self.scene.touching(self.placed.rows(ahead), self.placed.later(self.v))
            slots = Slot(touching.number, touching.gap, touching.position, touching.normal, touching.aside)
            solved = self.solution_on(SlottedContacts(self, slots, touching.count))
            moved = self.placed.ahead(self.velocity(solved.w))
            seen = [x <= AHEAD * y + NEAR for x, y in zip(moved, ahead, strict=True)]
            full = where(touching.lost > 0.0, 1.0, 0.0)
            done = where(reduce(logical_and, seen), 1.0, full)
            return {"ahead": maximum(ahead, moved), **solved.numbers(), "full": full, "done": done}

        nothing = Solved(np.zeros(self.system.model.nv), self.at.memory, 0.0, 0.0, 0.0)
        begin = {"ahead": self.placed.ahead(self.v), **nothing.numbers(), "full": 0.0, "done": 0.0}
        end = repeat(attempt, ROUNDS, begin, "done")
        memory, before = self.element.memory(end["memory"]), self.at.memory
        failed = maximum(end["full"], where(end["done"] > 0.0, 0.0, 1.0))
        unsettled = before.unsettled + maximum(memory.unsettled - before.unsettled, failed)
        memory = memory._replace(unsettled=unsettled, crowded=before.crowded + end["full"])
        return Solved(end["w"], memory, end["impacts"], end["friction"], end["recovery"])


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
