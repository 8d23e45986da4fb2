"""The fastest way along a path: controllable speeds backwards, greatest speeds forwards.   Pham & Pham 2018 (TOPP-RA).

A path q(s) is cut into intervals of length Δ; in each, x = ṡ² goes on a straight line from a to b. With the share σ of
the interval, derivatives by σ written q′ and q″,

    q̈ = [q″ ((1 − σ) a + σ b) + ½ q′ (b − a)] / Δ²        q̇² = q′² ((1 − σ) a + σ b) / Δ²

Both are polynomials in σ for a polynomial path, linear in a and b. Limits are put on their Bernstein coefficients,
between which the polynomial lies: so they hold at every instant, not only at the ends of intervals. What is left, for
each interval, is a linear program in the plane: rows |α a + β b − mid| ≤ half, and the greatest a that allows some b.

Rows are computed for all intervals on SIMD lanes; both passes are compiled loops over the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Program, Repetition
from dalembert.compiler.graph import trace
from dalembert.math import abs as absolute
from dalembert.math import maximum, minimum, repeat, sqrt, where

from .polynomials import bernstein

FREE = 1e30  # a limit that is none
TINY = 1e-18  # relative size of a coefficient of b that counts as 0
ROUNDING = 1e-13  # of b: an interval of allowed b that is negative by this share is a point
KEPT = 2000  # intervals up to which memory is used again
PASSES = 40  # most steps of Newton's method, which ends after three to five


class Line(NamedTuple):
    """A bound on b: level + slope · a."""

    level: Any
    slope: Any

    def at(self, a: Any) -> Any:
        """The bound for this a."""
        return self.level + self.slope * a


class Grid(NamedTuple):
    """A path in N intervals, each a part of one of its polynomials.

    piece (N, d + 1, n): coefficients of the polynomial, in the share of its own length; place (N, 3): share of it at
    which the interval begins, share that it covers, and its length Δ in s.
    """

    piece: np.ndarray
    place: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Δ (N,)"""
        return self.place[:, 2]


class Profile(NamedTuple):
    """The fastest profile: x (N + 1,), durations of the intervals (N,) [s], coefficients (N, 2 d + 1, n) in time.

    reachable (N + 1, 2): least and greatest x from which the end can be reached; where none is allowed, 0 and −1.
    """

    x: np.ndarray
    durations: np.ndarray
    coefficients: np.ndarray
    reachable: np.ndarray


def solve(
    grid: Grid, velocity: np.ndarray, acceleration: np.ndarray, rows: np.ndarray | None, caps: np.ndarray
) -> Profile:
    """The fastest profile along a path, from rest to rest.

    velocity, acceleration (n,): limits, at most FREE; rows (N, 4, r): further rows α, β, mid, half; caps (N,): greatest
    x at the begin of each interval.
    """
    count, terms, n = grid.piece.shape
    memory = _idle(count, terms, n, 0 if rows is None else rows.shape[2])
    try:
        work = memory.pop()
    except IndexError:  # none yet, or all in use by other threads
        work = _Workspace(count, terms, n, 0 if rows is None else rows.shape[2])
    try:
        return work.solve(grid, velocity, acceleration, rows, caps)
    finally:
        if count <= KEPT:
            memory.append(work)


@lru_cache(64)
def _idle(count: int, terms: int, n: int, r: int) -> list[_Workspace]:
    """Workspaces for this many intervals that nobody uses."""
    return []


class _Workspace:
    """Memory for paths of one size, and the three programs bound to it."""

    def __init__(self, count: int, terms: int, n: int, r: int) -> None:
        programs = _programs(terms - 1, n, r)
        self.n, self.shape = n, (count, 2 * terms - 1, n)
        self.piece, self.place = np.empty((count, terms * n)), np.empty((count, 3 + 2 * n))
        self.rows, self.caps = np.empty((count, 4 * r)), np.empty((1, count))
        self.reachable, self.x, self.lengths = np.zeros((count + 1, 2)), np.zeros((1, count + 1)), np.empty((1, count))
        self.durations, self.coefficients = np.empty((1, count, 1)), np.empty((1, *self.shape))
        curves, lines = np.empty((count, terms * n)), np.empty((count, programs.size))
        inputs = {"piece": self.piece, "place": self.place} | ({"rows": self.rows} if r else {})
        backward = {"lines": lines.reshape(1, -1), "cap": self.caps, "ahead": self.reachable[None, -1]}
        forward = {"lines": lines.reshape(1, -1), "curve": curves.reshape(1, -1), "length": self.lengths}
        forward |= {"ahead": self.reachable[1:].reshape(1, -1), "x": self.x[:, :1]}
        results: dict[str, np.ndarray] = {"following": self.x[:, 1:].reshape(1, count, 1), "duration": self.durations}
        results["coefficients"] = self.coefficients
        self.steps = (
            programs.rows.bound(inputs, {"curve": curves, "lines": lines}),
            programs.backward.bound(backward, {"reachable": self.reachable[None, :-1]}, count),
            programs.forward.bound(forward, results, count),
        )

    def solve(
        self, grid: Grid, velocity: np.ndarray, acceleration: np.ndarray, rows: np.ndarray | None, caps: np.ndarray
    ) -> Profile:
        """See `solve`."""
        n, count = self.n, len(self.place)
        self.piece[:] = grid.piece.reshape(count, -1)
        self.place[:, :3], self.place[:, 3 : 3 + n], self.place[:, 3 + n :] = grid.place, velocity**-2.0, acceleration
        if rows is not None:
            self.rows[:] = rows.reshape(count, -1)
        self.caps[0], self.lengths[0] = caps, grid.lengths
        for step in self.steps:
            step()
        return Profile(
            self.x[0].copy(), self.durations[0, :, 0].copy(), self.coefficients[0].copy(), self.reachable.copy()
        )


