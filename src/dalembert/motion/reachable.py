"""The fastest way along a path: controllable speeds backwards, greatest speeds forwards.   Pham & Pham 2018 (TOPP-RA).

A path q(s) is cut into intervals of length Δ; in each, x = ṡ² goes on a straight line from a to b. With the share σ of
the interval, derivatives by σ written q′ and q″,

    q̈ = [q″ ((1 − σ) a + σ b) + ½ q′ (b − a)] / Δ²        q̇² = q′² ((1 − σ) a + σ b) / Δ²

Both are polynomials in σ for a polynomial path, linear in a and b. Limits are put on their Bernstein coefficients,
between which the polynomial lies: so they hold at every instant, not only at the ends of intervals. What is left, for
each interval, is a linear program in the plane: rows |α a + β b − mid| ≤ half, and the greatest a that allows some b.

Both passes are compiled loops over the intervals of any number of paths at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from dalembert.execute import Program, Repetition
from dalembert.graph import Function, trace
from dalembert.math import abs as absolute
from dalembert.math import maximum, minimum, repeat, sqrt, where

from .polynomials import bernstein

FREE = 1e30  # a limit that is none
TINY = 1e-18  # relative size of a coefficient of b that counts as 0
ROUNDING = 1e-13  # of b: an interval of allowed b that is negative by this share is a point
PASSES = 40  # most steps of Newton's method, which ends after three to five


class Line(NamedTuple):
    """A bound on b: level + slope · a."""

    level: Any
    slope: Any

    def at(self, a: Any) -> Any:
        """The bound for this a."""
        return self.level + self.slope * a


class Rows(NamedTuple):
    """What one interval allows: bounds of b from above and below, the greatest a, the greatest b."""

    upper: list[Line]
    lower: list[Line]
    most_a: Any
    most_b: Any


class Profile(NamedTuple):
    """The fastest profile: x (N + 1,), durations of the intervals (N,) [s], coefficients (N, 2 d + 1, n) in time.

    greatest, least (N + 1,): speeds x from which the end can be reached; greatest below least: from none.
    """

    x: np.ndarray
    durations: np.ndarray
    coefficients: np.ndarray
    greatest: np.ndarray
    least: np.ndarray


def solve(
    coefficients: np.ndarray, lengths: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, rows: np.ndarray,
    caps: np.ndarray, last: float = 0.0,
) -> Profile:  # fmt: skip
    """The fastest profile along a path.

    coefficients (N, d + 1, n): of the intervals, in powers of σ; lengths (N,): Δ; velocity, acceleration (n,): limits,
    at most FREE; rows (N, 4, r): further rows α, β, mid, half; caps (N,): greatest x at the begin of each interval,
    where a profile that begins at rest has 0; last: x at the end.
    """
    count, terms, n = coefficients.shape
    back, forth = _programs(terms - 1, n, rows.shape[2])
    inputs = {
        "path": coefficients.reshape(1, -1),
        "length": lengths[None],
        "rows": rows.reshape(1, -1),
        "cap": caps[None],
        "slowness": (1.0 / velocity**2)[None],
        "acceleration": acceleration[None],
    }
    if not rows.shape[2]:
        del inputs["rows"]
    end = np.array([[last, last]])
    reachable = back(inputs | {"ahead": end}, passes=count)["reachable"][0]  # (N, 2): least, greatest x
    ahead = np.concatenate([reachable[1:], end])
    start = np.array([[max(reachable[0, 0], 0.0)]])
    profile = forth(inputs | {"ahead": ahead.reshape(1, -1), "x": start}, passes=count)
    allowed = np.concatenate([reachable, end])
    x = np.concatenate([start[0], profile["following"][0, :, 0]])
    return Profile(x, profile["duration"][0, :, 0], profile["curves"][0], allowed[:, 1], allowed[:, 0])


@cache
def _programs(degree: int, n: int, r: int) -> tuple[Program, Program]:
    """The backward and the forward pass for paths of a degree, n joints and r further rows."""
    sizes = {"path": (degree + 1) * n, "length": 1, "rows": 4 * r, "cap": 1, "slowness": n, "acceleration": n}
    sizes = {name: size for name, size in sizes.items() if size}
    shape = Shape(degree, n, r)
    sequence = tuple(name for name in sizes if name not in ("slowness", "acceleration"))

    def backward() -> Function:
        return trace(shape.backward, sizes | {"ahead": 2}, "topp_backward")

    def forward() -> Function:
        return trace(shape.forward, sizes | {"ahead": 2, "x": 1}, "topp_forward")

    identity = f"time_optimal {degree} {n} {r}"
    back = Program(
        "topp_backward", identity, sizes | {"ahead": 2}, {"reachable": (2,)}, backward,
        Repetition((("reachable", "ahead"),), sequence, ("reachable",), backwards=(*sequence, "reachable")), lanes=1,
    )  # fmt: skip
    shapes = {"following": (1,), "duration": (1,), "curves": (2 * degree + 1, n)}
    forth = Program(
        "topp_forward", identity, sizes | {"ahead": 2, "x": 1}, shapes, forward,
        Repetition((("following", "x"),), (*sequence, "ahead"), tuple(shapes)), lanes=1,
    )  # fmt: skip
    return back, forth


@dataclass(frozen=True)
class Shape:
    """The steps of both passes, traced for a degree of the path, n joints and r further rows."""

    degree: int
    n: int
    r: int

    def backward(self, *inputs: np.ndarray) -> dict[str, Any]:
        """From the x that are allowed at the end of an interval to those at its begin."""
        *arrays, ahead = inputs
        rows = self._rows(*arrays)
        upper = [*rows.upper, Line(minimum(ahead[1], rows.most_b), 0.0)]
        lower = [*rows.lower, Line(ahead[0], 0.0)]
        greatest = _newton(upper, lower, rows.most_a, 1.0)
        least = _newton(upper, lower, 0.0, -1.0)
        empty = (ahead[1] < ahead[0]) | (greatest < least)
        return {"reachable": [where(empty, 0.0, least), where(empty, -1.0, greatest)]}

    def forward(self, *inputs: np.ndarray) -> dict[str, Any]:
        """The greatest x at the end of an interval, how long it takes, and the path in time."""
        *arrays, ahead, x = inputs
        rows = self._rows(*arrays)
        a = x[0]
        upper = [line.at(a) for line in rows.upper] + [ahead[1], rows.most_b]
        b = maximum(_tree(upper, minimum), 0.0)
        fast, slow = sqrt(a), sqrt(b)
        total = fast + slow
        share = where(total > 0.0, 2.0 * fast / where(total > 0.0, total, 1.0), 1.0)
        duration = where(total > 0.0, 2.0 * arrays[1][0] / where(total > 0.0, total, 1.0), FREE)
        return {"following": [b], "duration": [duration], "curves": self._in_time(arrays[0], share)}

    def _in_time(self, path: np.ndarray, e: Any) -> np.ndarray:
        """Coefficients (2 d + 1, n) in the share θ of the interval's time: σ = e θ + (1 − e) θ²."""
        c = path.reshape(self.degree + 1, self.n)
        curves = np.zeros((2 * self.degree + 1, self.n), object)
        curves[0] = c[0]
        for p in range(1, self.degree + 1):
            for k in range(p + 1):
                factor = comb(p, k) * e ** (p - k) * (1.0 - e) ** k
                curves[p + k] = curves[p + k] + factor * c[p]
        return curves

    def _rows(self, path: np.ndarray, length: np.ndarray, *others: np.ndarray) -> Rows:
        further, cap, slowness, acceleration = others if self.r else (np.zeros(0), *others)
        c = path.reshape(self.degree + 1, self.n)
        scale = 1.0 / (length[0] * length[0])
        upper, lower = [], []
        for j in range(self.n):
            alpha, beta = self._acceleration(c[:, j])
            half = acceleration[j] / scale
            for p, q in zip(alpha, beta, strict=True):
                high, low = _bounds(p, q, 0.0, half)
                upper.append(high)
                lower.append(low)
        for row in further.reshape(4, self.r).T if self.r else ():
            high, low = _bounds(*row)
            upper.append(high)
            lower.append(low)
        alpha, beta = self._velocity(c, slowness)
        upper += [
            Line(1.0 / (scale * maximum(q, TINY)), -p / maximum(q, TINY))
            for p, q in zip(alpha[1:-1], beta[1:-1], strict=True)
        ]
        most_a = minimum(1.0 / (scale * maximum(alpha[0], TINY)), cap[0])
        return Rows(upper, lower, minimum(most_a, FREE), 1.0 / (scale * maximum(beta[-1], TINY)))

    def _acceleration(self, c: np.ndarray) -> tuple[list[Any], list[Any]]:
        """Bernstein coefficients in σ of what a and b are multiplied with in Δ² q̈."""
        d = self.degree
        first = [p * c[p] for p in range(1, d + 1)]
        second = [p * (p - 1) * c[p] for p in range(2, d + 1)]
        later = [0.0, *second]  # σ q″
        alpha = [_term(second, k) - _term(later, k) - 0.5 * first[k] for k in range(d)]
        beta = [_term(later, k) + 0.5 * first[k] for k in range(d)]
        change = bernstein(d - 1)
        return list(change @ np.array(alpha, object)), list(change @ np.array(beta, object))

    def _velocity(self, c: np.ndarray, slowness: np.ndarray) -> tuple[list[Any], list[Any]]:
        """The same of Δ² (q̇ / limit)², the largest of all joints."""
        d = self.degree
        change = bernstein(2 * d - 1)
        columns = []
        for j in range(self.n):
            first = [p * c[p, j] for p in range(1, d + 1)]
            square = [0.0] * (2 * d - 1)
            for p, x in enumerate(first):
                for q, y in enumerate(first):
                    square[p + q] = square[p + q] + x * y
            later = [0.0, *square]
            before = [_term(square, k) - later[k] for k in range(2 * d)]
            columns.append([slowness[j] * (change @ np.array(part, object)) for part in (before, later)])
        largest = [
            [maximum(_tree([column[part][k] for column in columns], maximum), 0.0) for k in range(2 * d)]
            for part in (0, 1)
        ]
        return largest[0], largest[1]


