"""Convex quadratic programs of numbers or traced scalars, by a primal-dual interior-point method.

    minimise ½ xᵀ H x + gᵀ x   with   low ≤ C x ≤ high

H positive definite. Mehrotra's predictor-corrector (Mehrotra 1992; Nocedal, Wright 2006, §16.6): each iteration factors
H + Cᵀ D C once. When the gap is small, the program with the rows that seem to be at their bounds as equations is
solved; where its solution keeps all conditions of the optimum it is taken, which is exact, else the iterations go on.
Traced, they are a loop, and each program of a batch stops on its own: programs of one shape run on SIMD lanes. Infinite
bounds that are plain numbers cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, minimum, repeat, sqrt, where

from .symmetric import Factor, factor, gram

MOST = 40  # iterations
SOLVED = 1e-11  # of residuals, relative to the sizes of gradient and bounds
PLAIN, GAP = 1e-10, 1e-15  # of the gap likewise: where it is tried which rows are at their bounds, and where all ends
STIFF, REFINED = 1e5, 3  # weight of these rows beside H, and steps of the method of multipliers
PRICE = 1e4  # of missing rows, beside what the objective asks for
EMPTY = 1e-24  # square of a row's length from which on it counts
TO_THE_BOUNDARY = 0.995  # share of the longest step


class QuadraticSolution(NamedTuple):
    """x (n,); multipliers (m,) of the rows, positive at their upper bound, negative at the lower; iterations.

    violation: the largest by which a row is beyond its bound, in units of the row divided by its length; solved: 1
    where the conditions of the optimum hold, 0 where the iterations ended before, as they do where no x keeps the rows.
    """

    x: np.ndarray
    multipliers: np.ndarray
    iterations: Any
    violation: Any
    solved: Any


class _Sides(NamedTuple):
    """The finite bounds: row, sign (+1 upper, −1 lower), and bound · sign, one after the other."""

    rows: np.ndarray
    signs: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, low: np.ndarray, high: np.ndarray) -> _Sides:
        entries = [(k, 1.0, high[k]) for k in range(len(high)) if not _is_infinite(high[k])]
        entries += [(k, -1.0, -low[k]) for k in range(len(low)) if not _is_infinite(low[k])]
        kind = np.result_type(np.asarray(low), np.asarray(high), float)
        bounds = np.array([bound for _, _, bound in entries], kind)
        return cls(np.array([row for row, _, _ in entries], int), np.array([sign for _, sign, _ in entries]), bounds)


def _is_infinite(x: Any) -> bool:
    return isinstance(x, (float, int, np.number)) and bool(np.isinf(float(x)))


def solve_quadratic(
    H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray, skip: Any = 0.0
) -> QuadraticSolution:
    """The x (n,) that minimises ½ xᵀHx + gᵀx while low ≤ C x ≤ high; H (n, n) > 0, C (m, n), low, high (m,).

    skip: where it is 1 no iterations are made, and the result means nothing.
    """
    n = len(g)
    squares = [row @ row for row in C]
    lengths = [where(x > EMPTY, sqrt(maximum(x, EMPTY)), 1.0) for x in squares]  # rows that are empty stay as they are
    kind = np.result_type(np.asarray(C), np.asarray(low), np.asarray(high), float)
    rows = np.array([[entry / size for entry in row] for row, size in zip(C, lengths, strict=True)], kind).reshape(
        -1, n
    )
    low, high = (
        np.array([b if _is_infinite(b) else b / size for b, size in zip(x, lengths, strict=True)], kind)
        for x in (low, high)
    )
    sides = _Sides.of(low, high)
    x = -factor(H).solve(g)
    if not len(sides.rows):
        return QuadraticSolution(x, np.zeros(len(C)), 0.0, 0.0, 1.0)
    return _iterated(H, g, rows, sides, x, lengths, skip)


def _iterated(
    H: np.ndarray, g: np.ndarray, C: np.ndarray, sides: _Sides, x: np.ndarray, lengths: list[Any], skip: Any
) -> QuadraticSolution:
    """From the free minimum x on."""
    force = _largest([absolute(entry) for entry in g]) + 1e-30  # sizes that residuals are compared with
    extent = _largest([absolute(entry) for entry in [*sides.bounds, *(C @ x)]]) + 1e-30
    room = sides.bounds - sides.signs * (C @ x)[sides.rows]
    beyond = _largest([-r for r in room])
    # slacks and multipliers of like products, away from zero
    least = maximum(beyond, 1e-3 * extent)
    s = np.array([maximum(r, least) for r in room])
    push = 0.1 * force
    y = np.array([push * least / si for si in s])
    free = where(beyond <= 0.0, 1.0, 0.0)
    y = np.array([where(free > 0.5, 0.0, yi) for yi in y])
    step = _Step(H, g, C, sides, force, extent, PLAIN)
    dual = H @ x + g + step.pushed(y)
    primal = sides.signs * (C @ x)[sides.rows] + s - sides.bounds
    start = {"x": x, "s": s, "y": y, "dual": dual, "primal": primal, "done": maximum(free, skip)}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # numbers of impossible programs overflow
        near = repeat(step, MOST, start, "done")
        exact = step.with_equations(near["x"], near["s"], near["y"])
        done = maximum(maximum(exact.solved, free), skip)
        onwards = {name: near[name] for name in start} | {"done": done}
        end = repeat(replace(step, gap=GAP), MOST, onwards, "done")
    solution, pushes = (_chosen(exact.solved, a, b) for a, b in ((exact.x, end["x"]), (exact.y, end["y"])))
    multipliers = step.by_row(pushes, sides.signs) / np.array(lengths)
    room = sides.bounds - sides.signs * (C @ solution)[sides.rows]
    violation = maximum(_largest([-r for r in room]), 0.0)
    return QuadraticSolution(solution, multipliers, near["passes"] + end["passes"], violation, end["done"])


def _chosen(condition: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a where the condition is 1, else b."""
    return np.array([where(condition > 0.5, x, y) for x, y in zip(a, b, strict=True)])


