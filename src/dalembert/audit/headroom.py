"""The largest gravity load of each motor, beside its limit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.model import motors_of
from dalembert.robot import Robot

from .closed import WHICH, ClosedManifold, motors
from .holding import worst_closed_loads, worst_loads

ROUNDING = 1e-12  # of the weight at a lever of 1 m: a smaller load is none
PASSIVE_EFFECTS = ("friction", "damping", "armature")  # effects that do not matter at rest


class Headroom(NamedTuple):
    """The largest holding torque of a joint over all configurations, beside its limit [N·m or N]."""

    joint: str
    gravity: float  # with the pull of springs
    limit: float  # infinite where none is stated
    q: np.ndarray  # the configuration

    @property
    def ratio(self) -> float:
        """limit / gravity; infinite for a joint gravity does not load."""
        return self.limit / self.gravity if self.gravity > 0.0 else np.inf

    def __repr__(self) -> str:
        return one_line(self)


class HeadroomTable(NamedTuple):
    """A row for each motor; or none, and why."""

    rows: tuple[Headroom, ...]
    because: str = ""


def headroom_table(robot: Robot) -> HeadroomTable:
    """The worst case of every motor over all configurations: of the tree, or with all loops closed."""
    model = robot.model
    driven = motors(model)
    if not robot.nv:
        return HeadroomTable((), "no joint moves")
    if model.floating:
        return HeadroomTable((), "the base is free: holding torques depend on where it stands")
    if not driven:
        return HeadroomTable((), f"no joint has a motor: {motors_of(model).because}")
    still = robot.without(*PASSIVE_EFFECTS)
    if not model.closures:
        peaks = worst_loads(still, driven)
    elif not motors_of(model).passive and all(np.isinf(body.joint.effort_limit).all() for body in driven):
        return HeadroomTable((), f"of a robot with loops it must be stated {WHICH}")
    else:
        peaks = worst_closed_loads(ClosedManifold(still, driven))
    if not peaks:
        return HeadroomTable((), "no configuration was found in which all loops are closed")
    weight = sum(body.inertia.mass for body in model.bodies) * float(np.linalg.norm(model.gravity))
    least = ROUNDING * weight
    if not all(np.isfinite(peak.load) for peak in peaks):
        return HeadroomTable((), "the motors cannot hold the robot in every configuration, however strong they are")
    return HeadroomTable(
        tuple(
            Headroom(
                body.joint.name, peak.load if peak.load > least else 0.0, float(body.joint.effort_limit[0]), peak.q
            )
            for body, peak in zip(driven, peaks, strict=True)
        )
    )
