"""Mechanisms by bodies, named points and joints between points.

In: bodies, points, joints. Out: a `MechanismRobot`. Read in this order: `parts` and `definition`, what people state;
`graph`, `build`, a tree and its closures; `assembly`, the first configuration; `elements`, `forces`; `mobility`,
`sweep`, `changes`; `library`, the bundled ones.
"""

from .assembly import Mobility
from .changes import Change, ChangedRun, Happened
from .definition import Mechanism
from .elements import Controller
from .forces import Efforts
from .hydraulics import AtJoint, Cylinder, at_joint
from .library import BUNDLED, mechanism
from .robot import MechanismRobot
from .sweep import Balance, Sweep, sweep
from .wheels import Wheel

__all__ = [
    "BUNDLED",
    "AtJoint",
    "Balance",
    "Change",
    "ChangedRun",
    "Controller",
    "Cylinder",
    "Efforts",
    "Happened",
    "Mechanism",
    "MechanismRobot",
    "Mobility",
    "Sweep",
    "Wheel",
    "at_joint",
    "mechanism",
    "sweep",
]
