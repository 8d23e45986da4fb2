"""Which joints count as motorised: by what the robot's file says, and where it says nothing by their effort limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.errors import LISTED

from .joints import Free
from .model import Model

UNSTATED = "the file does not say which have motors: all but free ones and those of effort limit 0"
STATED = "as the file or an edit says, but for effort limits of 0"
NAMED = "as named"
ACTED = "those on which an actuator acts, but for effort limits of 0"


class Motors(NamedTuple):
    """Names of the joints that count as motorised and of the others, in order, and what that is taken from.

    stated: whether the robot's file, its actuators or an editor says it, rather than nothing.
    """

    joints: tuple[str, ...]
    passive: tuple[str, ...]
    because: str
    stated: bool

    def __str__(self) -> str:
        if not self.passive:
            return f"motors: all joints ({self.because})"
        return f"motors: {_listed(self.joints) or 'none'}; passive: {_listed(self.passive)} ({self.because})"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:LISTED]) + (f", … ({len(names)} in all)" if len(names) > LISTED else "")


def motorized(model: Model, names: str | Sequence[str] | None = None) -> np.ndarray:
    """Whether each freedom (nv,) has a motor: those of the joints named, else as stated (see `Motors`).

    Unless it is named, no free joint has a motor, and none of effort limit 0.
    """
    acted, mask = _acted_on(model), np.zeros(model.nv, bool)
    if names is not None:
        for name in [names] if isinstance(names, str) else names:
            mask[model.joint(name).v] = True
        return mask
    for body in model.independent:
        joint = body.joint
        driven = joint.name in acted or not acted if joint.motor is None else joint.motor
        if driven and not isinstance(joint, Free):
            mask[body.v] = np.asarray(joint.effort_limit) > 0.0
    return mask


def motors_of(model: Model, chosen: str | Sequence[str] | None = None) -> Motors:
    """The joints with a motor, those named or else as stated, and why they count."""
    mask, moving = motorized(model, chosen), [body for body in model.independent if body.joint.nv]
    names = {body.joint.name: bool(mask[body.v].any()) for body in moving}
    driven, passive = (tuple(name for name, motor in names.items() if motor is wanted) for wanted in (True, False))
    stated, acted = any(body.joint.motor is not None for body in model.bodies), _acted_on(model)
    because = NAMED if chosen is not None else STATED if stated else ACTED if acted else UNSTATED
    return Motors(driven, passive, because, because != UNSTATED)


def _acted_on(model: Model) -> set[str]:
    """Joints on which an actuator acts: by name, or because they move a frame on which it pulls."""
    joints: set[str] = set()
    for actuator in model.actuators:
        joints.update(actuator.joints)
        for frame in actuator.frames:
            index = model.frame(frame).body
            while index >= 0:
                joints.add(model.bodies[index].joint.name)
                index = model.bodies[index].parent
    leaders = {body.joint.name: body.joint.mimic.leader for body in model.bodies if body.joint.mimic is not None}
    return joints | {leaders[name] for name in joints if name in leaders}
