"""The result of an edit: the new plan, its entry in the log, and its invariants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from dalembert.dynamics.algorithms import neutral
from dalembert.model import LinkPlan, Model

State = tuple[np.ndarray, np.ndarray]  # q (nq,), v (nv,)
Pairing = Callable[[Model, Model, np.random.Generator], tuple[State, State]]
WORLD = "world"


def shared_states(
    before: Model,
    after: Model,
    rng: np.random.Generator,
    held: Mapping[str, np.ndarray] | None = None,
    names: Mapping[str, str] | None = None,
) -> tuple[State, State]:
    """A random state of the model after an edit, and the same one of the model before it, joint by joint.

    held: configurations of joints that are no longer there. names: joints that were renamed, old → new. A base joint
    that is new rests at its neutral configuration.
    """
    held, names = held or {}, names or {}
    q1, v1 = _random(after, rng)
    q0, v0 = np.array(neutral(before)), np.zeros(before.nv)
    remaining = {body.joint.name: body for body in after.independent if body.joint.nv}
    for body in before.independent:
        if not body.joint.nv:
            continue
        same = remaining.pop(names.get(body.joint.name, body.joint.name), None)
        if same is not None:
            q0[body.q], v0[body.v] = q1[same.q], v1[same.v]
        else:
            q0[body.q] = held.get(body.joint.name, body.joint.neutral())
    if after.bodies[0].joint.name in remaining:
        base = after.bodies[0]
        q1[base.q], v1[base.v] = base.joint.neutral(), 0.0
    return (q0, v0), (q1, v1)


def _random(model: Model, rng: np.random.Generator) -> State:
    drawn = [body.joint.random(rng, 1)[0] for body in model.independent]
    return np.concatenate(drawn), rng.normal(size=model.nv)


@dataclass
class Change:
    """An edit as it was carried out."""

    plan: LinkPlan  # the robot after it
    what: str
    action: str
    mass: float = 0.0  # by how much the total mass must change [kg]
    changed: frozenset[str] = frozenset()  # links whose inertia may change
    renamed: Mapping[str, str] | None = None  # links, old name → new
    relative_to: str | None = WORLD  # links must move as before, seen from this link (or the world); None: need not
    energy: float | None = None  # by which the first moment of mass and the kinetic energy must be multiplied, if any
    pairing: Pairing = shared_states
    warning: bool = False  # whether the result needs a second look

    def holding(self, held: Mapping[str, np.ndarray]) -> Change:
        """The same, for joints that existed before and are locked now."""
        self.pairing = partial(shared_states, held=held)
        return self
