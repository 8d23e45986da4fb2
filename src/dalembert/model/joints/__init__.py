"""Joint types, one file each. To add one to the package: subclass `Joint` in a new file and list it here."""

from .ball import Ball
from .continuous import Continuous
from .coupled import Coupled
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .joint import AxisJoint, Joint, Mimic, Step
from .planar import Planar
from .prismatic import Prismatic
from .reversed import Reversed
from .revolute import Revolute
from .screw import Screw
from .universal import Universal

KINDS: dict[str, type[Joint]] = {
    joint.kind: joint
    for joint in (Revolute, Continuous, Prismatic, Screw, Cylindrical, Universal, Ball, Planar, Free, Fixed)
}

__all__ = [
    "KINDS",
    "AxisJoint",
    "Coupled",
    "Joint",
    "Mimic",
    "Reversed",
    "Step",
    *(joint.__name__ for joint in KINDS.values()),
]
