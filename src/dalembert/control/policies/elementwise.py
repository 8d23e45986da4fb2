"""Functions of single numbers, applied to whole arrays: long traced ones as one loop."""

from __future__ import annotations

import math as plain
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, exp, floor, log, map, maximum, minimum, sqrt, tanh, where

LOOPED = 12  # traced numbers from which on a function of them is a loop


def each(function: Callable[..., Any], *arrays: Any, looped: bool = True) -> np.ndarray:
    """function(x, y, …) of arrays that broadcast, number by number. looped: False where some are conditions."""
    grids = np.broadcast_arrays(*[np.asarray(x) for x in arrays])
    if not any(x.dtype == object for x in grids):
        return np.asarray(function(*[x.astype(float) if x.dtype.kind in "iu" else x for x in grids]))
    flat = [x.reshape(-1) for x in grids]
    out = np.empty(grids[0].size, object)
    if not looped or out.size < LOOPED:
        out[:] = [function(*numbers) for numbers in zip(*flat, strict=True)]
    else:
        items = {f"x{k}": x for k, x in enumerate(flat)}
        out[:] = list(map(lambda *numbers: {"y": function(*numbers)}, items)["y"])
    return out.reshape(grids[0].shape)


def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ)."""
    return 1.0 / (1.0 + exp(-x))


def softplus(x: Any) -> Any:
    """log(1 + eˣ), of large x as well."""
    return maximum(x, 0.0) + log(1.0 + exp(-absolute(x)))


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha (eˣ − 1)."""
    return where(x > 0.0, x, alpha * (exp(minimum(x, 0.0)) - 1.0))


def rounded_to_zero(x: Any) -> Any:
    """The whole number next to x on the way to 0."""
    return where(x < 0.0, -floor(-x), floor(x))


@cache
def _erf_coefficients() -> tuple[float, ...]:
    """Coefficients of erf(x)/x as a polynomial of x²/16, exact to 1e-9 for |x| ≤ 4; highest power first."""
    t = 0.5 - 0.5 * np.cos(np.pi * (np.arange(200) + 0.5) / 200)
    values = [plain.erf(4.0 * plain.sqrt(x)) / (4.0 * plain.sqrt(x)) for x in t]
    fit = np.polynomial.chebyshev.Chebyshev.fit(t, values, 20, domain=[0.0, 1.0])
    return tuple(float(c) for c in fit.convert(kind=np.polynomial.Polynomial, domain=[-1, 1]).coef[::-1])


def erf(x: Any) -> Any:
    """The error function, to 2e-8."""
    x = clip(x, -4.0, 4.0)
    t, y = x * x / 16.0, 0.0
    for c in _erf_coefficients():
        y = y * t + c
    return x * y


def gelu(x: Any, approximate: str = "none") -> Any:
    """x Φ(x), or its approximation by tanh."""
    if approximate == "tanh":
        return 0.5 * x * (1.0 + tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + erf(x * np.sqrt(0.5)))


def inverse_root(x: Any) -> Any:
    """1 / √x."""
    return 1.0 / sqrt(x)
