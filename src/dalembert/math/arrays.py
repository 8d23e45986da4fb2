"""Arrays of traced scalars as users' functions see them: common NumPy functions mean those of `dalembert.math`.

Inside the package traced arrays are plain object arrays; arguments of a user's law or function, and results of methods
of robots there, are `TracedArray`s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from . import algebra, elementary

FUNCTIONS: dict[Any, Any] = {
    np.linalg.solve: algebra.solve,
    np.linalg.inv: algebra.inv,
    np.linalg.cholesky: algebra.cholesky,
    np.linalg.det: algebra.det,
    np.linalg.pinv: lambda a: algebra.pinv(a),
    np.linalg.lstsq: lambda a, b, rcond=None: (algebra.lstsq(a, b), None, None, None),
    np.linalg.norm: lambda x: algebra.norm(x),
    np.cross: algebra.cross,
    np.clip: lambda a, a_min=None, a_max=None: _clipped(a, a_min, a_max),
    np.where: elementary.where,
}
UFUNCS: dict[Any, Any] = {
    np.maximum: elementary.maximum,
    np.minimum: elementary.minimum,
    np.remainder: algebra.mod,
    np.sign: elementary.sign,
    np.absolute: elementary.abs,
    np.arctan2: elementary.atan2,
    np.floor: elementary.floor,
    np.tanh: elementary.tanh,
    np.logical_and: elementary.logical_and,
    np.logical_or: elementary.logical_or,
    np.logical_not: elementary.logical_not,
}

COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal}


class TracedArray(np.ndarray):
    """An array of traced scalars on which common NumPy functions trace."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = FUNCTIONS.get(func)
        try:
            if own is not None:
                return as_traced(own(*args, **kwargs))
            return super().__array_function__(func, types, args, kwargs)
        except TypeError:
            name = f"{getattr(func, '__module__', 'numpy').replace('numpy', 'np')}.{func.__name__}"
            raise DalembertError(
                f"{name} does not take traced values in this way: use arithmetic, dalembert.math (solve, pinv, norm, "
                "clip, interp, where, …) and methods of robots; docs/laws.md lists what may stand in a law"
            ) from None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = UFUNCS.get(ufunc) if method == "__call__" and not kwargs else None
        if own is not None:
            return as_traced(own(*inputs))
        kwargs = {name: plain(x) for name, x in kwargs.items()}
        if ufunc in COMPARISONS and method == "__call__":
            kwargs.setdefault("dtype", object)  # conditions, not truth values
        return as_traced(getattr(ufunc, method)(*map(plain, inputs), **kwargs))


def as_traced(x: Any) -> Any:
    """An object array as a `TracedArray`; anything else unchanged."""
    if isinstance(x, tuple):
        return type(x)(*map(as_traced, x)) if hasattr(x, "_fields") else tuple(map(as_traced, x))
    return x.view(TracedArray) if type(x) is np.ndarray and x.dtype == object and x.ndim else x


def _clipped(a: Any, low: Any, high: Any) -> Any:
    x = a if low is None else elementary.maximum(a, low)
    return x if high is None else elementary.minimum(x, high)


def plain(x: Any) -> Any:
    """A `TracedArray` as an object array; of tuples and dicts each part; anything else unchanged."""
    if isinstance(x, tuple):
        return type(x)(*map(plain, x)) if hasattr(x, "_fields") else tuple(map(plain, x))
    if isinstance(x, dict):
        return {name: plain(part) for name, part in x.items()}
    return x.view(np.ndarray) if isinstance(x, TracedArray) else x


def asked(law: Any, *arguments: Any, **settings: Any) -> Any:
    """law(*arguments, **settings) of a user, on whose traced arrays NumPy's common functions trace."""
    return plain(law(*map(as_traced, arguments), **{name: as_traced(x) for name, x in settings.items()}))
