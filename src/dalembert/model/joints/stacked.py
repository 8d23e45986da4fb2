"""Joints with several freedoms as hinges and slides in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .joint import LIMITS, AxisJoint, Joint, Step

EFFECTS = ("armature", "damping", "friction", "stribeck", "stiffness")  # one number for each freedom
FIELDS = (*EFFECTS, *LIMITS, "rest", "lower", "upper")  # of each freedom
SHARED = ("slip_speed", "stribeck_speed")  # of all freedoms


def stacked(joint: Joint, types: Sequence[tuple[type[AxisJoint], np.ndarray]]) -> tuple[Step, ...]:
    """One joint of each type about each axis (3,) for the coordinates of `joint`, with its limits and effects.

    They are called as the joint is, with _1, _2 … behind the name.
    """
    steps = []
    for k, (simple, axis) in enumerate(types):
        values = {field: getattr(joint, field)[k] for field in FIELDS}
        values |= {field: getattr(joint, field) for field in SHARED}
        name = f"{joint.name}_{k + 1}"
        steps.append(Step(simple(name=name, axis=axis, motor=joint.motor, **values)))
    return tuple(steps)
