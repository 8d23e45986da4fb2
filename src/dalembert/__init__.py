"""dalembert: rigid-body dynamics of robots, traced for the robot at hand and compiled.

robot = dalembert.load("panda")
tau = robot.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import math, spatial
from .algorithms import zero_moment_point
from .comparison import Comparison, Difference, compare
from .editing import ModelEditor
from .errors import DalembertError
from .execute import Interrupted, register_backend
from .functions import kinds, quantity
from .functions.structure import BodyInfo, FrameInfo, JointInfo, Wrench
from .loading import ModelBuilder, function, load, register_reader, robots, scene
from .model import Actuator, AxisJoint, Joint, Model, charts
from .robot import Robot
from .sim.failure import SimulationError
from .solids import MassProperties, mass_properties
from .spatial import Inertia, Pose
from .version import __version__

if TYPE_CHECKING:
    from . import control, identify, mechanism, motion, optimal
    from .contact import Contact
    from .formats.ledger import Finding
    from .logs import Log, Trajectory, read_log, read_trajectory, write_trajectory
    from .mechanism import Mechanism
    from .sim import elements, integrators
    from .sim.rollout.result import Rollout
    from .sim.run.events import Event
    from .sim.run.run import Run
    from .sim.run.save import load_run
    from .sim.system import constraints
    from .sim.system.laws import Sampled

__all__ = [
    "Actuator",
    "AxisJoint",
    "BodyInfo",
    "Comparison",
    "Contact",
    "DalembertError",
    "Difference",
    "Event",
    "Finding",
    "FrameInfo",
    "Inertia",
    "Interrupted",
    "Joint",
    "JointInfo",
    "Log",
    "MassProperties",
    "Mechanism",
    "Model",
    "ModelBuilder",
    "ModelEditor",
    "Pose",
    "Robot",
    "Rollout",
    "Run",
    "Sampled",
    "SimulationError",
    "Trajectory",
    "Wrench",
    "__version__",
    "charts",
    "compare",
    "constraints",
    "control",
    "elements",
    "function",
    "identify",
    "integrators",
    "kinds",
    "load",
    "load_run",
    "mass_properties",
    "math",
    "mechanism",
    "motion",
    "optimal",
    "quantity",
    "read_log",
    "read_trajectory",
    "register_backend",
    "register_reader",
    "robots",
    "scene",
    "spatial",
    "write_trajectory",
    "zero_moment_point",
]


# rooms that take time to load: files need an XML library, runs the compiler
_LATER = {
    "Contact": "contact",
    "Event": "sim.run.events",
    "Finding": "formats.ledger",
    "Log": "logs",
    "Mechanism": "mechanism",
    "Rollout": "sim.rollout.result",
    "Run": "sim.run.run",
    "Sampled": "sim.system.laws",
    "Trajectory": "logs",
    "constraints": "sim.system.constraints",
    "control": "control",
    "elements": "sim.elements",
    "integrators": "sim.integrators",
    "identify": "identify",
    "load_run": "sim.run.save",
    "mechanism": "mechanism",
    "motion": "motion",
    "optimal": "optimal",
    "read_log": "logs",
    "read_trajectory": "logs",
    "write_trajectory": "logs",
}

_ROOMS = (
    "constraints",
    "control",
    "elements",
    "identify",
    "integrators",
    "mechanism",
    "motion",
    "optimal",
)  # as a whole


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    from importlib import import_module

    room = import_module(f".{_LATER[name]}", __name__)
    return room if name in _ROOMS else getattr(room, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING", "annotations"})
