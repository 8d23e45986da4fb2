"""All soft constraints of a model: contacts, limits, dry friction, equalities, tendons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact import Contact
from dalembert.contact.candidates import WORLD
from dalembert.contact.gathering import Motions
from dalembert.contact.rows import point_motion
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.free_bodies import turning
from dalembert.linear import factor, sparse_product
from dalembert.math import where
from dalembert.model import Model
from dalembert.model.mujoco import HeightMap, Mujoco
from dalembert.typing import Array

from .candidates import MujocoPatch, mobility, mujoco_candidates
from .gathering import SLOTS, MujocoGathering, Slots
from .heights import MOST_PRISMS
from .joints import Soft, soft_rows
from .points import ContactPoint
from .rows import ConstraintBlock, SlottedContacts, contact_block
from .solver import SoftSolution, constrained, forces_at

KEPT = 16  # constraints of a model
FEW = 24  # points that may touch, up to which they are not gathered
SHORTEST = 2.0  # steps: the shortest time constant of a reference acceleration


class TouchingPoints(NamedTuple):
    """Points that may touch: gap (k,) [m], position (k, 3), normal (k, 3) from the second body to the first.

    velocity (k, 3): of the first body past the second [m/s]; force (k, 3) on the first body, in world axes [N].
    """

    gap: Array
    position: Array
    normal: Array
    velocity: Array
    force: Array


class _WrittenContacts(NamedTuple):
    """Contacts one by one: their points, their velocities as rows (3, nv) along world axes, and their constraints."""

    points: list[ContactPoint]
    motions: list[Array]
    blocks: list[ConstraintBlock]


@dataclass(frozen=True)
class MujocoConstraints:
    """Soft constraints of a model; shortest: least time constant [s] of their reference accelerations.

    gathers: whether contacts are gathered into slots; else each point that may touch is part of every step.
    """

    contact: Contact
    patches: tuple[MujocoPatch, ...]
    soft: tuple[Soft, ...]
    cone: str
    impratio: float
    shortest: float
    gathers: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the points that may touch."""
        return tuple(name for patch in self.patches for name in patch.names)

    @property
    def slots(self) -> int:
        """Number of slots for contacts, if these are gathered."""
        return min(SLOTS, len(self.names))

    @property
    def room(self) -> str:
        """Reason for accelerations that are NaN: what does not fit into the slots."""
        heights = any(isinstance(patch.a, HeightMap) for patch in self.patches)
        prisms = f", or shapes are near more than {MOST_PRISMS} prisms of a height field" if heights else ""
        return f"more than {self.slots} points touch{prisms}, for which there is no room"

    def determinants(self) -> tuple[Any, ...]:
        """Objects that determine its code."""
        return self.contact, self.soft, self.cone, self.impratio, self.shortest, self.gathers, self._content

    @cached_property
    def _content(self) -> tuple[Any, ...]:
        """Names and numbers of all pairs of shapes, and the shapes, each once."""
        shapes: dict[int, Any] = {id(x): x for patch in self.patches for x in (patch.a, patch.b)}
        number = {key: float(k) for k, key in enumerate(shapes)}
        rows = [(number[id(patch.a)], number[id(patch.b)], *patch.numbers) for patch in self.patches]
        return "\n".join(self.names), np.array(rows), tuple(shapes.values())

    def gathering(self, model: Model) -> MujocoGathering:
        """Return all pairs of shapes, by kind."""
        return MujocoGathering(model, self.patches)

    def balance(self, model: Model, q: Array, v: Array, forces: Array, wrenches: dict[int, Array]) -> SoftSolution:
        """Accelerations and forces at q (nq,), v (nv,) under other forces (nv,) and wrenches on bodies."""
        if not self.gathers:
            return self._solved(model, q, v, forces, wrenches, self._contacts(model, q, v).blocks)
        gathering, X = self.gathering(model), algorithms.poses(model, q)
        return self._gathered(gathering, gathering.slots(X), Motions(model, X, q), q, v, forces, wrenches)

    def touching(
        self, model: Model, q: Array, v: Array, forces: Array, wrenches: dict[int, Array]
    ) -> tuple[Array, TouchingPoints]:
        """Return accelerations (nv,), and all points that may touch."""
        if not self.gathers:
            contacts = self._contacts(model, q, v)
            solution = self._solved(model, q, v, forces, wrenches, contacts.blocks)
            points, k = contacts.points, len(contacts.points)
            gap = np.array([point.distance for point in points])
            position, normal = (np.array([getattr(p, x) for p in points]) for x in ("position", "normal"))
            velocity = np.array([sparse_product(motion, v) for motion in contacts.motions])
            pushes = [x[:3] @ point.axes[: len(x)] for point, x in zip(points, solution.answers[:k], strict=True)]
            arrays = (x.reshape(k, 3) for x in (position, normal, velocity, np.array(pushes)))
            return solution.a, TouchingPoints(gap, *arrays)
        gathering, X = self.gathering(model), algorithms.poses(model, q)
        slots, motions = gathering.slots(X), Motions(model, X, q)
        solution = self._gathered(gathering, slots, motions, q, v, forces, wrenches)
        gap, position, normal = gathering.points(X)
        velocity = gathering.velocities(motions, position, v)
        force = gathering.by_point(slots, solution.contacts[:, :3])
        return solution.a, TouchingPoints(gap, position, normal, velocity, force)

    def inverse(self, model: Model, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the other forces (nv,) under which the accelerations are a (nv,), and contact forces (k, 3)."""
        others = [block for each in self.soft for block in each.blocks(model, q, v, self.shortest)]
        turned, rest = a + turning(model, v), algorithms.rnea(model, q, v, a)
        if not self.gathers:
            found = self._contacts(model, q, v)
            solution, k = forces_at(turned, [*found.blocks, *others]), len(found.points)
            pushes = [x[:3] @ p.axes[: len(x)] for p, x in zip(found.points, solution.answers[:k], strict=True)]
            return rest - solution.force, np.array(pushes).reshape(k, 3)
        gathering, X = self.gathering(model), algorithms.poses(model, q)
        slots = gathering.slots(X)
        contacts = gathering.contacts(slots, Motions(model, X, q), v, self.cone, self.impratio, self.shortest)
        solution = forces_at(turned, others, contacts)
        tau = where(slots.overfull < 0.5, rest - solution.force, np.nan)
        return tau, gathering.by_point(slots, solution.contacts[:, :3])

    def _gathered(
        self,
        gathering: MujocoGathering,
        slots: Slots,
        motions: Motions,
        q: Array,
        v: Array,
        forces: Array,
        wrenches: dict[int, Array],
    ) -> SoftSolution:
        """Solution with the contacts in slots; NaN if they do not fit."""
        contacts = gathering.contacts(slots, motions, v, self.cone, self.impratio, self.shortest)
        solution = self._solved(gathering.model, q, v, forces, wrenches, [], contacts)
        enough = slots.overfull < 0.5
        a, force = (where(enough, x, np.nan) for x in (solution.a, solution.force))
        return solution._replace(a=a, force=force)

    def _solved(
        self,
        model: Model,
        q: Array,
        v: Array,
        forces: Array,
        wrenches: dict[int, Array],
        blocks: list[ConstraintBlock],
        contacts: SlottedContacts | None = None,
    ) -> SoftSolution:
        """Solution under the constraints of contacts and all others."""
        others = [block for each in self.soft for block in each.blocks(model, q, v, self.shortest)]
        M = algorithms.mass_matrix(model, q)
        a0 = factor(M, range(model.nv)[::-1]).solve(forces - algorithms.bias(model, q, v, wrenches))
        turn = turning(model, v)
        solution = constrained(M, a0 + turn, [*blocks, *others], contacts)
        return solution._replace(a=solution.a - turn)

    def _contacts(self, model: Model, q: Array, v: Array) -> _WrittenContacts:
        X = algorithms.poses(model, q)
        contacts = _WrittenContacts([], [], [])
        for patch in self.patches:
            for point in patch.points(X):
                motion = np.zeros((6, model.nv), object)
                for sign, body in ((1.0, patch.first), (-1.0, patch.second)):
                    if body != WORLD:
                        motion = motion + sign * point_motion(model, X, q, body, point.position)
                axes, parameters = point.axes, patch.parameters
                J = sparse_product(axes, motion[3:])
                if parameters.condim > 3:
                    J = np.concatenate([J, sparse_product(axes, motion[:3])])
                J, numbers = J[: parameters.condim], (v, point.distance, patch.linear, self.shortest)
                contacts.blocks.append(contact_block(self.cone, self.impratio, parameters, J, *numbers))
                contacts.points.append(point)
                contacts.motions.append(motion[3:])
        return contacts


def mujoco_constraints(model: Model, contact: Contact, step: float | None) -> MujocoConstraints:
    """Return the constraints of a model, which are kept with it."""
    known = model.__dict__.setdefault("_mujoco_constraints", {})  # models are equal whatever their shapes are
    key = contact, step
    if key not in known:
        if len(known) >= KEPT:
            known.clear()
        mujoco = model.mujoco or Mujoco()
        option = mujoco.option
        shortest = SHORTEST * (option.timestep if step is None else float(step)) if option.refsafe else 0.0
        patches = mujoco_candidates(model, contact)
        rows = soft_rows(model, mujoco, mobility(model))
        on_heights = any(isinstance(patch.a, HeightMap) for patch in patches)  # of which most prisms are far away
        gathers = on_heights or sum(len(patch.names) for patch in patches) > FEW
        known[key] = MujocoConstraints(contact, patches, rows, option.cone, option.impratio, shortest, gathers)
    return known[key]
