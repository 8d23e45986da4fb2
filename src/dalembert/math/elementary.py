"""Elementary functions that work alike on floats, NumPy arrays and traced scalars.

Traced scalars are recognised by their method `__traced__(op, *args)`; object arrays are handled element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

pi = np.pi


FOREIGN = {"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy"}  # packages of arrays, and their functions


def library_of(*arrays: Any) -> Any:
    """The module with the functions of PyTorch or JAX, if one of some arrays is of these libraries; else None."""
    for x in arrays:
        package = type(x).__module__.partition(".")[0]
        if package in FOREIGN:
            return import_module(FOREIGN[package])
    return None


def _foreign(library: Any, numeric: Callable[..., Any], args: tuple) -> Any:
    """The function of the same name of a library, numbers beside its arrays as arrays."""
    name = "where" if numeric is _choose else numeric.__name__
    if library.__name__ == "torch":
        floating = [x.dtype for x in args if library_of(x) is not None and x.is_floating_point()]
        kind = floating[0] if floating else library.get_default_dtype()
        args = tuple(x if library_of(x) is not None else library.as_tensor(x, dtype=kind) for x in args)
    return getattr(library, name)(*args)


def apply(op: str, numeric: Callable[..., Any], args: tuple) -> Any:
    """`numeric(*args)` on numbers, the traced operation if any argument is traced, elementwise on object arrays."""
    if (library := library_of(*args)) is not None:
        return _foreign(library, numeric, args)
    for x in args:
        if hasattr(x, "__traced__") and not any(isinstance(y, (np.ndarray, list, tuple)) for y in args):
            return x.__traced__(op, *args)
    arrays = [_array(x) for x in args]
    if not any(hasattr(x, "__traced__") or (isinstance(x, np.ndarray) and x.dtype == object) for x in arrays):
        return numeric(*arrays)
    grid = np.broadcast(*arrays)
    out = np.empty(grid.shape, object)
    flat = out.reshape(-1)
    for k, items in enumerate(grid):
        flat[k] = apply(op, numeric, items)
    return out[()]


def _array(x: Any) -> Any:
    """Sequences as arrays, integers as floats; floats and float arrays of any precision unchanged."""
    if isinstance(x, float) or hasattr(x, "__traced__"):
        return x
    x = np.asarray(x)
    return x.astype(float)[()] if x.dtype.kind in "iu" else x[()]


def _choose(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)[()]


def sqrt(x: Any) -> Any:
    """Square root."""
    return apply("sqrt", np.sqrt, (x,))


def sin(x: Any) -> Any:
    """Sine of an angle [rad]."""
    return apply("sin", np.sin, (x,))


def cos(x: Any) -> Any:
    """Cosine of an angle [rad]."""
    return apply("cos", np.cos, (x,))


def tan(x: Any) -> Any:
    """Tangent of an angle [rad]."""
    return apply("tan", np.tan, (x,))


def asin(x: Any) -> Any:
    """Angle in [-π/2, π/2] whose sine is x."""
    return apply("asin", np.arcsin, (x,))


def acos(x: Any) -> Any:
    """Angle in [0, π] whose cosine is x."""
    return apply("acos", np.arccos, (x,))


def atan(x: Any) -> Any:
    """Angle in [-π/2, π/2] whose tangent is x."""
    return apply("atan", np.arctan, (x,))


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), in [-π, π]."""
    return apply("atan2", np.arctan2, (y, x))


def exp(x: Any) -> Any:
    """Exponential."""
    return apply("exp", np.exp, (x,))


def log(x: Any) -> Any:
    """Natural logarithm."""
    return apply("log", np.log, (x,))


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return apply("tanh", np.tanh, (x,))


def abs(x: Any) -> Any:
    """Absolute value."""
    return apply("abs", np.abs, (x,))


def floor(x: Any) -> Any:
    """The largest whole number that is not above x. Its slope is 0."""
    return apply("floor", np.floor, (x,))


def sign(x: Any) -> Any:
    """-1, 0 or 1; NaN for NaN."""
    return apply("sign", np.sign, (x,))


def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two; NaN if either is NaN."""
    return apply("min", np.minimum, (a, b))


def maximum(a: Any, b: Any) -> Any:
    """The larger of the two; NaN if either is NaN."""
    return apply("max", np.maximum, (a, b))


def clip(x: Any, low: Any, high: Any) -> Any:
    """x kept between low and high, each a number or an array like x."""
    return minimum(maximum(x, low), high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, `b` elsewhere; both are evaluated."""
    if isinstance(condition, (bool, np.bool_)) and not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        return a if condition else b
    return apply("where", _choose, (condition, a, b))


def logical_and(a: Any, b: Any) -> Any:
    """Whether both conditions hold."""
    return apply("and", np.logical_and, (a, b))


def logical_or(a: Any, b: Any) -> Any:
    """Whether either condition holds."""
    return apply("or", np.logical_or, (a, b))


def logical_not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return apply("not", np.logical_not, (a,))


def product(A: Any, B: Any) -> Any:
    """The matrix product A B of matrices of numbers or traced scalars. A large traced one is compiled as a loop."""
    for x in (A.flat[0], B.flat[0]) if A.size and B.size else ():
        if hasattr(x, "__traced__"):
            return x.__product__(A, B)
    return A @ B


RESOLVED = 1e-12  # a share of numbers that float64 keeps and float32 loses


def is_precise(x: Any) -> Any:
    """Whether a program computes in float64, told by a number x above 0 that it computes."""
    return x + RESOLVED * x > x
