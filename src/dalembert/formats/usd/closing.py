"""Joints of a stage that close loops, and distances: closures of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder

from ..ledger import Ledger
from .joints import Stated

CLOSURES = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "point", "fixed": "weld",
    "universal": "universal", "cylindrical": "cylindrical", "planar": "planar", "distance": "distance",
    "point-on-line": "point-on-line", "point-on-plane": "point-on-plane",
}  # fmt: skip


def close(builder: ModelBuilder, stated: Stated, groups: Mapping[str, str], ledger: Ledger) -> None:
    """Add the closure of a joint outside the tree."""
    joint = stated.joint
    what = f"joint '{joint.name}' ({joint.kind}) closes a loop"
    if groups[joint.parent] == groups[joint.child]:
        ledger.info(joint.where, what, "without effect: fixed joints already make its ends one body")
        return
    if joint.kind not in CLOSURES:
        raise DalembertError(f"{joint.where}: {what}, which a {joint.kind} joint cannot; let another joint close it")
    shape: dict[str, Any] = dict(zip(("axis", "axis2"), joint.axes, strict=False))
    if stated.distance is not None:
        shape = {"length": stated.distance}
    builder.add_closure(
        joint.name,
        CLOSURES[joint.kind],
        a=joint.parent,
        b=joint.child,
        placement_a=stated.X_parent,
        placement_b=stated.X_child,
        **shape,
    )
    ledger.info(joint.where, what, f"kept as a {CLOSURES[joint.kind]} closure, without a coordinate")
    limits = [joint.fields.get(name, 0.0) for name in ("lower", "upper")]
    if (
        joint.effects
        or np.any(joint.fields.get("armature", 0.0))
        or np.any(np.isfinite(limits) & (limits != np.zeros(1)))
    ):
        lost = "limits, damping, friction, rotor inertia or spring"
        ledger.warning(
            joint.where, f"{lost} of joint '{joint.name}', which closes a loop", "not used: it has no coordinate"
        )
    if joint.mimic is not None:
        ledger.warning(joint.where, f"joint '{joint.name}', which closes a loop, follows another one", "not used")
