"""Force elements: what acts on a robot beside gravity and its own joints.

Each adds forces, may have states of its own, and has its accounts in the energy ledger. Own elements: derive from
`Element` and write `act` with arithmetic and `dalembert.math`.
"""

from .base import Action, Element, Situation
from .drive import FlexibleJoint, Motor
from .fields import CentralGravity, Drag, GravityField, Thruster
from .friction import Friction
from .holonomic import Holonomic
from .joint import Backlash, Damper, Spring
from .limits import HardStop, SoftLimit
from .points import PointDamper, PointSpring

__all__ = [
    "Action",
    "Backlash",
    "CentralGravity",
    "Damper",
    "Drag",
    "Element",
    "FlexibleJoint",
    "Friction",
    "GravityField",
    "HardStop",
    "Holonomic",
    "Motor",
    "PointDamper",
    "PointSpring",
    "Situation",
    "SoftLimit",
    "Spring",
    "Thruster",
]
