"""Distributions of numbers and vectors, and grids: what an axis of a space may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import DalembertError, is_number, whole_number
from dalembert.math import clip, exp, lookup, minimum, sqrt, where

from .inverse_normal import inverse_normal, less


@dataclass(frozen=True)
class Distribution(ABC):
    """The values of an axis as a function of uniform numbers. Subclass it, state `size`, and write `values`.

    size: None for a number per row, k for a vector (k,).
    """

    size: int | None

    kinds: ClassVar[dict[str, type[Distribution]]] = {}

    def __init_subclass__(cls) -> None:
        Distribution.kinds[cls.__name__] = cls

    @property
    def width(self) -> int:
        """Uniform numbers per row."""
        return 1 if self.size is None else self.size

    @abstractmethod
    def values(self, u: np.ndarray) -> np.ndarray:
        """Values (n,) or (n, size) of uniform numbers u (n, width) between 0 and 1.

        Written with arithmetic and `dalembert.math`, it also serves compiled environments, where u is traced.
        """

    def shaped(self, x: np.ndarray) -> np.ndarray:
        """The numbers (n, width) as values of the axis."""
        return np.ascontiguousarray(x[:, 0]) if self.size is None else x

    def factors(self, name: str) -> list[tuple[str, slice]]:
        """Names of what varies by itself, and its columns among the uniform numbers."""
        if self.size is None:
            return [(name, slice(0, 1))]
        return [(f"{name}[{k}]", slice(k, k + 1)) for k in range(self.size)]

    def plain(self) -> dict[str, Any]:
        """The distribution in JSON's types; `distribution` reads it."""
        return {"kind": type(self).__name__} | {each.name: _plain(getattr(self, each.name)) for each in fields(self)}


def distribution(plain: dict[str, Any]) -> Distribution | Grid:
    """The distribution or grid of its JSON form."""
    kind = plain["kind"]
    known: dict[str, Any] = {**Distribution.kinds, "Grid": Grid}
    if kind not in known:
        raise DalembertError(f"distribution {kind!r} is a class of somebody's own: import its module first")
    return known[kind](**{name: _frozen(x) for name, x in plain.items() if name != "kind"})


def _plain(x: Any) -> Any:
    if isinstance(x, (tuple, list, np.ndarray)):
        return [_plain(item) for item in x]
    return x.item() if isinstance(x, np.generic) else x


def _frozen(x: Any) -> Any:
    return tuple(_frozen(item) for item in x) if isinstance(x, list) else x


@dataclass(frozen=True)
class Uniform(Distribution):
    """Every value between low and high alike; each a number, or one for each number of a vector."""

    low: float | tuple[float, ...]
    high: float | tuple[float, ...]

    def values(self, u: np.ndarray) -> np.ndarray:
        """See `Distribution.values`."""
        low, high = np.array(self.low), np.array(self.high)
        return self.shaped(low + (high - low) * u)


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal with mean and standard deviation; cut off at low and high, where these are finite."""

    mean: float
    deviation: float
    low: float
    high: float

    def values(self, u: np.ndarray) -> np.ndarray:
        """See `Distribution.values`."""
        if np.isfinite(self.low) or np.isfinite(self.high):
            from math import erfc

            below, above = (0.5 * erfc((self.mean - x) / (2.0**0.5 * self.deviation)) for x in (self.low, self.high))
            u = clip(below + (above - below) * u, np.finfo(float).tiny, 1.0 - 2.0**-53)
        return self.shaped(clip(self.mean + self.deviation * inverse_normal(u), self.low, self.high))


@dataclass(frozen=True)
class LogUniform(Distribution):
    """Every ratio alike: the logarithm is uniform."""

    low: float
    high: float

    def values(self, u: np.ndarray) -> np.ndarray:
        """See `Distribution.values`."""
        return self.shaped(exp(np.log(self.low) + (np.log(self.high) - np.log(self.low)) * u))


@dataclass(frozen=True)
class LogNormal(Distribution):
    """The logarithm is normal, with standard deviation `deviation` about the logarithm of the median."""

    median: float
    deviation: float

    def values(self, u: np.ndarray) -> np.ndarray:
        """See `Distribution.values`."""
        return self.shaped(self.median * exp(self.deviation * inverse_normal(u)))


@dataclass(frozen=True)
class Triangular(Distribution):
    """Density that rises from low to the mode and falls to high."""

    low: float
    mode: float
    high: float

    def values(self, u: np.ndarray) -> np.ndarray:
        """See `Distribution.values`."""
        span, rise, fall = self.high - self.low, self.mode - self.low, self.high - self.mode
        rising = less(u * span, rise)
        return self.shaped(where(rising, self.low + sqrt(u * span * rise), self.high - sqrt((1.0 - u) * span * fall)))


@dataclass(frozen=True)
class Choice(Distribution):
    """One of some values, each as likely: numbers, or texts."""

    options: tuple[Any, ...]

    def values(self, u: np.ndarray) -> np.ndarray:
        """See `Distribution.values`."""
        place = minimum(u * len(self.options), len(self.options) - 1.0)
        if isinstance(self.options[0], str):
            return self.shaped(np.array(self.options)[np.asarray(place).astype(int)])
        return self.shaped(lookup(self.options, place))


@dataclass(frozen=True)
class Grid:
    """Values that are gone through one by one. axis: grids with the same name go together, else they multiply."""

    points: tuple[Any, ...]
    axis: str | None = None

    def plain(self) -> dict[str, Any]:
        """The grid in JSON's types."""
        return {"kind": "Grid", "points": _plain(self.points), "axis": self.axis}


