"""Gearboxes of an SDF model, which are mimics between two hinges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..ledger import Ledger
from ..robot import FileJoint, Mimic
from ..tree import Step

HINGES = ("revolute", "continuous")
PARALLEL = 1e-3  # sine of the angle by which the axis of a gearbox may miss that of the hinge: files round to 4 digits


def geared(gears: Iterable[FileJoint], steps: list[Step], groups: Mapping[str, str], ledger: Ledger) -> list[Step]:
    """The steps with a mimic for each gearbox: θ2 = -ratio · θ1, angles of child and parent in the reference body."""
    joints = {step.joint.name: step.joint for step in steps}
    for gear in gears:
        reference, ratio = gear.gear or ("", 0.0)
        shafts = [
            _shaft(joints.values(), groups, reference, link, axis)
            for link, axis in zip((gear.parent, gear.child), gear.axes, strict=True)
        ]
        what = f"gearbox '{gear.name}' with ratio {ratio:g} in '{reference}'"
        if shafts[0] is None or shafts[1] is None or ratio == 0.0:
            cure = "not used: it needs a ratio other than 0 and a hinge along each axis from the reference body"
            ledger.warning(gear.where, what, cure)
            continue
        (driver, sign1), (driven, sign2) = shafts[0], shafts[1]
        law = -ratio * sign1 * sign2
        if driven.mimic is not None:
            driver, driven, law = driven, driver, 1.0 / law
        if driven.mimic is not None:
            ledger.warning(gear.where, what, "not used: both of its hinges already follow other joints")
            continue
        joints[driven.name] = replace(driven, mimic=Mimic(driver.name, law, 0.0, gear.where))
        action = f"kept as a mimic: q('{driven.name}') = {law:g}·q('{driver.name}')"
        ledger.info(gear.where, what, action)
    return [replace(step, joint=joints[step.joint.name]) for step in steps]


def _shaft(
    joints: Iterable[FileJoint], groups: Mapping[str, str], reference: str, link: str, axis: np.ndarray
) -> tuple[FileJoint, float] | None:
    """The hinge between the reference body and a link along that axis, and the sign of its angle about the axis."""
    ends = groups[reference], groups[link]
    for joint in joints:
        if joint.kind not in HINGES or np.linalg.norm(np.cross(axis, joint.axes[0])) > PARALLEL:
            continue
        sign = float(np.sign(axis @ joint.axes[0]))
        if (groups[joint.parent], groups[joint.child]) == ends:
            return joint, sign
        if (groups[joint.child], groups[joint.parent]) == ends:
            return joint, -sign
    return None
