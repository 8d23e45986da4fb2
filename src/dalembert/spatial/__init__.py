"""SO(3), SE(3), motion and force vectors, inertia: generic over floats and traced scalars.

Angular part first in twists [ω; v] and wrenches [τ; f]; X_AB is the pose of B in A; quaternions w, x, y, z.
Singularities (angle 0, angle π, gimbal lock) are handled here, once.

In and out: arrays of floats or traced scalars. Read in this order: `so3`, `se3`, rotations and poses; `vectors`, twists
and wrenches; `inertia`, `pseudo_inertia`; `smooth`, functions that stay finite at 0.
"""

from . import se3, so3
from .inertia import Inertia
from .se3 import Pose
from .vectors import cross, cross_force, cross_motion

__all__ = ["Inertia", "Pose", "cross", "cross_force", "cross_motion", "se3", "so3"]
