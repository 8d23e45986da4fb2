"""Force elements: what acts on a robot beside gravity and its own joints.

Each adds forces, may have states of its own, and has its accounts in the energy ledger. Own elements: derive from
`Element` and write `act` with arithmetic and `dalembert.math`. Conditions on the motion are constraints that an element
gives: rows, the set that they keep to, and the law of impacts.

`base` comes first: what every element is. Then `joint`, `points`, `bushing`, `tendons` (springs and dampers), `limits`
and `friction` (of joints), `drive` and `actuators` (motors), `fields`, `buoyancy`, `surroundings` (gravity, fluids),
`holonomic` (conditions as expressions). `contact` → `patch_facts` and `soft` are the elements of `dalembert.Contact`.
"""

from dalembert.contact.solver import Law

from ..system.constraints import Constraint, Impact, Interval, Range, Rows, Zero, joint_rows
from .actuators import Actuators
from .base import Action, Element, Situation
from .buoyancy import Buoyancy
from .bushing import Bushing, IndependentJoints
from .drive import FlexibleJoint, Motor
from .fields import CentralGravity, Drag, GravityField, Thruster
from .friction import Friction
from .holonomic import Holonomic
from .joint import Backlash, Damper, Spring
from .limits import HardStop, SoftLimit
from .points import PointDamper, PointSpring
from .surroundings import Fluid, GravityCompensation

__all__ = [
    "Action",
    "Actuators",
    "Backlash",
    "Buoyancy",
    "Bushing",
    "CentralGravity",
    "Constraint",
    "Damper",
    "Drag",
    "Element",
    "FlexibleJoint",
    "Fluid",
    "Friction",
    "GravityCompensation",
    "GravityField",
    "HardStop",
    "Holonomic",
    "Impact",
    "IndependentJoints",
    "Interval",
    "Law",
    "Motor",
    "PointDamper",
    "PointSpring",
    "Range",
    "Rows",
    "Situation",
    "SoftLimit",
    "Spring",
    "Thruster",
    "Zero",
    "joint_rows",
]
