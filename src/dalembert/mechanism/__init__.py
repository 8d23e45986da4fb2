"""Mechanisms by bodies, named points and joints between points."""

from .changes import Change, ChangedRun, Happened
from .hydraulics import AtJoint, Cylinder, at_joint
from .library import BUNDLED, mechanism
from .mechanism import Mechanism
from .mobility import Mobility
from .robot import MechanismRobot
from .sweep import Balance, Sweep, sweep

__all__ = [
    "BUNDLED",
    "AtJoint",
    "Balance",
    "Change",
    "ChangedRun",
    "Cylinder",
    "Happened",
    "Mechanism",
    "MechanismRobot",
    "Mobility",
    "Sweep",
    "at_joint",
    "mechanism",
    "sweep",
]