def _term(polynomial: list[Any], k: int) -> Any:
    return polynomial[k] if k < len(polynomial) else 0.0


def _bounds(alpha: Any, beta: Any, mid: Any, half: Any) -> tuple[Line, Line]:
    """|α a + β b − mid| ≤ half as bounds of b from above and below; a β of 0 is taken as a tiny one."""
    least = TINY * (absolute(alpha) + absolute(beta)) + 1e-250
    divisor = where(absolute(beta) > least, beta, least)
    slope, centre, width = -alpha / divisor, mid / divisor, half / absolute(divisor)
    return Line(centre + width, slope), Line(centre - width, slope)


def _newton(upper: list[Line], lower: list[Line], start: Any, side: float) -> Any:
    """The greatest a (side 1), or least (−1), with max lower(a) ≤ min upper(a), from beyond it: by Newton's method.

    The gap is concave and piecewise linear in a, so that steps from outside never go too far. −1 (FREE): there is none.
    """

    def step(a: Any, settled: Any) -> dict[str, Any]:
        top, bottom = _least(upper, a, 1.0), _least(lower, a, -1.0)
        gap = top.at(a) - bottom.at(a)
        closing = side * (bottom.slope - top.slope)
        inside = gap >= -ROUNDING * (absolute(top.at(a)) + absolute(bottom.at(a)))
        crossing = side * (top.level - bottom.level) / where(closing > 0.0, closing, 1.0)
        none = -1.0 if side > 0.0 else FREE
        following = where(inside, a, where(closing > 0.0, crossing, none))
        out = following < 0.0 if side > 0.0 else following >= FREE
        return {"a": following, "settled": where(inside | out, 1.0, 0.0)}

    return repeat(step, PASSES, {"a": start, "settled": 0.0}, "settled")["a"]


def _least(lines: list[Line], a: Any, side: float) -> Line:
    """The lowest of the lines at a, or for side −1 the highest."""

    def lower(one: Line, other: Line) -> Line:
        first = side * one.at(a) <= side * other.at(a)
        return Line(where(first, one.level, other.level), where(first, one.slope, other.slope))

    return _tree(lines, lower)


def _tree(items: list[Any], combine: Any) -> Any:
    """All items combined two by two: short chains for the processor."""
    while len(items) > 1:
        pairs = [combine(*items[k : k + 2]) for k in range(0, len(items) - 1, 2)]
        items = pairs + items[2 * len(pairs) :]
    return items[0]
