"""Scalar expression graphs: tracing, folding and sharing, differentiation, scheduling, loops. No robotics.

`trace` turns a Python function into a `Function`; a backend turns that into something that runs.

In the order of reading:

    operations, scalar → folding    what every operation means; traced scalars, shared and folded as they are made
    function → capture              a traced function, the loop that repeats one; functions traced within others
    compound: calls, repeat, visit → visit_slopes, product, lookup           what is more than one operation
    differentiate, linearise, transform, copying                             functions from functions
    schedule, pressure, sinking     the order in which nodes are computed, and branches that take in what they need
    collection → traces             tracing without garbage collection; functions kept in bounded memory
"""

from .calls import call
from .collection import uncollected
from .copying import substitute
from .differentiate import gradient, jacobian, jvp, vjp
from .function import Function, Input, Loop, Output, trace
from .linearise import gauss_newton, linearised
from .scalar import Graph, Scalar, TracedValueError
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
