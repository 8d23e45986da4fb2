"""Mechanisms by bodies, named points and joints between points."""

from .mechanism import Mechanism
from .mobility import Mobility
from .robot import MechanismRobot

__all__ = ["Mechanism", "MechanismRobot", "Mobility"]
