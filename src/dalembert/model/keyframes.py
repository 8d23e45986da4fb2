"""Named states of a robot, kept joint by joint, so that they survive edits of other joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown

from .joints import Joint

if TYPE_CHECKING:
    from .model import Model


class State(NamedTuple):
    """q (nq,) and v (nv,)."""

    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True, eq=False)
class JointState:
    """Coordinates q (nq,) and velocities v (nv,) of one joint."""

    joint: str
    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named state; joints that are not in it are at neutral, and at rest."""

    name: str
    joints: tuple[JointState, ...]

    def state(self, model: Model) -> State:
        """The state of the whole robot."""
        q = np.concatenate([body.joint.neutral() for body in model.independent])
        v = np.zeros(model.nv)
        for part in self.joints:
            body = model.joint(part.joint)
            q[body.q], v[body.v] = part.q, part.v
        return State(q, v)


START = "start"  # the keyframe of where a file puts bodies that move freely


def start_of(model: Model) -> State:
    """Where to start by default: at the keyframe "start", else at rest in neutral, within the ranges of the joints.

    A coordinate whose range does not have its neutral value is in the middle of the range, or at its only end.
    """
    for stated in model.keyframes:
        if stated.name == START:
            return stated.state(model)
    state = Keyframe(START, ()).state(model)
    for body in model.independent:
        joint, q = body.joint, state.q[body.q]
        for line in joint.lines:
            low, high = joint.lower[line.q], joint.upper[line.q]
            if not low <= q[line.q] <= high:
                q[line.q] = 0.5 * (low + high) if np.isfinite([low, high]).all() else np.clip(q[line.q], low, high)
    return state


def keyframe(name: str, q: Mapping[str, Any], v: Mapping[str, Any], joints: Mapping[str, Joint]) -> Keyframe:
    """A named state of numbers by joint, checked; quaternions are brought to unit length."""
    where = f"keyframe {name!r}"
    parts = []
    for joint in {**q, **v}:
        if joint not in joints:
            raise unknown("joint", joint, joints, where)
        kind = joints[joint]
        numbers = [
            np.array(np.atleast_1d(values.get(joint, default)), float)
            for values, default in ((q, kind.neutral()), (v, np.zeros(kind.nv)))
        ]
        for what, x, size in zip(("q", "v"), numbers, (kind.nq, kind.nv), strict=True):
            if x.shape != (size,) or not np.all(np.isfinite(x)):
                raise DalembertError(
                    f"{where}: {what} of joint {joint!r} is {x.tolist()}, expected {size} finite number(s)"
                )
        parts.append(JointState(joint, kind.normalize(numbers[0]), numbers[1]))
    return Keyframe(name, tuple(parts))