class Programs(NamedTuple):
    """Rows of all intervals, the backward and the forward pass; size: numbers of the rows of one interval."""

    rows: Program
    backward: Program
    forward: Program
    size: int


@cache
def _programs(degree: int, n: int, r: int) -> Programs:
    """For paths of a degree, n joints and r further rows."""
    shape = Shape(degree, n, r)
    curve, size = (degree + 1) * n, shape.size
    identity = f"time_optimal {degree} {n} {r}"
    inputs = {"piece": curve, "place": 3 + 2 * n, "rows": 4 * r}
    inputs = {name: width for name, width in inputs.items() if width}
    back = {"lines": size, "cap": 1, "ahead": 2}
    forth = {"lines": size, "curve": curve, "length": 1, "ahead": 2, "x": 1}
    results = {"following": (1,), "duration": (1,), "coefficients": (2 * degree + 1, n)}
    return Programs(
        Program(
            "topp_rows", identity, inputs, {"curve": (curve,), "lines": (size,)},
            lambda: trace(shape.rows, inputs, "topp_rows"),
        ),
        Program(
            "topp_backward", identity, back, {"reachable": (2,)}, lambda: trace(shape.backward, back, "topp_backward"),
            Repetition((("reachable", "ahead"),), ("lines", "cap"), ("reachable",), None, None,
                       ("lines", "cap", "reachable")), lanes=1,
        ),
        Program(
            "topp_forward", identity, forth, results, lambda: trace(shape.forward, forth, "topp_forward"),
            Repetition((("following", "x"),), ("lines", "curve", "length", "ahead"), tuple(results)), lanes=1,
        ),
        size,
    )  # fmt: skip


class Lines(NamedTuple):
    """The constraints of one interval: bounds of b from above and below, the greatest a, the greatest b."""

    upper: list[Line]
    lower: list[Line]
    most_a: Any
    most_b: Any


