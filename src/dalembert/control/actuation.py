"""Which freedoms have a motor: an effort limit of 0 marks a passive joint, and a free base has none."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.robot import Robot


def driven(model: Model) -> np.ndarray:
    """Whether each freedom (nv,) has a motor."""
    mask = np.zeros(model.nv, bool)
    for body in model.independent:
        if body.joint.kind != "free":
            mask[body.v] = np.asarray(body.joint.effort_limit) > 0.0
    return mask


def refuse_passive(where: str, robot: Robot, instead: str) -> None:
    """Raise if a freedom has no motor, or loops tie joints to each other; says which, and what to use instead."""
    model, mask = robot.model, driven(robot.model)
    if not model.nv:
        raise DalembertError(f"{where}: robot {robot.name!r} has no joint that moves")
    if model.closures:
        raise DalembertError(
            f"{where}: robot {robot.name!r} has closed loops, whose joints do not move one by one: control its "
            "tree, robot.without('loops'), if every joint has a motor"
        )
    for body in model.independent:
        if not mask[body.v].all():
            free = body.joint.kind == "free"
            why = (
                "is a free base"
                if free
                else "has an effort limit of 0; robot.edit().set_joint(…, effort_limit=…) gives one"
            )
            raise DalembertError(
                f"{where}: joint {body.joint.name!r} of robot {robot.name!r} has no motor (it {why}): use {instead}"
            )
