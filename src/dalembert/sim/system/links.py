"""The links of a model without its loose bodies, as a model of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.compiler.execute import RecentSame
from dalembert.errors import DalembertError
from dalembert.linear import nonzeros
from dalembert.model import Body, Model
from dalembert.model.aligned import AlignedFrames
from dalembert.spatial import Pose

if TYPE_CHECKING:
    from .system import Applied


class LinkedModel(NamedTuple):
    """The bodies of a model that joints carry. q, v: the numbers of its coordinates and velocities in the whole model.

    number: of each body there, by that in the whole model.
    """

    model: Model
    q: np.ndarray
    v: np.ndarray
    number: dict[int, int]

    @classmethod
    def whole(cls, model: Model) -> LinkedModel:
        """All bodies of a model."""
        return cls(model, np.arange(model.nq), np.arange(model.nv), {body.index: body.index for body in model.bodies})

    @property
    def frames(self) -> AlignedFrames:
        """The frames of its bodies as they are."""
        return AlignedFrames(self.model, np.zeros(self.model.nq), tuple(Pose.identity() for _ in self.model.bodies))

    def applied(self, applied: Applied) -> Applied:
        """The part that acts on these bodies, of what acts on all."""
        wrenches = {self.number[body]: F for body, F in applied.wrenches.items() if body in self.number}
        return applied._replace(forces=applied.forces[self.v], wrenches=wrenches)


_recent = RecentSame(8)


def linked_model(model: Model, loose: Sequence[Body]) -> LinkedModel:
    """The model without loose bodies; kept for the same model."""
    return _recent.get((model,), lambda: _without(model, loose))


def _without(model: Model, loose: Sequence[Body]) -> LinkedModel:
    apart = {body.index for body in loose}
    kept = [body for body in model.bodies if body.index not in apart]
    index = {body.index: k for k, body in enumerate(kept)}
    leaders = [body for body in kept if body.joint.mimic is None]
    q = np.concatenate([np.arange(body.q.start, body.q.stop) for body in leaders])
    v = np.concatenate([np.arange(body.v.start, body.v.stop) for body in leaders])

    def moved(body: Body) -> Body:
        places = []
        for numbers, old in ((q, body.q), (v, body.v)):
            start = int(np.searchsorted(numbers, old.start))
            places.append(slice(start, start + old.stop - old.start))
        parent = index[body.parent] if body.parent >= 0 else -1
        return replace(body, index=index[body.index], parent=parent, q=places[0], v=places[1])

    bodies = tuple(moved(body) for body in kept)
    alone = replace(model, bodies=bodies, frames=(), closures=(), actuators=(), keyframes=(), joint_force_limits=())
    return LinkedModel(replace(alone, exclusions=(), mujoco=None), q, v, index)


def check_rows(model: Model, J: np.ndarray, columns: np.ndarray) -> None:
    """Refuse constraints that hold loose bodies."""
    held = np.delete(np.arange(model.nv), columns)
    held = held[nonzeros(J)[:, held].any(axis=0)]
    if len(held):
        names = [body.name for body in model.bodies if set(range(body.v.start, body.v.stop)) & set(held.tolist())]
        raise DalembertError(
            f"contact: constraints hold {', '.join(map(repr, names))}, which is one of many loose bodies beside a "
            "robot: give its joint some damping, so that it counts as a part of the robot"
        )