@dataclass(frozen=True)
class Shape:
    """The three programs, traced for a degree of the path, n joints and r further rows."""

    degree: int
    n: int
    r: int

    @property
    def strips(self) -> int:
        """Rows with a bound on either side."""
        return self.degree * self.n + self.r

    @property
    def ramps(self) -> int:
        """Rows of velocity that bound b from above only."""
        return 2 * self.degree - 2

    @property
    def size(self) -> int:
        """Numbers of all rows of an interval."""
        return 3 * self.strips + 2 * self.ramps + 2

    def rows(self, piece: np.ndarray, place: np.ndarray, *others: np.ndarray) -> dict[str, Any]:
        """The polynomial of an interval, and what it allows: slopes, upper and lower levels, then those of velocity.

        place: as of `Grid`, then 1/velocity² and acceleration (n,).
        """
        slowness, acceleration = place[3 : 3 + self.n], place[3 + self.n :]
        c = self._shifted(piece.reshape(self.degree + 1, self.n), place[0], place[1])
        scale = 1.0 / (place[2] * place[2])
        strips = []
        for j in range(self.n):
            half = acceleration[j] / scale
            strips += [_strip(alpha, beta, 0.0, half) for alpha, beta in zip(*self._acceleration(c[:, j]), strict=True)]
        if self.r:
            strips += [_strip(*row) for row in others[0].reshape(4, self.r).T]
        alpha, beta = self._velocity(c, slowness)
        divisors = [maximum(x, TINY) for x in beta[1:-1]]
        slopes = [-p / q for p, q in zip(alpha[1:-1], divisors, strict=True)]
        levels = [1.0 / (scale * q) for q in divisors]
        ends = [minimum(1.0 / (scale * maximum(x, TINY)), FREE) for x in (alpha[0], beta[-1])]
        sides = [x for side in zip(*strips, strict=True) for x in side]
        return {"curve": c.ravel(), "lines": [*sides, *slopes, *levels, *ends]}

    def _lines(self, numbers: np.ndarray) -> Lines:
        k, m = self.strips, self.ramps
        slopes, high, low = numbers[:k], numbers[k : 2 * k], numbers[2 * k : 3 * k]
        falling, levels = numbers[3 * k : 3 * k + m], numbers[3 * k + m : 3 * k + 2 * m]
        upper = [Line(*pair) for pair in zip([*high, *levels], [*slopes, *falling], strict=True)]
        return Lines(upper, [Line(*pair) for pair in zip(low, slopes, strict=True)], numbers[-2], numbers[-1])

    def backward(self, numbers: np.ndarray, cap: np.ndarray, ahead: np.ndarray) -> dict[str, Any]:
        """From the x that are allowed at the end of an interval to those at its begin."""
        lines = self._lines(numbers)
        upper = [*lines.upper, Line(minimum(ahead[1], lines.most_b), 0.0)]
        lower = [*lines.lower, Line(ahead[0], 0.0)]
        greatest = _newton(upper, lower, minimum(lines.most_a, cap[0]), 1.0)
        least = _newton(upper, lower, 0.0, -1.0)
        empty = (ahead[1] < ahead[0]) | (greatest < least)
        return {"reachable": [where(empty, 0.0, least), where(empty, -1.0, greatest)]}

    def forward(
        self, numbers: np.ndarray, curve: np.ndarray, length: np.ndarray, ahead: np.ndarray, x: np.ndarray
    ) -> dict[str, Any]:
        """The greatest x at the end of an interval, how long it takes, and the path in time."""
        lines, a = self._lines(numbers), x[0]
        b = maximum(_tree([*(line.at(a) for line in lines.upper), ahead[1], lines.most_b], minimum), 0.0)
        first, last = sqrt(a), sqrt(b)
        total = first + last
        moving = total > 0.0
        inverse = 2.0 / where(moving, total, 1.0)
        share = where(moving, first * inverse, 1.0)
        duration = where(moving, length[0] * inverse, FREE)
        return {"following": [b], "duration": [duration], "coefficients": self._in_time(curve, share)}

    def _shifted(self, c: np.ndarray, share: Any, width: Any) -> np.ndarray:
        """Coefficients (d + 1, n) of the part of a polynomial that begins at a share and is `width` long."""
        d = self.degree
        return np.array([
            [sum(comb(p, k) * share ** (p - k) * width**k * c[p, j] for p in range(k, d + 1)) for j in range(self.n)]
            for k in range(d + 1)
        ])  # fmt: skip

    def _in_time(self, curve: np.ndarray, e: Any) -> np.ndarray:
        """Coefficients (2 d + 1, n) in the share θ of the interval's time: σ = e θ + (1 − e) θ²."""
        c = curve.reshape(self.degree + 1, self.n)
        curves = np.zeros((2 * self.degree + 1, self.n), object)
        curves[0] = c[0]
        for p in range(1, self.degree + 1):
            for k in range(p + 1):
                factor = comb(p, k) * e ** (p - k) * (1.0 - e) ** k
                curves[p + k] = curves[p + k] + factor * c[p]
        return curves

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


def _strip(alpha: Any, beta: Any, mid: Any, half: Any) -> tuple[Any, Any, Any]:
    """|α a + β b − mid| ≤ half as bounds of b: slope, upper and lower level; a β of 0 is taken as a tiny one."""
    least = TINY * (absolute(alpha) + absolute(beta)) + 1e-250
    inverse = 1.0 / where(absolute(beta) > least, beta, least)
    centre, width = mid * inverse, half * absolute(inverse)
    return -alpha * inverse, centre + width, centre - width


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

    def lower(one: tuple[Any, Line], other: tuple[Any, Line]) -> tuple[Any, Line]:
        first = side * one[0] <= side * other[0]
        line = Line(where(first, one[1].level, other[1].level), where(first, one[1].slope, other[1].slope))
        return where(first, one[0], other[0]), line

    return _tree([(line.at(a), line) for line in lines], lower)[1]


def _tree(items: list[Any], combine: Any) -> Any:
    """All items combined two by two: short chains for the processor."""
    while len(items) > 1:
        pairs = [combine(*items[k : k + 2]) for k in range(0, len(items) - 1, 2)]
        items = pairs + items[2 * len(pairs) :]
    return items[0]
