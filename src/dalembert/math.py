"""Elementary functions that work alike on floats, NumPy arrays and traced scalars.

A function written with these (and + - * /) computes on numbers and can be traced and compiled unchanged.
Traced scalars are recognised by their method `__traced__(op, *args)`; object arrays are handled element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

__all__ = [
    "abs", "acos", "asin", "atan", "atan2", "clip", "cos", "exp", "log", "logical_and", "logical_not", "logical_or",
    "maximum", "minimum", "pi", "product", "repeat", "sign", "sin", "sqrt", "tan", "tanh", "where",
]  # fmt: skip

pi = np.pi


def _apply(op: str, numeric: Callable[..., Any], args: tuple) -> Any:
    """`numeric(*args)` on numbers, the traced operation if any argument is traced, elementwise on object arrays."""
    for x in args:
        if hasattr(x, "__traced__") and not any(isinstance(y, (np.ndarray, list, tuple)) for y in args):
            return x.__traced__(op, *args)
    arrays = [_array(x) for x in args]
    if not any(isinstance(x, np.ndarray) and x.dtype == object for x in arrays):
        return numeric(*arrays)
    grid = np.broadcast(*arrays)
    out = np.empty(grid.shape, object)
    flat = out.reshape(-1)
    for k, items in enumerate(grid):
        flat[k] = _apply(op, numeric, items)
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
    return _apply("sqrt", np.sqrt, (x,))


def sin(x: Any) -> Any:
    """Sine of an angle [rad]."""
    return _apply("sin", np.sin, (x,))


def cos(x: Any) -> Any:
    """Cosine of an angle [rad]."""
    return _apply("cos", np.cos, (x,))


def tan(x: Any) -> Any:
    """Tangent of an angle [rad]."""
    return _apply("tan", np.tan, (x,))


def asin(x: Any) -> Any:
    """Angle in [-π/2, π/2] whose sine is x."""
    return _apply("asin", np.arcsin, (x,))


def acos(x: Any) -> Any:
    """Angle in [0, π] whose cosine is x."""
    return _apply("acos", np.arccos, (x,))


def atan(x: Any) -> Any:
    """Angle in [-π/2, π/2] whose tangent is x."""
    return _apply("atan", np.arctan, (x,))


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), in [-π, π]."""
    return _apply("atan2", np.arctan2, (y, x))


def exp(x: Any) -> Any:
    """Exponential."""
    return _apply("exp", np.exp, (x,))


def log(x: Any) -> Any:
    """Natural logarithm."""
    return _apply("log", np.log, (x,))


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return _apply("tanh", np.tanh, (x,))


def abs(x: Any) -> Any:
    """Absolute value."""
    return _apply("abs", np.abs, (x,))


def sign(x: Any) -> Any:
    """-1, 0 or 1; NaN for NaN."""
    return _apply("sign", np.sign, (x,))


def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two; NaN if either is NaN."""
    return _apply("min", np.minimum, (a, b))


def maximum(a: Any, b: Any) -> Any:
    """The larger of the two; NaN if either is NaN."""
    return _apply("max", np.maximum, (a, b))


def clip(x: Any, low: Any, high: Any) -> Any:
    """x kept between low and high, each a number or an array like x."""
    return minimum(maximum(x, low), high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, `b` elsewhere; both are evaluated."""
    if isinstance(condition, (bool, np.bool_)) and not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        return a if condition else b
    return _apply("where", _choose, (condition, a, b))


def logical_and(a: Any, b: Any) -> Any:
    """Whether both conditions hold."""
    return _apply("and", np.logical_and, (a, b))


def logical_or(a: Any, b: Any) -> Any:
    """Whether either condition holds."""
    return _apply("or", np.logical_or, (a, b))


def logical_not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return _apply("not", np.logical_not, (a,))


def product(A: Any, B: Any) -> Any:
    """The matrix product A B of matrices of numbers or traced scalars. A large traced one is compiled as a loop."""
    for x in (A.flat[0], B.flat[0]) if A.size and B.size else ():
        if hasattr(x, "__traced__"):
            return x.__product__(A, B)
    return A @ B


def repeat(
    step: Callable[..., Mapping[str, Any]],
    times: int,
    start: Mapping[str, Any],
    settled: str | None = None,
    fixed_point: float | None = None,
) -> dict[str, Any]:
    """state = step(*state), at most `times` times, as long as the number state[settled] is 0.

    start: the parts of the state by name, numbers or arrays of any shape. step takes them in this order and returns
    them by name, in their shapes; it may use any traced value in scope, and what does not depend on the state is
    computed once. settled: the part, one number or condition, that says that nothing is left to do; it is looked at
    before every pass, so that there may be none. Without it there are exactly `times` passes.

    Returns the state by name after the last pass, and "passes", their number. Compiled, it is a loop, and each state of
    a batch stops on its own.

    fixed_point: the result is a solution of state = step(state) that does not depend on the start. Derivatives are then
    those of the solution, to this relative accuracy, instead of those of the passes that were made.
    """
    if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 0:
        raise DalembertError(f"repeat: times={times!r}, expected a whole number ≥ 0")
    if "passes" in start:
        raise DalembertError("repeat: 'passes' cannot be part of the state: it is the number of passes in the result")
    if settled is not None and settled not in start:
        raise unknown("part of the state", settled, start, "repeat")
    if settled is not None and np.size(start[settled]) != 1:
        raise DalembertError(f"repeat: '{settled}' has shape {np.shape(start[settled])}, expected one number")
    if fixed_point is not None and not 0 < fixed_point < 1:
        raise DalembertError(f"repeat: fixed_point={fixed_point!r}, expected an accuracy between 0 and 1, or None")

    def checked(*parts: Any) -> Mapping[str, Any]:
        following = step(*parts)
        _check_state(start, following)
        return following

    state, passes = dict(start), 0
    traced = _traced(start.values())
    while traced is None and passes < times and not (settled and np.all(state[settled])):
        following = checked(*state.values())
        traced = _traced(following.values())  # by way of values in scope
        state, passes = {name: following[name] for name in state}, passes + 1
    if traced is not None:
        return traced.__repeat__(checked, int(times), start, settled, fixed_point)
    return {name: np.asarray(x)[()] for name, x in state.items()} | {"passes": float(passes)}


def _traced(values: Any) -> Any:
    """The first traced scalar among numbers and arrays, if there is one."""
    every = (x for value in values for x in np.asarray(value, object).ravel())
    return next((x for x in every if hasattr(x, "__traced__")), None)


def _check_state(start: Mapping[str, Any], following: Any) -> None:
    """A repeated step gave every part of the state, in its shape."""
    if not isinstance(following, Mapping):
        raise DalembertError(f"repeat: the step gave {type(following).__name__}, expected a dict with {list(start)}")
    for name in following:
        if name not in start:
            raise unknown("part of the state", name, start, "repeat")
    for name, x in start.items():
        shape, wanted = np.shape(following[name]) if name in following else "nothing", np.shape(x)
        if shape != wanted:
            raise DalembertError(f"repeat: the step gave {shape} for '{name}', expected shape {wanted}")
