"""The base class of joints with a quaternion."""

from __future__ import annotations

import numpy as np

from .joint import LIMITS, Joint

ISOTROPIC = 1e-12  # relative: numbers that count as equal


def check_isotropic(joint: Joint) -> None:
    """Refuse to reverse a rotation by a quaternion unless its effects are the same about all axes."""
    for field in ("armature", "damping"):
        turning, sliding = np.split(getattr(joint, field), [3])
        if np.ptp(turning) > ISOTROPIC * np.max(turning) or np.any(sliding):
            values = getattr(joint, field).tolist()
            raise joint._not_reversible(f"{field} {values}, unequal about its axes or along them")
    if np.any([joint.friction, joint.stribeck]):
        raise joint._not_reversible(f"friction {joint.friction.tolist()} along the axes of one of its bodies")
    if np.any(np.isfinite([getattr(joint, limit) for limit in LIMITS])):
        raise joint._not_reversible("limits of speed, effort and the like along the axes of one of its bodies")
