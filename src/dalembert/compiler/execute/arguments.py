"""Arguments of numeric calls: which are arrays of real numbers, of which precision, words for those that are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.graph import Scalar
from dalembert.errors import DalembertError

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
MAX_DIMS = 64  # NumPy's limit: lists nested deeper, such as one that contains itself, are not arrays
SCANNED = 4096  # states examined at a time in search of a bad one


def real_array(what: str, x: Any, expected: str) -> np.ndarray:
    """x as an array of real numbers of any type; errors begin with `what` and end with `expected`."""
    if is_maskable(x) and np.ma.is_masked(x):
        raise DalembertError(f"{what} has masked entries, {expected}: fill them first")
    try:
        a = np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:  # PyTorch's is a RuntimeError
        raise DalembertError(f"{what} cannot be read as an array ({error}), {expected}") from None
    if a.dtype.kind not in "fiub":
        raise DalembertError(f"{what} is {described(x)}, not an array of real numbers, {expected}")
    return a


def is_maskable(x: Any) -> bool:
    """Whether x is a masked array, with a mask or without. np.ma is not loaded for that: it takes 15 ms."""
    return type(x) is not np.ndarray and "numpy.ma" in sys.modules and isinstance(x, np.ma.MaskedArray)


def is_single(x: Any) -> bool:
    """Whether x is an array of float32, in any byte order."""
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.dtype.itemsize == 4


def is_traced(*arguments: Any) -> bool:
    """Whether any argument holds traced scalars."""
    return any(_holds_scalar(x, MAX_DIMS) for x in arguments)


def _holds_scalar(x: Any, depth: int) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "O" and any(isinstance(y, Scalar) for y in x.ravel())
    if isinstance(x, (list, tuple)):
        return depth > 0 and any(_holds_scalar(y, depth - 1) for y in x)
    return isinstance(x, Scalar)


def batch_shape(what: str, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch shape that arguments share; shapes: argument name → its batch shape."""
    different = set(shapes.values())
    if len(different) == 1:
        return different.pop()
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise DalembertError(f"{what}: batch shapes do not broadcast: {listed}") from None


def states(a: np.ndarray, dtype: np.dtype) -> Iterator[tuple[int, np.ndarray]]:
    """(number of the first, states (n, size) as the kernel saw them): a batch in pieces, since all may be large."""
    count, size = prod(a.shape[:-1]), a.shape[-1]
    for begin in range(0, count, SCANNED):
        end = min(begin + SCANNED, count)
        with np.errstate(over="ignore"):
            yield begin, a.flat[begin * size : end * size].reshape(end - begin, size).astype(dtype)


def state_place(number: int, a: np.ndarray) -> str:
    """Words for the state of this number among those of an argument."""
    index = tuple(int(k) for k in np.unravel_index(number, a.shape[:-1])) if a.ndim > 1 else ()
    return f" of state {index if len(index) > 1 else index[0]}" if index else ""


def described(x: Any) -> str:
    """A short description of an argument."""
    if not isinstance(x, np.ndarray):
        return f"of type {type(x).__name__}"
    return f"a {'' if x.flags.writeable else 'read-only '}{x.dtype} array of shape {np.asarray(x).shape}"
