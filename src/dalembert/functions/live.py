"""Live parameters: constants of the model that become inputs of a quantity, group by group.

A group is read from a model as a flat array, and put into a model as numbers or traced scalars. Fields of joints are
one number per freedom, in the order of the joints; a joint that follows another one has its own, in its own coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.spatial import Inertia, Pose, so3


class Group(NamedTuple):
    """values(model): the numbers (n,) that the model has; put(model, x): the model with others in their place."""

    values: Callable[[Model], np.ndarray]
    put: Callable[[Model, np.ndarray], Model]


def _inertia(model: Model) -> np.ndarray:
    return np.concatenate([body.inertia.parameters() for body in model.bodies])


def _put_inertia(model: Model, x: np.ndarray) -> Model:
    rows = x.reshape(-1, 10)
    return replace(
        model,
        bodies=tuple(replace(b, inertia=Inertia.from_parameters(pi)) for b, pi in zip(model.bodies, rows, strict=True)),
    )


def _field(field: str, model: Model) -> np.ndarray:
    return np.concatenate([getattr(body.joint.uncoupled, field) for body in model.bodies])


def _put_field(field: str, model: Model, x: np.ndarray) -> Model:
    ends = np.cumsum([body.joint.nv for body in model.bodies])
    parts = np.split(x, ends[:-1])
    joints = [b.joint.with_values(**{field: part}) for b, part in zip(model.bodies, parts, strict=True)]
    return replace(model, bodies=tuple(replace(b, joint=j) for b, j in zip(model.bodies, joints, strict=True)))


def _put_placement(model: Model, x: np.ndarray) -> Model:
    moves = [Pose(so3.exp(row[3:]), row[:3]) for row in x.reshape(-1, 6)]
    return replace(
        model,
        bodies=tuple(replace(b, placement=b.placement @ X) for b, X in zip(model.bodies, moves, strict=True)),
    )


GROUPS: dict[str, Group] = {
    "inertia": Group(_inertia, _put_inertia),
    **{
        field: Group(partial(_field, field), partial(_put_field, field))
        for field in ("friction", "damping", "armature", "stiffness")
    },
    "placement": Group(lambda model: np.zeros(6 * len(model.bodies)), _put_placement),
    "gravity": Group(lambda model: np.array(model.gravity), lambda model, x: replace(model, gravity=x)),
}


def group(name: str) -> Group:
    """The group of that name."""
    if not isinstance(name, str) or name not in GROUPS:
        raise unknown("live parameters", str(name), GROUPS, "live")
    return GROUPS[name]


def checked(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names of live groups as given, each known and given once."""
    live = (names,) if isinstance(names, str) else tuple(names)
    for name in live:
        group(name)
    if len(set(live)) < len(live):
        raise DalembertError(f"live: {', '.join(live)}: a group is named twice")
    return live
