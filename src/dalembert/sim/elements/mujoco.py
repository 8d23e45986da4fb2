"""MuJoCo's soft constraints as a part of a system: contacts, limits, dry friction, equalities, tendons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.algorithms.free_bodies import turning
from dalembert.contact import Contact
from dalembert.contact.candidates import WORLD
from dalembert.contact.mujoco_candidates import MujocoPatch, mujoco_candidates
from dalembert.contact.mujoco_joints import Soft, soft_rows
from dalembert.contact.mujoco_points import Point
from dalembert.contact.mujoco_rows import Block, contact_block
from dalembert.contact.mujoco_solver import Solution, constrained
from dalembert.contact.mujoco_weights import mobility
from dalembert.contact.rows import point_motion
from dalembert.linear import factor, sparse_product
from dalembert.model import Model
from dalembert.model.mujoco import Mujoco

from .base import Action, Element, Situation

KEPT = 16  # constraints of a model
SHORTEST = 2.0  # steps: the shortest time constant of a reference acceleration


class Balance(NamedTuple):
    """The balance of a state: all contact points, their velocities as rows (3, nv) along world axes, and the solution.

    The first of its answers are those of the points.
    """

    points: list[Point]
    motions: list[np.ndarray]
    solution: Solution


@dataclass(frozen=True)
class MujocoConstraints(Element):
    """All constraints of MuJoCo's model; shortest: time constant [s] of their reference accelerations."""

    loses: ClassVar[bool] = True

    contact: Contact
    patches: tuple[MujocoPatch, ...]
    soft: tuple[Soft, ...]
    cone: str
    impratio: float
    shortest: float

    def label(self) -> str:
        """The name of its account."""
        return "contact"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the points that may touch."""
        return tuple(name for patch in self.patches for name in patch.names)

    def act(self, s: Situation) -> Action:
        """Nothing by itself: the forces depend on all others, see `balance`."""
        return Action()

    def balance(
        self, model: Model, q: np.ndarray, v: np.ndarray, forces: np.ndarray, wrenches: dict[int, np.ndarray]
    ) -> Balance:
        """Accelerations and forces at q (nq,), v (nv,) under other forces (nv,) and wrenches on bodies."""
        points, motions, blocks = self._contacts(model, q, v)
        for each in self.soft:
            blocks += each.blocks(model, q, v, self.shortest)
        M = algorithms.mass_matrix(model, q)
        a0 = factor(M, range(model.nv)[::-1]).solve(forces - algorithms.bias(model, q, v, wrenches))
        turn = turning(model, v)
        solution = constrained(M, a0 + turn, blocks)
        return Balance(points, motions, solution._replace(a=solution.a - turn))

    def _contacts(
        self, model: Model, q: np.ndarray, v: np.ndarray
    ) -> tuple[list[Point], list[np.ndarray], list[Block]]:
        """Points, the rows (3, nv) of their velocities along world axes, and their constraints."""
        X = algorithms.poses(model, q)
        points, motions, blocks = [], [], []
        for patch in self.patches:
            for point in patch.points(X):
                motion = np.zeros((6, model.nv), object)
                for sign, body in ((1.0, patch.first), (-1.0, patch.second)):
                    if body != WORLD:
                        motion = motion + sign * point_motion(model, X, q, body, point.position)
                axes, condim = point.axes, patch.parameters.condim
                J = sparse_product(axes, motion[3:])
                if condim > 3:
                    J = np.concatenate([J, sparse_product(axes, motion[:3])])
                weights = patch.linear, patch.angular
                blocks.append(
                    contact_block(
                        self.cone,
                        self.impratio,
                        patch.parameters,
                        J[:condim],
                        v,
                        point.distance,
                        weights,
                        self.shortest,
                    )
                )
                points.append(point)
                motions.append(motion[3:])
        return points, motions, blocks

    def world_forces(self, balance: Balance) -> np.ndarray:
        """(k, 3) on the first body of each contact, in world axes [N]."""
        pushes = []
        for point, answer in zip(balance.points, balance.solution.answers, strict=False):
            axes = point.axes
            pushes.append(sum(axes[i] * answer[i] for i in range(min(3, len(answer)))))
        return np.array(pushes).reshape(len(balance.points), 3)


def softened(
    model: Model, elements: tuple[Element, ...], contact: Any, step: float | None
) -> tuple[Model, tuple[Element, ...]]:
    """With a contact of MuJoCo's model: the model without what its constraints replace, and the elements with them.

    step [s]: of the integrator; None: it chooses its own.
    """
    if not (isinstance(contact, Contact) and contact.model == "mujoco"):
        return model, elements
    return model.without("friction", "loops"), (*elements, mujoco_constraints(model, contact, step))


def first_step(model: Model, contact: Any, integrator: Any, step: float | None) -> float | None:
    """The step [s] of a run that states none: with MuJoCo's contacts that of the file."""
    if step is None and not integrator.adaptive and isinstance(contact, Contact) and contact.model == "mujoco":
        return (model.mujoco or Mujoco()).option.timestep
    return step


def mujoco_constraints(model: Model, contact: Contact, step: float | None) -> MujocoConstraints:
    """All constraints of a model, kept with it."""
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
        known[key] = MujocoConstraints(contact, patches, rows, option.cone, option.impratio, shortest)
    return known[key]
