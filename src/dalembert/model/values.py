"""Values as people write them, checked: vectors, placements, inertia, types of joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Inertia, Pose, so3
from dalembert.spatial.vectors import cross

from .joints import Joint
from .joints.joint import snapped

ORIGIN = (0.0, 0.0, 0.0)
UNTURNED = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
ORTHONORMAL = 1e-9  # a rotation matrix may miss orthonormality by this much before it is refused


def vector(x: Any, what: str, shape: tuple[int, ...] = (3,)) -> np.ndarray:
    """A copy as finite floats of that shape."""
    try:
        array = np.array(x, float)
    except (TypeError, ValueError):
        raise DalembertError(f"{what} is {x!r}, expected numbers of shape {shape}") from None
    if array.shape != shape:
        raise DalembertError(f"{what} has shape {array.shape}, expected {shape}")
    if not np.isfinite(array).all():
        raise DalembertError(f"{what} is {array.tolist()}, expected finite numbers")
    return array


def placement_from(X: Pose | None, xyz: Any, rpy: Any, where: str) -> Pose:
    """The pose from either form, copied, its rotation snapped to exact zeros and ones."""
    if X is None:
        return Pose(snapped(so3.from_rpy(*vector(rpy, f"{where}: rpy"))), vector(xyz, f"{where}: xyz"))
    if (xyz is not ORIGIN and np.any(xyz)) or (rpy is not ORIGIN and np.any(rpy)):
        raise DalembertError(f"{where}: both placement and xyz or rpy are given: give one of them")
    p = vector(X.p, f"{where}: position of the placement")
    R = vector(X.R, f"{where}: rotation of the placement", (3, 3))
    if R.tolist() == UNTURNED:  # most are
        return Pose(R, p)
    if np.abs(R.T @ R - np.eye(3)).max() > ORTHONORMAL or R[0] @ cross(R[1], R[2]) < 0.0:
        raise DalembertError(f"{where}: placement has R = {R.tolist()}, which is not a rotation matrix")
    return Pose(snapped(R), p)


def inertia_from(mass: Any, com: Any, inertia: Any, where: str) -> Inertia:
    """A physically possible inertia, or an error."""
    I_com = np.zeros((3, 3)) if inertia is None else vector(inertia, f"{where}: inertia", (3, 3))
    if np.max(np.abs(I_com - I_com.T)) > 1e-9 * np.max(np.abs(I_com)):
        raise DalembertError(f"{where}: inertia {I_com.tolist()} is not symmetric: make it so")
    mass = float(vector(mass, f"{where}: mass", ()))
    result = Inertia.from_com(mass, vector(com, f"{where}: com"), 0.5 * (I_com + I_com.T))
    problems = result.problems()
    if problems:
        raise DalembertError(f"{where}: {'; '.join(problems)}; check mass, com, and inertia (about the com)")
    return result


def joint_type(joint: str | type[Joint], kinds: Mapping[str, type[Joint]], where: str) -> type[Joint]:
    """The class of a joint, from its kind or from a subclass of `Joint`."""
    if isinstance(joint, str):
        if joint not in kinds:
            raise unknown("joint kind", joint, kinds, where)
        return kinds[joint]
    if not isinstance(joint, type) or not issubclass(joint, Joint):
        raise DalembertError(f"{where}: joint is {joint!r}, expected one of {', '.join(kinds)}, or a subclass of Joint")
    missing = ", ".join(sorted(joint.__abstractmethods__))
    if missing or not hasattr(joint, "nq"):
        raise DalembertError(f"{where}: class {joint.__name__} lacks {missing or 'charts'}, which every joint has")
    if "__dataclass_params__" not in joint.__dict__ or not joint.__dict__["__dataclass_params__"].frozen:
        raise DalembertError(
            f"{where}: class {joint.__name__} is not a frozen dataclass: "
            "write @dataclass(frozen=True, eq=False, kw_only=True) above it"
        )
    return joint
