"""Arrays whose entries may be numbers or traced scalars, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from .elementary import maximum


def is_infinite(x: Any) -> bool:
    """Whether a number is infinite; a traced one is not known to be."""
    return isinstance(x, (float, int, np.number)) and bool(np.isinf(x))


def objects(values: Iterable[Any]) -> np.ndarray:
    """An array (n,) of numbers and traced scalars as they are, NumPy's numbers as Python's."""
    listed = [float(x) if isinstance(x, np.floating) else x for x in values]
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def each(function: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """A function of numbers, entry by entry of arrays of one shape."""
    flat = [function(*entries) for entries in zip(*(np.asarray(a).ravel() for a in arrays), strict=True)]
    return np.array(flat).reshape(np.shape(arrays[0]))


def largest(values: Iterable[Any]) -> Any:
    """The largest of at least one number, in pairs, so that no comparison waits for all others."""
    left = list(values)
    while len(left) > 1:
        left = [reduce(maximum, left[k : k + 2]) for k in range(0, len(left), 2)]
    return left[0]
