"""dalembert: rigid-body dynamics of robots, traced for the robot at hand and compiled.

robot = dalembert.load("panda")
tau = robot.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import math
from .algorithms import zero_moment_point
from .comparison import Comparison, Difference, compare
from .editing import ModelEditor
from .errors import DalembertError
from .loading import ModelBuilder, function, load, robots
from .robot import Robot
from .solids import MassProperties, mass_properties
from .structure import BodyInfo, FrameInfo, JointInfo, Wrench
from .version import __version__

if TYPE_CHECKING:
    from .formats.ledger import Finding

__all__ = [
    "BodyInfo",
    "Comparison",
    "DalembertError",
    "Difference",
    "Finding",
    "FrameInfo",
    "JointInfo",
    "MassProperties",
    "ModelBuilder",
    "ModelEditor",
    "Robot",
    "Wrench",
    "__version__",
    "compare",
    "function",
    "load",
    "mass_properties",
    "math",
    "robots",
    "zero_moment_point",
]


def __getattr__(name: str) -> Any:
    if name == "Finding":  # its room reads files, which needs an XML library
        from .formats.ledger import Finding

        return Finding
    raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
