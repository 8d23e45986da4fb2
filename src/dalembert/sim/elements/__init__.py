"""Force elements: what acts on a robot beside gravity and its own joints.

Each adds forces, may have states of its own, and has its accounts in the energy ledger. Own elements: derive from
`Element` and write `act` with arithmetic and `dalembert.math`. Conditions on the motion are constraints that an element
gives: rows, the set that they keep to, and the law of impacts.

`base` comes first: what every element is. Then `joint` (springs, dampers, ends of joints), `friction`, `drive` (motors,
actuators), `couplings` (springs and conditions between points and frames) and `fields` (gravity, fluids). `contact` →
`patch_facts` and `soft` are the elements of `dalembert.Contact`.
"""

from dalembert.contact.solver import Law

from ..system.constraints import Constraint, Impact, Interval, Range, Rows, Zero, joint_rows
from .base import Action, Element, Situation
from .couplings import Bushing, Holonomic, IndependentJoints, PointDamper, PointSpring, Prescribed
from .drive import Actuators, FlexibleJoint, Motor
from .fields import Buoyancy, CentralGravity, Drag, Fluid, GravityCompensation, GravityField, Thruster
from .friction import Friction
from .joint import Backlash, Damper, HardStop, SoftLimit, Spring

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
    "Prescribed",
    "Range",
    "Rows",
    "Situation",
    "SoftLimit",
    "Spring",
    "Thruster",
    "Zero",
    "joint_rows",
]
