"""Studies: sweeps, Monte Carlo and sensitivity, on one machine or a cluster with the same call.

Read in this order: `distributions` for spaces; `motion` and `rows`, what is computed for a row; `work`, a chunk of rows
with its time limits; `parts` and `provenance`, the folder; `dispatch` and `slurm`, who computes which chunk; `job`, all
of it together, and `file`, that of a TOML file; `table`, `sensitivity`, `result` and `page`, what comes out; `ready`,
studies that are asked for often.
"""

from dalembert.study.distributions import (
    Distribution,
    Space,
    cad_errors,
    choice,
    grid,
    linspace,
    lognormal,
    loguniform,
    model_errors,
    normal,
    states,
    triangular,
    uniform,
)

from .job import Forecast, Job
from .motion import motion
from .ready import (
    Comparison,
    Gains,
    PayloadMap,
    Robustness,
    Tolerance,
    Workspace,
    WorstCase,
    compared,
    gains,
    payload_map,
    robustness,
    tolerance,
    workspace,
    worst_case,
)
from .result import Failures, Result
from .result import open_study as open
from .rows import Row
from .sensitivity import Sensitivity
from .table import Table

__all__ = [
    "Comparison",
    "Distribution",
    "Failures",
    "Forecast",
    "Gains",
    "Job",
    "PayloadMap",
    "Result",
    "Robustness",
    "Row",
    "Sensitivity",
    "Space",
    "Table",
    "Tolerance",
    "Workspace",
    "WorstCase",
    "cad_errors",
    "choice",
    "compared",
    "gains",
    "grid",
    "linspace",
    "lognormal",
    "loguniform",
    "model_errors",
    "motion",
    "normal",
    "open",
    "payload_map",
    "robustness",
    "states",
    "tolerance",
    "triangular",
    "uniform",
    "workspace",
    "worst_case",
]
