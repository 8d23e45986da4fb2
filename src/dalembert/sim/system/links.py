"""The links of a model without its loose bodies: a model of their own, and what impulses move of them in a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import RecentSame
from dalembert.errors import DalembertError
from dalembert.linear import nonzeros
from dalembert.model import Body, Model
from dalembert.model.aligned import AlignedFrames
from dalembert.spatial import Pose

from .bodies import Bodies

if TYPE_CHECKING:
    from dalembert.dynamics.algorithms import ServoStep

    from .constraints import Rows
    from .system import Applied, System


class LinkedModel(NamedTuple):
    """The bodies of a model that joints carry. q, v: the numbers of its coordinates and velocities in the whole.

    number: of each body there, by that in the whole.
    """

    model: Model
    q: np.ndarray
    v: np.ndarray
    number: dict[int, int]

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


class Links(Bodies):
    """The `Bodies` of the links alone; whole_rows, whole_servos: of all bodies."""

    def __init__(
        self, system: System, linked: LinkedModel, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
    ) -> None:
        self.linked, model = linked, linked.model
        here = tuple(Pose.identity() for _ in model.bodies)
        super().__init__(system, AlignedFrames(model, np.zeros(model.nq), here), t, h, q, e, u)

    def _coordinates(self, q: np.ndarray) -> np.ndarray:
        return q[self.linked.q]

    def _servo_step(self, system: System, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> ServoStep | None:
        at = np.ix_(self.linked.v, self.linked.v)
        inertia = np.eye(system.model.nv).astype(object)
        inertia[at] = self.M
        self.whole_servos = servos = system.servo_step(t, self.h, q, e, u, inertia)
        if servos is None:
            return None
        return servos._replace(force=servos.force[self.linked.v], inertia=servos.inertia[at])

    def _rows(self, system: System, t: Any, q: np.ndarray, e: np.ndarray) -> Rows:
        self.whole_rows = super()._rows(system, t, q, e)
        _check_rows(system.model, self.whole_rows.J, self.linked.v)
        return self.whole_rows._replace(J=self.whole_rows.J[:, self.linked.v])


def _check_rows(model: Model, J: np.ndarray, columns: np.ndarray) -> None:
    """Refuse constraints that hold loose bodies."""
    held = np.delete(np.arange(model.nv), columns)
    held = held[nonzeros(J)[:, held].any(axis=0)]
    if len(held):
        names = [body.name for body in model.bodies if set(range(body.v.start, body.v.stop)) & set(held.tolist())]
        raise DalembertError(
            f"contact: constraints hold {', '.join(map(repr, names))}, which is one of many loose bodies beside a "
            "robot: give its joint some damping, so that it counts as a part of the robot"
        )