class _Exact(NamedTuple):
    """x, y with some rows as equations; solved: 1 where it keeps all conditions of the optimum."""

    x: np.ndarray
    y: np.ndarray
    solved: Any


@dataclass(frozen=True, eq=False)
class _Step:
    """One iteration."""

    H: np.ndarray
    g: np.ndarray
    C: np.ndarray
    sides: _Sides
    force: Any
    extent: Any
    gap: float

    def __call__(
        self, x: np.ndarray, s: np.ndarray, y: np.ndarray, dual: np.ndarray, primal: np.ndarray, done: Any
    ) -> dict[str, Any]:
        m, D = len(s), y / s
        K = factor(self.H + gram(self.C, self.by_row(D, np.ones(m))))
        mu = (s @ y) / m
        # predictor: straight towards complementarity
        ds, dy, _ = self._direction(K, s, dual, primal, D, -s * y)
        length = self._length(s, y, ds, dy, 1.0)
        ahead = ((s + length * ds) @ (y + length * dy)) / m
        centring = (ahead / mu) * (ahead / mu) * (ahead / mu)
        # corrector: with the product of the predictor's changes, and centred
        ds, dy, dx = self._direction(K, s, dual, primal, D, centring * mu - s * y - ds * dy)
        length = self._length(s, y, ds, dy, TO_THE_BOUNDARY)
        x, s, y = x + length * dx, s + length * ds, y + length * dy
        dual, primal = (1.0 - length) * dual, (1.0 - length) * primal  # residuals are linear
        near = logical_and(
            _largest([absolute(r) for r in dual]) <= SOLVED * self.force,
            _largest([absolute(r) for r in primal]) <= SOLVED * self.extent,
        )
        small = (s @ y) <= self.gap * self.force * self.extent
        finished = where(logical_and(near, small), 1.0, 0.0)
        return {"x": x, "s": s, "y": y, "dual": dual, "primal": primal, "done": finished}

    def with_equations(self, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> _Exact:
        """The solution with the rows that seem to be at their bounds as equations, and whether it is the optimum.

        By the method of multipliers, whose few steps share one factor.
        """
        C, sides, ratio = self.C, self.sides, _largest(list(y)) / _largest(list(s))
        on = np.array([where(yi > ratio * si, 1.0, 0.0) for si, yi in zip(s, y, strict=True)])
        weight = STIFF * _largest([self.H[k, k] for k in range(len(x))])
        K = factor(self.H + gram(C, self.by_row(weight * on, np.ones(len(on)))))
        y = on * y
        for _ in range(REFINED):
            missed = on * (sides.signs * (C @ x)[sides.rows] - sides.bounds)
            dx = K.solve(-(self.H @ x + self.g) - self.pushed(y + weight * missed))
            y = y + weight * (missed + on * sides.signs * (C @ dx)[sides.rows])
            x = x + dx
        beyond = sides.signs * (C @ x)[sides.rows] - sides.bounds
        kept = _largest(list(beyond)) <= SOLVED * self.extent
        pushing = _largest([-yi for yi in y]) <= 0.0
        still = _largest([absolute(r) for r in self.H @ x + self.g + self.pushed(y)]) <= SOLVED * self.force
        met = _largest([absolute(e) for e in on * beyond]) <= SOLVED * self.extent
        solved = logical_and(logical_and(kept, met), logical_and(pushing, still))
        return _Exact(x, y, where(solved, 1.0, 0.0))

    def _direction(
        self, K: Factor, s: np.ndarray, dual: np.ndarray, primal: np.ndarray, D: np.ndarray, target: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(ds, dy, dx) with s dy + y ds = target, and both residuals gone after a whole step."""
        pushed = target / s + D * primal
        dx = K.solve(-dual - self.pushed(pushed))
        ds = -primal - self.sides.signs * (self.C @ dx)[self.sides.rows]
        return ds, (target / s) - D * ds, dx

    def _length(self, s: np.ndarray, y: np.ndarray, ds: np.ndarray, dy: np.ndarray, share: float) -> Any:
        """The share of the longest step, at most 1, that keeps s and y positive."""
        inverse: Any = share
        for value, change in (*zip(s, ds, strict=True), *zip(y, dy, strict=True)):
            inverse = maximum(inverse, -change / value)
        return minimum(share / inverse, 1.0)

    def pushed(self, y: np.ndarray) -> np.ndarray:
        """Cᵀ of what pushes at the sides."""
        return self.C.T @ self.by_row(y, self.sides.signs)

    def by_row(self, values: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Sums over the sides of each row (m,)."""
        sums: list[Any] = [0.0] * len(self.C)
        for row, sign, value in zip(self.sides.rows, signs, values, strict=True):
            sums[row] = sums[row] + sign * value
        return np.array(sums)


def _largest(values: list[Any]) -> Any:
    """In pairs, so that no comparison waits for all others."""
    while len(values) > 1:
        values = [reduce(maximum, values[k : k + 2]) for k in range(0, len(values), 2)]
    return values[0]


def solve_elastic(
    H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray, hard: int, skip: Any = 0.0
) -> QuadraticSolution:
    """As `solve_quadratic` where no x keeps all rows: the first `hard` rows are kept, the others missed by little.

    Each of the others may be missed by the same share of its length, and the least share that works is taken, with what
    H and g ask for deciding the rest.
    """
    n, m = len(g), len(C)
    squares = [row @ row for row in C]
    lengths = [where(x > EMPTY, sqrt(maximum(x, EMPTY)), 1.0) for x in squares]
    size = _largest([absolute(H[k, k]) for k in range(n)]) + 1e-30
    price = PRICE * (_largest([absolute(x) for x in g]) + size)
    kind = np.result_type(np.asarray(H), np.asarray(g), np.asarray(C), float)
    wide = np.zeros((n + 1, n + 1), kind)
    wide[:n, :n], wide[n, n] = H, size
    rows, least, most = [], [], []
    for k in range(m):
        row = [*C[k]]
        if k < hard:
            rows.append([*row, 0.0])
            least.append(low[k])
            most.append(high[k])
            continue
        if not _is_infinite(high[k]):
            rows.append([*row, -lengths[k]])
            least.append(-np.inf)
            most.append(high[k])
        if not _is_infinite(low[k]):
            rows.append([*row, lengths[k]])
            least.append(low[k])
            most.append(np.inf)
    rows.append([0.0] * n + [1.0])
    least.append(0.0)
    most.append(np.inf)
    slope = np.array([*g, price], kind)
    solution = solve_quadratic(wide, slope, np.array(rows, kind), _listed(least), _listed(most), skip)
    return solution._replace(x=solution.x[:n], multipliers=np.zeros(m), violation=solution.x[n])


def _listed(values: list[Any]) -> np.ndarray:
    """An array of numbers and traced scalars as they are."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
