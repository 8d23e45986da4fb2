"""dalembert: rigid-body dynamics of robots, traced for the robot at hand and compiled.

robot = dalembert.load("panda")
tau = robot.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from . import (
        collision,
        control,
        identify,
        learn,
        math,
        mechanism,
        motion,
        optimal,
        pictures,
        shapes,
        spatial,
        study,
        tables,
        typing,
    )
    from .compiler.execute import Interrupted, register_backend
    from .compiler.graph import gradient
    from .contact import Contact
    from .dynamics.algorithms.zero_moment_point import zero_moment_point
    from .editing import ModelEditor
    from .editing.comparison import Comparison, Difference
    from .editing.comparison.compare import compare
    from .errors import DalembertError, ImportFindingsWarning
    from .formats.ledger import Finding
    from .loading import ModelBuilder, function, load, register_reader, register_writer, robots, scene
    from .logs import Log, Trajectory, read_log, read_trajectory, write_trajectory
    from .mechanism import Mechanism
    from .model import Actuator, AxisJoint, Joint, Model, charts
    from .model.solids import MassProperties, mass_properties
    from .quantities import kinds
    from .quantities.quantity import quantity
    from .quantities.structure import BodyInfo, FrameInfo, JointInfo, Wrench
    from .robot import Robot
    from .sim import elements, integrators
    from .sim.failure import SimulationError
    from .sim.rollout.result import Rollout
    from .sim.run.run import Event, Run
    from .sim.run.save import load_run
    from .sim.settings import Settings
    from .sim.system import constraints
    from .sim.system.laws import Sampled
    from .spatial import Inertia, Pose

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
    "ImportFindingsWarning",
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
    "Settings",
    "SimulationError",
    "Trajectory",
    "Wrench",
    "__version__",
    "charts",
    "collision",
    "compare",
    "constraints",
    "control",
    "elements",
    "function",
    "gradient",
    "identify",
    "integrators",
    "kinds",
    "learn",
    "load",
    "load_run",
    "mass_properties",
    "math",
    "mechanism",
    "motion",
    "optimal",
    "pictures",
    "quantity",
    "read_log",
    "read_trajectory",
    "register_backend",
    "register_reader",
    "register_writer",
    "robots",
    "scene",
    "shapes",
    "spatial",
    "study",
    "tables",
    "typing",
    "write_trajectory",
    "zero_moment_point",
]


# Names are loaded when they are used first: whatever they need with them, and nothing else.
_ROOMS = {
    "charts": "model.charts",
    "collision": "collision",
    "constraints": "sim.system.constraints",
    "control": "control",
    "elements": "sim.elements",
    "identify": "identify",
    "integrators": "sim.integrators",
    "kinds": "quantities.kinds",
    "learn": "learn",
    "math": "math",
    "mechanism": "mechanism",
    "motion": "motion",
    "optimal": "optimal",
    "pictures": "pictures",
    "shapes": "shapes",
    "spatial": "spatial",
    "study": "study",
    "tables": "tables",
    "typing": "typing",
}
_NAMES = {
    "dynamics.algorithms": ("zero_moment_point",),
    "editing.comparison": ("Comparison", "Difference", "compare"),
    "contact": ("Contact",),
    "editing": ("ModelEditor",),
    "errors": ("DalembertError", "ImportFindingsWarning"),
    "compiler.execute": ("Interrupted", "register_backend"),
    "formats.ledger": ("Finding",),
    "quantities": ("quantity",),
    "quantities.structure": ("BodyInfo", "FrameInfo", "JointInfo", "Wrench"),
    "compiler.graph": ("gradient",),
    "loading": ("ModelBuilder", "function", "load", "register_reader", "register_writer", "robots", "scene"),
    "logs": ("Log", "Trajectory", "read_log", "read_trajectory", "write_trajectory"),
    "mechanism": ("Mechanism",),
    "model": ("Actuator", "AxisJoint", "Joint", "Model"),
    "robot": ("Robot",),
    "sim.failure": ("SimulationError",),
    "sim.rollout.result": ("Rollout",),
    "sim.run.run": ("Event", "Run"),
    "sim.run.save": ("load_run",),
    "sim.settings": ("Settings",),
    "sim.system.laws": ("Sampled",),
    "model.solids": ("MassProperties", "mass_properties"),
    "spatial": ("Inertia", "Pose"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _ROOMS:
        value = import_module(f".{_ROOMS[name]}", __name__)
    else:
        home = next((module for module, names in _NAMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
        value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
