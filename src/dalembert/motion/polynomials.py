"""Piecewise polynomials in time: values, derivatives and exact extremes, of numbers and of traced times.

Piece k holds from times[k] to times[k + 1]; its polynomials are in the share s of that time which has passed, 0 … 1,
lowest power first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import is_traced, real_array
from dalembert.math import clip, interp, logical_and, where

REAL = 1e-7  # imaginary part below which a root counts as real; a double root splits by about this much
CORNER = 1e-9  # relative jump of a derivative that is no rounding
LEVEL = 1e-12  # relative height above the ends of pieces below which the inside of a piece is not searched


def times_of(t: Any) -> np.ndarray:
    """Times (…) [s] as numbers; NaN stays NaN."""
    return real_array("motion: t", t, "expected times [s]").astype(float, copy=False)


class Extremes(NamedTuple):
    """Least and greatest values (n,) over a motion, and the times (n,) [s] at which they occur."""

    least: np.ndarray
    least_time: np.ndarray
    greatest: np.ndarray
    greatest_time: np.ndarray


@dataclass(frozen=True, eq=False)
class Polynomials:
    """times (K + 1,) [s], rising; coefficients (K, degree + 1, n) in the share of each piece."""

    times: np.ndarray
    coefficients: np.ndarray

    @property
    def count(self) -> int:
        """Number of curves."""
        return self.coefficients.shape[2]

    @cached_property
    def _lengths(self) -> np.ndarray:
        return np.diff(self.times)

    @cached_property
    def _orders(self) -> dict[int, np.ndarray]:
        return {0: self.coefficients}

    def derivative(self, order: int) -> np.ndarray:
        """Coefficients (K, degree + 1 − order, n) of a derivative by time, at least one of them."""
        if order not in self._orders:
            degree = self.coefficients.shape[1] - 1
            if order > degree:
                self._orders[order] = np.zeros((len(self._lengths), 1, self.count))
            else:
                factors = [factorial(p) / factorial(p - order) for p in range(order, degree + 1)]
                scale = self._lengths[:, None, None] ** -order
                self._orders[order] = self.coefficients[:, order:] * np.array(factors)[:, None] * scale
        return self._orders[order]

    def __call__(self, t: Any, order: int = 0) -> Any:
        """Values (…, n), or those of a derivative, at times t (…): outside, the ends are held, at rest."""
        if is_traced(t):
            return self._traced(t, order)
        t = times_of(t)
        piece, share = self.locate(t)
        values = _horner(self.derivative(order)[piece], share[..., None])
        if order:
            outside = (t < self.times[0]) | (t > self.times[-1])
            values = np.where(outside[..., None], 0.0, values) if outside.any() else values
        return values

    def locate(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The piece (…) that holds at t (…), and the share (…) of it that has passed; NaN stays NaN."""
        inside = np.clip(t, self.times[0], self.times[-1])
        piece = np.searchsorted(self.times[1:-1], inside, side="right")
        return piece, (inside - self.times[piece]) / self._lengths[piece]

    def _traced(self, t: Any, order: int) -> np.ndarray:
        if isinstance(t, np.ndarray):
            return np.array([self._traced(x, order) for x in t.ravel()], object).reshape(*t.shape, self.count)
        inside = clip(t, float(self.times[0]), float(self.times[-1]))
        start, scale, rows = self.selected(inside, self.derivative(order))
        values = _horner(rows, (inside - start) * scale)
        if order:
            within = logical_and(t >= float(self.times[0]), t <= float(self.times[-1]))
            values = np.array([where(within, x, 0.0) for x in values], object)
        return values

    def selected(self, t: Any, table: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """Start [s], 1/length [1/s] and row of a table (K, …), of the piece that holds at a traced t."""
        if len(table) == 1:
            return self.times[0], 1.0 / self._lengths[0], table[0]
        columns = [self.times[:-1, None], 1.0 / self._lengths[:, None], table.reshape(len(table), -1)]
        rows = np.hstack(columns)
        row = interp(t, self.times, np.vstack([rows, rows[-1:]]), kind="previous")
        return row[0], row[1], row[2:].reshape(table.shape[1:])

    @cached_property
    def corners(self) -> np.ndarray:
        """At the ends of pieces, without the first and last: whether the first derivative jumps (K − 1,)."""
        first = self.derivative(1)
        return jumps(first[:-1].sum(axis=1), first[1:, 0])

    def extremes(self, order: int = 0) -> Extremes:
        """Least and greatest values of a derivative at any time, from the roots of the next one."""
        power = self.derivative(order)
        control = np.einsum("ij,kjn->kin", bernstein(power.shape[1] - 1), power)  # bounds of each piece
        least, least_time = self._least(control, power)
        greatest, greatest_time = self._least(-control, -power)
        return Extremes(least, least_time, -greatest, greatest_time)

    def _least(self, control: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least values (n,) of pieces, and when; the ends of pieces first, then the pieces that may go lower."""
        n = self.count
        ends = np.concatenate([control[:, 0], control[:, -1]])
        at = np.argmin(ends, axis=0)
        least = ends[at, np.arange(n)]
        time = np.concatenate([self.times[:-1], self.times[1:]])[at]
        size = LEVEL * np.max(np.abs(control), axis=(0, 1), initial=0.0)
        for k, j in np.argwhere(control.min(axis=1) < least - size):
            if control[k, :, j].min() >= least[j] - size[j]:
                continue  # a piece before it went as low
            curve = power[k, :, j]
            slope = curve[1:] * np.arange(1, len(curve))
            roots = np.roots(slope[::-1])
            inner = np.clip(roots.real[np.abs(roots.imag) < REAL], 0.0, 1.0)
            if len(inner):
                values = _horner(curve[:, None], inner)
                best = int(np.argmin(values))
                if values[best] < least[j]:
                    least[j], time[j] = values[best], self.times[k] + inner[best] * self._lengths[k]
        return least, time

    def over(self, lengths: np.ndarray) -> Polynomials:
        """The same pieces, each of another length [s]."""
        return Polynomials(np.concatenate([[0.0], np.cumsum(lengths)]), self.coefficients)


def jumps(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether rates (K, n) differ by more than rounding (K,)."""
    jump, size = np.abs(before - after).max(axis=1, initial=0.0), np.abs(before).max(axis=1, initial=1e-12)
    return jump > CORNER * np.maximum(size, np.abs(after).max(axis=1, initial=0.0))


def _horner(coefficients: np.ndarray, s: Any) -> Any:
    """Polynomials (…, degree + 1, n) at s (…, 1), or of one piece at one number."""
    value = coefficients[..., -1, :]
    for power in range(coefficients.shape[-2] - 2, -1, -1):
        value = coefficients[..., power, :] + s * value
    return value


@cache
def bernstein(degree: int) -> np.ndarray:
    """From powers to the Bernstein polynomials of the same degree: between their least and greatest lies the curve."""
    return np.array([[comb(i, j) / comb(degree, j) for j in range(degree + 1)] for i in range(degree + 1)])


def hermite(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Coefficients (…, 2 r, n) of the polynomials with r derivatives at both ends of the unit interval.

    first, last (…, r, n): value, slope, second derivative … at share 0 and 1.
    """
    r = first.shape[-2]
    low = first / np.array([factorial(p) for p in range(r)])[:, None]
    high = np.linalg.solve(_ends(r), last - _starts(r) @ low)
    return np.concatenate([low, high], axis=-2)


@cache
def _ends(r: int) -> np.ndarray:
    """(r, r): derivatives at 1 of the powers r … 2 r − 1."""
    return np.array([[factorial(p) / factorial(p - i) for p in range(r, 2 * r)] for i in range(r)])


@cache
def _starts(r: int) -> np.ndarray:
    """(r, r): derivatives at 1 of the powers 0 … r − 1."""
    return np.array([[factorial(p) / factorial(p - i) if p >= i else 0.0 for p in range(r)] for i in range(r)])
