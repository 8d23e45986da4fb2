"""Studies that are asked for often, each one call: a robot or a law in, numbers and a figure out.

Read in this order: `places`, the workspace and what the arm can carry where; `tolerances`, which error of the model
matters for which joint; `worst`, the worst case of a space; `laws`, a law in many worlds, and its gains; `paired`, two
designs under the same random numbers.
"""

from .laws import Gains, Robustness, gains, robustness
from .paired import Comparison, compared
from .places import PayloadMap, Workspace, payload_map, workspace
from .tolerances import Tolerance, tolerance
from .worst import WorstCase, worst_case

__all__ = [
    "Comparison",
    "Gains",
    "PayloadMap",
    "Robustness",
    "Tolerance",
    "Workspace",
    "WorstCase",
    "compared",
    "gains",
    "payload_map",
    "robustness",
    "tolerance",
    "workspace",
    "worst_case",
]
