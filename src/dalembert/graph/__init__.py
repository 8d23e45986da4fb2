"""Scalar expression graphs: tracing, folding and sharing, differentiation, scheduling, loops. No robotics.

`trace` turns a Python function into a `Function`; a backend turns that into something that runs.
"""

from .calls import call
from .collection import uncollected
from .differentiate import gradient, jacobian, jvp, vjp
from .function import Function, Input, Loop, Output, trace
from .linearise import gauss_newton, linearised
from .scalar import Graph, Scalar, TracedValueError
from .substitute import substitute
from .transform import poisoned, pullback

__all__ = [
    "Function",
    "Graph",
    "Input",
    "Loop",
    "Output",
    "Scalar",
    "TracedValueError",
    "call",
    "gauss_newton",
    "gradient",
    "jacobian",
    "jvp",
    "linearised",
    "poisoned",
    "pullback",
    "substitute",
    "trace",
    "uncollected",
    "vjp",
]
