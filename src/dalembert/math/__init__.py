"""Mathematics that works alike on floats, NumPy arrays and traced scalars.

A function written with these (and + - * /) computes on numbers and can be traced and compiled unchanged.

In: floats, arrays or traced scalars. Out: the same kind. Read in this order: `elementary`, functions of numbers;
`repeat`, `items`, `visits`, loops that are traced as loops; `entries`, arrays entry by entry; `tables`, interpolation;
`tolerances`; `blas`, threads of NumPy.
"""

from typing import Any

from .algebra import cholesky, cross, det, inv, lstsq, mod, norm, pinv, solve
from .elementary import (
    abs,
    acos,
    asin,
    atan,
    atan2,
    clip,
    cos,
    exp,
    floor,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    pi,
    product,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from .items import map, scan
from .repeat import branch, held, repeat
from .tables import interp, interp2, lookup
from .visits import take, visit

ROTATIONS = {  # names here, and in dalembert.spatial.so3, which is above this room and is loaded when they are used
    "quaternion_conjugate": "quaternion_conjugate",
    "quaternion_exp": "quaternion_exp",
    "quaternion_from_matrix": "to_quaternion",
    "quaternion_log": "quaternion_log",
    "quaternion_multiply": "quaternion_multiply",
    "quaternion_normalize": "quaternion_normalize",
    "rotation_about": "about_axis",
    "rotation_exp": "exp",
    "rotation_from_quaternion": "from_quaternion",
    "rotation_from_rpy": "from_rpy",
    "rotation_log": "log",
    "rotation_to_rpy": "to_rpy",
    "skew": "skew",
}


def __getattr__(name: str) -> Any:
    if name not in ROTATIONS:
        raise AttributeError(f"module 'dalembert.math' has no attribute {name!r}")
    from dalembert.spatial import so3

    return getattr(so3, ROTATIONS[name])


__all__ = [
    "abs", "acos", "asin", "atan", "atan2", "branch", "cholesky", "clip", "cos", "cross", "det", "exp", "floor", "held",
    "interp", "interp2", "inv", "log", "logical_and", "logical_not", "logical_or", "lookup", "lstsq", "map", "maximum",
    "minimum", "mod", "norm", "pi", "pinv", "product", "quaternion_conjugate", "quaternion_exp",
    "quaternion_from_matrix", "quaternion_log", "quaternion_multiply", "quaternion_normalize", "repeat",
    "rotation_about", "rotation_exp", "rotation_from_quaternion", "rotation_from_rpy", "rotation_log",
    "rotation_to_rpy", "scan", "sign", "sin", "skew", "solve", "sqrt", "take", "tan", "tanh", "visit", "where",
]  # fmt: skip
