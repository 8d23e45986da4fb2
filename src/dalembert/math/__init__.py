"""Mathematics that works alike on floats, NumPy arrays and traced scalars.

A function written with these (and + - * /) computes on numbers and can be traced and compiled unchanged.
"""

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

__all__ = [
    "abs", "acos", "asin", "atan", "atan2", "branch", "clip", "cos", "exp", "floor", "held", "interp", "interp2", "log",
    "logical_and", "logical_not", "logical_or", "lookup", "map", "maximum", "minimum", "pi", "product",
    "repeat", "scan", "sign", "sin", "sqrt", "take", "tan", "tanh", "visit", "where",
]  # fmt: skip
