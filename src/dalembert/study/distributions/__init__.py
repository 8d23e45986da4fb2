"""Random numbers for studies and for learning: distributions, physical errors of models, starts, and spaces of them.

Read in this order: `counter`, numbers that depend on (seed, name, row) alone; `inverse_normal`; `laws`, numbers and
vectors; `model_errors` and `states`, what changes a robot and its start; `designs`, how rows are spread over the unit
cube; `space`, axes by name and their rows.
"""

from .laws import (
    Distribution,
    Grid,
    choice,
    grid,
    linspace,
    lognormal,
    loguniform,
    normal,
    triangular,
    uniform,
)
from .model_errors import ModelErrors, cad_errors, model_errors
from .space import Draw, Space
from .states import States, states

__all__ = [
    "Distribution",
    "Draw",
    "Grid",
    "ModelErrors",
    "Space",
    "States",
    "cad_errors",
    "choice",
    "grid",
    "linspace",
    "lognormal",
    "loguniform",
    "model_errors",
    "normal",
    "states",
    "triangular",
    "uniform",
]
