"""Sizing: what motions and gravity ask of motors and gears."""

from .actuators import Sizing, size_actuators
from .motion import Efforts, efforts, standard_motion

__all__ = ["Efforts", "Sizing", "efforts", "size_actuators", "standard_motion"]
