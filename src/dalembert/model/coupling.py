"""Which joint follows which: mimics as they were stated, followed to the joint that has the coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .joints import Coupled, Joint, Mimic


def stated(mimic: Any, where: str) -> Mimic:
    """A mimic from (leader, ratio, offset), of which ratio and offset may be missing."""
    try:
        leader, ratio, offset = Mimic(*mimic)
        ratio, offset = float(ratio), float(offset)
    except (TypeError, ValueError):
        leader, ratio, offset = None, 0.0, 0.0
    if not isinstance(leader, str) or isinstance(mimic, str):
        raise DalembertError(f"{where}: mimic is {mimic!r}, expected (name of the leading joint, ratio, offset)")
    if not np.isfinite(offset) or not np.isfinite(ratio) or ratio == 0.0:
        raise DalembertError(
            f"{where}: mimic has ratio {ratio:g} and offset {offset:g}, expected finite numbers and a ratio other than "
            "0: a joint that does not move is joint='fixed'"
        )
    return Mimic(leader, ratio, offset)


def coupled(name: str, joints: Mapping[str, Joint], mimics: Mapping[str, Mimic]) -> Coupled:
    """The follower `name`, tied to the joint at the end of the chain of leaders."""
    where = f"joint {name!r}"
    leader, ratio, offset = name, 1.0, 0.0
    passed = []
    while leader in mimics:
        passed.append(leader)
        step = mimics[leader]
        leader, ratio, offset = step.leader, ratio * step.ratio, ratio * step.offset + offset
        if leader in passed:
            chain = " → ".join([*passed, leader])
            raise DalembertError(f"{where} follows itself ({chain}): one joint of the ring must lead")
        if leader not in joints:
            raise unknown("leading joint", leader, joints, where)
    for role, joint in (("follow", joints[name]), ("lead", joints[leader])):
        if joint.nv != 1 or not joint.flat:
            raise DalembertError(
                f"{where}: the {joint.kind} joint {joint.name!r} cannot {role}, since it has {joint.nq} coordinates: "
                "joints with one coordinate can, such as revolute, continuous, prismatic and screw joints"
            )
    return Coupled(joint=joints[name], leader=leader, ratio=ratio, offset=offset)
