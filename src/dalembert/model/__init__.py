"""The robot as data: a frozen `Model` of bodies, joints and frames, the joint types, and the builder.

Joints are polymorphic (`pose`, `subspace`, `bias`, `integrate`, `difference`); algorithms never ask which kind.

In: bodies, joints and frames from a file or a builder. Out: a `Model`, which never changes. Read in this order:
`model`, `parts`, `frame`; `joints/joint`, what every joint type answers, and `joints/revolute`, one of them; `builder`;
`disassembly` and `assembly`, a model as links and back; `closures`, `actuators`, `geometry`, what else a file states.
"""

from . import charts
from .actuators import Actuator, JointForceLimits
from .builder import ModelBuilder
from .closures import CamEquation, Closure, JointEquation
from .disassembly import LinkPlan, disassemble, plan
from .frame import Frame
from .geometry import Geometry, MujocoContact, Surface
from .joints import KINDS, AxisJoint, Coupled, Joint
from .keyframes import JointState, Keyframe, State, start_of
from .model import Body, Model, Part
from .motors import Motors, motorized, motors_of
from .mujoco import Mujoco
from .random_parameters import random_parameters
from .singular import Unopposed, unopposed
from .tool import chain, tips, tool_frame

__all__ = [
    "KINDS",
    "Actuator",
    "AxisJoint",
    "Body",
    "CamEquation",
    "Closure",
    "Coupled",
    "Frame",
    "Geometry",
    "Joint",
    "JointEquation",
    "JointForceLimits",
    "JointState",
    "Keyframe",
    "LinkPlan",
    "Model",
    "ModelBuilder",
    "Motors",
    "Mujoco",
    "MujocoContact",
    "Part",
    "State",
    "Surface",
    "Unopposed",
    "chain",
    "charts",
    "disassemble",
    "motorized",
    "motors_of",
    "plan",
    "random_parameters",
    "start_of",
    "tips",
    "tool_frame",
    "unopposed",
]
