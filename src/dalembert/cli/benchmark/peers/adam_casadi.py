"""adam traced into CasADi functions and called with numbers; results are turned into NumPy arrays within the call."""

from __future__ import annotations

import numpy as np

from .adam import AdamRival, calls, model
from .rival import Rival


def build(case, robot, frame: str) -> Rival:
    import casadi
    from adam.casadi import KinDynComputations

    kin, layout = model(KinDynComputations, case, robot)
    names = {"np": np, "mass": kin.mass_matrix_fun(), "bias": kin.bias_force_fun(), "jac": kin.jacobian_fun(frame)}
    free = layout.free is not None
    code = calls("mass(*q).full()", "bias(*q, *v).full()[:, 0]", "jac(*q).full()", free=free)
    return AdamRival("adam+CasADi", casadi.__version__, layout, code, names)
