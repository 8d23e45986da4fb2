"""Laws for robots of which every freedom has a motor: what to say about others."""

from __future__ import annotations

from dalembert.errors import DalembertError
from dalembert.model import motorized, motors_of
from dalembert.robot import Robot


def refuse_passive(where: str, robot: Robot, instead: str) -> None:
    """Raise if a freedom has no motor, or loops tie joints to each other; says which, and what to use instead."""
    model, mask = robot.model, motorized(robot.model)
    if not model.nv:
        raise DalembertError(f"{where}: robot {robot.name!r} has no joint that moves")
    if model.closures:
        raise DalembertError(
            f"{where}: robot {robot.name!r} has closed loops, whose joints do not move one by one: control its "
            "tree, robot.without('loops'), if every joint has a motor"
        )
    for body in model.independent:
        if not mask[body.v].all():
            gives = "robot.edit().set_joint(…, motor=True) gives one"
            why = f"is passive: {motors_of(model).because}; {gives}"
            if body.joint.kind == "free":
                why = "is a free base"
            elif not body.joint.effort_limit.all():
                why = "has an effort limit of 0; robot.edit().set_joint(…, effort_limit=…) gives one"
            raise DalembertError(
                f"{where}: joint {body.joint.name!r} of robot {robot.name!r} has no motor (it {why}): use {instead}"
            )
