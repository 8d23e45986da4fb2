"""Joints that close loops: closures of the model, without a coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.spatial import Pose

from .ledger import Ledger

CLOSURES = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "point", "fixed": "weld",
    "universal": "universal", "cylindrical": "cylindrical", "planar": "planar", "distance": "distance",
    "point-on-line": "point-on-line", "point-on-plane": "point-on-plane",
}  # fmt: skip


def close(
    builder: ModelBuilder,
    joint: Any,
    placements: tuple[Pose, Pose],
    shape: Mapping[str, Any],
    groups: Mapping[str, str],
    ledger: Ledger,
    cure: str = "",
) -> None:
    """Add the closure of a joint outside the tree.

    joint: of a file, see `sdf.joints.Joint`; placements: its frames in parent and child; shape: axes or length; groups:
    representatives of links that fixed joints make one body; cure: how a file lets another joint close the loop.
    """
    what = f"joint '{joint.name}' ({joint.kind}) closes a loop"
    if groups[joint.parent] == groups[joint.child]:
        ledger.info(joint.where, what, "without effect: fixed joints already make its ends one body")
        return
    if joint.kind not in CLOSURES:
        advice = f"let another joint close it{cure and ': '}{cure}"
        raise DalembertError(f"{joint.where}: {what}, which a {joint.kind} joint cannot; {advice}")
    builder.add_closure(
        joint.name,
        CLOSURES[joint.kind],
        a=joint.parent,
        b=joint.child,
        placement_a=placements[0],
        placement_b=placements[1],
        **shape,
    )
    ledger.info(joint.where, what, f"kept as a {CLOSURES[joint.kind]} closure, without a coordinate")
    limits = np.hstack([np.array(joint.fields.get(name), float) for name in ("lower", "upper")])
    if joint.effects or np.any(joint.fields.get("armature", 0.0)) or np.isfinite(limits).any():
        lost = f"limits, damping, friction, rotor inertia or spring of joint '{joint.name}', which closes a loop"
        ledger.warning(joint.where, lost, "not used: a closure has no coordinate")
    if joint.mimic is not None:
        what = f"joint '{joint.name}', which closes a loop, follows '{joint.mimic.leader}'"
        ledger.warning(joint.mimic.where, what, "not used: a closure has no coordinate")