def uniform(low: Any, high: Any, *, size: int | None = None) -> Distribution:
    """Uniform between low and high, two numbers, or two vectors of one length; size: a vector of so many numbers."""
    if np.ndim(low) or np.ndim(high):
        return _uniform_vector(low, high, size)
    low, high = _numbers("uniform", low=low, high=high)
    if not low < high:
        raise DalembertError(f"uniform: low {low:g}, high {high:g}: expected low below high")
    return Uniform(_size("uniform", size), low, high)


def _uniform_vector(low: Any, high: Any, size: Any) -> Distribution:
    """Each number of a vector between bounds of its own; equal bounds: that number."""
    try:
        lows, highs = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
    except (TypeError, ValueError):
        raise DalembertError(
            f"uniform: low {low!r}, high {high!r}: expected numbers, or vectors of one length"
        ) from None
    if lows.ndim != 1 or not lows.size or size not in (None, len(lows)):
        raise DalembertError(
            f"uniform: low and high have shape {lows.shape}, expected (n,); size is then n or left out"
        )
    if not (np.isfinite(lows).all() and np.isfinite(highs).all() and (lows <= highs).all()):
        raise DalembertError(f"uniform: low {low!r}, high {high!r}: expected finite numbers, low at most high")
    return Uniform(len(lows), tuple(lows.tolist()), tuple(highs.tolist()))


def normal(
    mean: float, deviation: float, *, low: float = -np.inf, high: float = np.inf, size: int | None = None
) -> Distribution:
    """Normal with mean and standard deviation, cut off at low and high; size: a vector of so many."""
    mean, deviation = _numbers("normal", mean=mean, deviation=deviation)
    if not deviation > 0.0:
        raise DalembertError(f"normal: deviation is {deviation:g}, expected above 0")
    if not (float(low) < high and low < mean + 8.0 * deviation and high > mean - 8.0 * deviation):
        raise DalembertError(
            f"normal: low {low:g}, high {high:g}: expected a range with some of the distribution in it"
        )
    return Normal(_size("normal", size), mean, deviation, float(low), float(high))


def loguniform(low: float, high: float, *, size: int | None = None) -> Distribution:
    """Uniform in the logarithm between low and high, both above 0."""
    low, high = _numbers("loguniform", low=low, high=high)
    if not 0.0 < low < high:
        raise DalembertError(f"loguniform: low {low:g}, high {high:g}: expected 0 < low < high")
    return LogUniform(_size("loguniform", size), low, high)


def lognormal(median: float, deviation: float, *, size: int | None = None) -> Distribution:
    """Log-normal: median times the exponential of a normal number with this standard deviation."""
    median, deviation = _numbers("lognormal", median=median, deviation=deviation)
    if not (median > 0.0 and deviation > 0.0):
        raise DalembertError(f"lognormal: median {median:g}, deviation {deviation:g}: expected both above 0")
    return LogNormal(_size("lognormal", size), median, deviation)


def triangular(low: float, mode: float, high: float, *, size: int | None = None) -> Distribution:
    """Triangular density with its peak at the mode."""
    low, mode, high = _numbers("triangular", low=low, mode=mode, high=high)
    if not (low <= mode <= high and low < high):
        raise DalembertError(f"triangular: {low:g}, {mode:g}, {high:g}: expected low ≤ mode ≤ high, and low < high")
    return Triangular(_size("triangular", size), low, mode, high)


def choice(*options: Any) -> Distribution:
    """One of these numbers or texts, each as likely."""
    return Choice(None, _options("choice", options))


def grid(*points: Any, axis: str | None = None) -> Grid:
    """These values, one by one. axis: grids with the same name go together; else they multiply, and the samples too."""
    return Grid(_options("grid", points), axis)


def linspace(low: float, high: float, count: int, *, axis: str | None = None) -> Grid:
    """`count` values from low to high, ends included, as a grid."""
    low, high = _numbers("linspace", low=low, high=high)
    return Grid(tuple(np.linspace(low, high, whole_number("linspace: count", count)).tolist()), axis)


def _options(where: str, options: Sequence[Any]) -> tuple[Any, ...]:
    if len(options) == 1 and isinstance(options[0], (list, tuple, range, np.ndarray)):
        options = list(options[0])
    if not len(options):
        raise DalembertError(f"{where}: no values: give one or more numbers or texts")
    texts = [isinstance(x, str) for x in options]
    for x in options:
        if isinstance(x, str) or (is_number(x) and np.isfinite(x)):
            continue
        raise DalembertError(f"{where}: got {x!r}, expected finite numbers or texts")
    if any(texts) and not all(texts):
        raise DalembertError(f"{where}: texts and numbers are mixed: use one of the two")
    return tuple(str(x) if isinstance(x, str) else float(x) for x in options)


def _numbers(where: str, **given: Any) -> list[float]:
    for name, x in given.items():
        if not (is_number(x) and np.isfinite(x)):
            raise DalembertError(f"{where}: {name} is {x!r}, expected a finite number")
    return [float(x) for x in given.values()]


def _size(where: str, size: Any) -> int | None:
    return None if size is None else whole_number(f"{where}: size", size)
