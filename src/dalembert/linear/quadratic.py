"""Convex quadratic programs of numbers or traced scalars, by a primal-dual interior-point method.

    minimise ½ xᵀ H x + gᵀ x   with   low ≤ C x ≤ high

H positive definite. Mehrotra's predictor-corrector (Mehrotra 1992; Nocedal, Wright 2006, §16.6): each iteration factors
H + Cᵀ D C once. When the gap is small, the program with the rows that seem to be at their bounds as equations is
solved; where its solution keeps all conditions of the optimum it is taken, which is exact, else the iterations go on.
Traced, they are a loop whose code is emitted once, and each program of a batch stops on its own: programs of one shape
run on SIMD lanes. Infinite bounds that are plain numbers cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, minimum, repeat, sqrt, where
from dalembert.math.entries import is_infinite, largest

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
        entries = [(k, 1.0, high[k]) for k in range(len(high)) if not is_infinite(high[k])]
        entries += [(k, -1.0, -low[k]) for k in range(len(low)) if not is_infinite(low[k])]
        kind = np.result_type(np.asarray(low), np.asarray(high), float)
        bounds = np.array([bound for _, _, bound in entries], kind)
        return cls(np.array([row for row, _, _ in entries], int), np.array([sign for _, sign, _ in entries]), bounds)


def solve_quadratic(
    H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray
) -> QuadraticSolution:
    """The x (n,) that minimises ½ xᵀHx + gᵀx while low ≤ C x ≤ high; H (n, n) > 0, C (m, n), low, high (m,)."""
    return _solved(H, g, C, low, high, len(C), False)


def solve_elastic(
    H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray, hard: int
) -> QuadraticSolution:
    """Like `solve_quadratic`; where no x keeps all rows, the first `hard` rows are kept, the others nearly.

    Each of the others may be missed by the same share of its length, and the least share that works is taken, with what
    H and g ask for deciding the rest. It is the `violation`; solved is 0.
    """
    return _solved(H, g, C, low, high, hard, True)


def _solved(
    H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray, hard: int, elastic: bool
) -> QuadraticSolution:
    """With the rows divided by their lengths, so that each has the same share of its length to be missed by."""
    n = len(g)
    squares = [row @ row for row in C]
    lengths = [where(x > EMPTY, sqrt(maximum(x, EMPTY)), 1.0) for x in squares]  # rows that are empty stay as they are
    kind = np.result_type(np.asarray(C), np.asarray(low), np.asarray(high), float)
    rows = np.array([[entry / size for entry in row] for row, size in zip(C, lengths, strict=True)], kind).reshape(
        -1, n
    )
    low, high = (
        np.array([b if is_infinite(b) else b / size for b, size in zip(x, lengths, strict=True)], kind)
        for x in (low, high)
    )
    sides = _Sides.of(low, high)
    whole = factor(H)
    free = -whole.solve(g)
    free = free - whole.solve(H @ free + g)
    if not len(sides.rows):
        return QuadraticSolution(free, np.zeros(len(C)), 0.0, 0.0, 1.0)
    soft = np.where(sides.rows < hard, 0.0, 1.0)
    search = _Search(H, g, rows, sides, soft if elastic else None, free)
    end = search.run()
    multipliers = search.by_row(end["y"][: len(sides.rows)], sides.signs) / np.array(lengths)
    x = end["x"][:n]
    room = sides.bounds - sides.signs * (rows @ x)[sides.rows]
    violation = maximum(largest([-r for r in room]), 0.0)
    solved = where(end["missing"] > 0.5, 0.0, end["solved"])
    return QuadraticSolution(x, multipliers, end["iterations"], violation, solved)


class _Exact(NamedTuple):
    """x, y with some rows as equations; solved: 1 where it keeps all conditions of the optimum."""

    x: np.ndarray
    y: np.ndarray
    solved: Any


class _Point(NamedTuple):
    """An iterate: x, slacks s, multipliers y; free: 1 where x keeps all sides by itself."""

    x: np.ndarray
    s: np.ndarray
    y: np.ndarray
    free: Any


@dataclass(frozen=True, eq=False)
class _Search:
    """The whole search. With `soft` there is one more unknown e ≥ 0, by which soft sides may be missed.

    soft (k,): 1 for sides that may be missed, or None: e does not exist. While missing is 0, e has no effect and stays
    at 0; where that leads nowhere, all begins again with missing = 1 and a price on e.
    """

    H: np.ndarray
    g: np.ndarray
    C: np.ndarray
    sides: _Sides
    soft: np.ndarray | None
    free: np.ndarray

    @cached_property
    def scales(self) -> tuple[Any, Any]:
        """Sizes that slopes and places are compared with."""
        force = largest([absolute(entry) for entry in self.g]) + 1e-30
        return force, largest([absolute(entry) for entry in [*self.sides.bounds, *(self.C @ self.free)]]) + 1e-30

    @cached_property
    def stiffness(self) -> Any:
        """The largest entry of H."""
        return largest([self.H[k, k] for k in range(len(self.g))]) + 1e-30

    # ---- what depends on e

    def along(self, x: np.ndarray, missing: Any) -> np.ndarray:
        """How far along each side x is (k,)."""
        n = len(self.g)
        sides = self.sides.signs * (self.C @ x[:n])[self.sides.rows]
        return sides if self.soft is None else np.append(sides - missing * self.soft * x[n], -x[n])

    def bounds(self, missing: Any) -> np.ndarray:
        """Bounds of the sides, and of e: 0, or far away where it has no effect."""
        return self.sides.bounds if self.soft is None else np.append(self.sides.bounds, 1.0 - missing)

    def pushed(self, y: np.ndarray, missing: Any) -> np.ndarray:
        """The push of the sides on x, from their multipliers."""
        count = len(self.sides.rows)
        pushes = self.C.T @ self.by_row(y[:count], self.sides.signs)
        return pushes if self.soft is None else np.append(pushes, -missing * (self.soft @ y[:count]) - y[count])

    def slope(self, x: np.ndarray, missing: Any) -> np.ndarray:
        """The slope of the objective."""
        n = len(self.g)
        slope = self.H @ x[:n] + self.g
        if self.soft is None:
            return slope
        price = missing * PRICE * (self.scales[0] + self.stiffness)
        return np.append(slope, self.stiffness * x[n] + price)

    def factored(self, weights: np.ndarray, missing: Any) -> Factor:
        """H with weights (k,) of the squares along the sides."""
        count, n = len(self.sides.rows), len(self.g)
        K = self.H + gram(self.C, self.by_row(weights[:count], np.ones(count)))
        if self.soft is None:
            return factor(K)
        wide = np.zeros((n + 1, n + 1), np.result_type(K, weights))
        lean = missing * self.soft * weights[:count]
        wide[:n, :n] = K
        wide[n, :n] = wide[:n, n] = -self.C.T @ self.by_row(lean, self.sides.signs)
        wide[n, n] = self.stiffness + missing * (self.soft @ lean) + weights[count]
        return factor(wide)

    def by_row(self, values: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Sums over the sides of each row (m,)."""
        sums: list[Any] = [0.0] * len(self.C)
        for row, sign, value in zip(self.sides.rows, signs, values, strict=True):
            sums[row] = sums[row] + sign * value
        return np.array(sums)

    # ---- the search

    def start(self, missing: Any) -> _Point:
        """The free minimum, with slacks and multipliers of like products, away from zero."""
        force, extent = self.scales
        x = self.free if self.soft is None else np.append(self.free, 0.0)
        room = self.bounds(missing) - self.along(x, missing)
        beyond = largest([-r for r in room])
        least = maximum(beyond, 1e-3 * extent)
        s = np.array([maximum(r, least) for r in room])
        free = where(beyond <= 0.0, 1.0 - missing, 0.0)
        return _Point(x, s, np.array([where(free > 0.5, 0.0, 0.1 * force * least / si) for si in s]), free)

    def run(self) -> dict[str, Any]:
        """Rounds of iterations: near the optimum, nearer where that does not settle it, and again with e."""
        begin = self.start(0.0)
        state = {"x": begin.x, "y": begin.y, "s": begin.s, "free": begin.free, "missing": 0.0, "gap": PLAIN}
        state |= {"iterations": 0.0, "solved": begin.free, "done": begin.free}  # no side stops it: nothing to search
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # numbers of impossible programs overflow
            return repeat(self.round, 2 if self.soft is None else 4, state, "done")

    def round(
        self, x: Any, y: Any, s: Any, free: Any, missing: Any, gap: Any, iterations: Any, solved: Any, done: Any
    ) -> dict[str, Any]:
        """One round, and what is tried after it."""
        end = self.iterated(_Point(x, s, y, free), missing, gap)
        exact = self.with_equations(end["x"], end["s"], end["y"], missing)
        last = where(gap < 0.5 * (PLAIN + GAP), 1.0, 0.0)
        solved = maximum(exact.solved, last * end["done"])
        after: dict[str, Any] = {
            "x": where(exact.solved > 0.5, exact.x, end["x"]),
            "y": where(exact.solved > 0.5, exact.y, end["y"]),
        }
        after |= {"s": end["s"], "iterations": iterations + end["passes"], "solved": solved}
        if self.soft is None:
            return after | {"free": 0.0, "missing": missing, "gap": GAP, "done": where(end["done"] > 0.5, solved, 1.0)}
        nearer = where(end["done"] > 0.5, 1.0 - last, 0.0)  # it converged, only not far enough
        again = (1.0 - missing) * (1.0 - nearer) * (1.0 - solved)
        begin = self.start(1.0)
        after["x"] = where(again > 0.5, begin.x, after["x"])
        after["y"], after["s"] = where(again > 0.5, begin.y, after["y"]), where(again > 0.5, begin.s, after["s"])
        given_up = missing * (1.0 - nearer)
        after |= {"missing": maximum(missing, again), "gap": where(again > 0.5, PLAIN, GAP), "free": 0.0}
        return after | {"done": maximum(solved, given_up)}

    def iterated(self, begin: _Point, missing: Any, gap: Any) -> dict[str, Any]:
        """The interior-point method down to a gap."""
        x, s, y, free = begin
        dual = self.slope(x, missing) + self.pushed(y, missing)
        primal = self.along(x, missing) + s - self.bounds(missing)
        state = {"x": x, "s": s, "y": y, "dual": dual, "primal": primal, "done": free}
        return repeat(partial(self.step, missing, gap), MOST, state, "done")

    def step(self, missing: Any, gap: Any, x: Any, s: Any, y: Any, dual: Any, primal: Any, done: Any) -> dict[str, Any]:
        """One iteration."""
        m, D = len(s), y / s
        K = self.factored(D, missing)
        mu = (s @ y) / m

        def direction(target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """(ds, dy, dx) with s dy + y ds = target, and both residuals gone after a whole step."""
            dx = K.solve(-dual - self.pushed(target / s + D * primal, missing))
            ds = -primal - self.along(dx, missing)
            return ds, (target / s) - D * ds, dx

        # predictor: straight towards complementarity
        ds, dy, _ = direction(-s * y)
        length = _length(s, y, ds, dy, 1.0)
        ahead = ((s + length * ds) @ (y + length * dy)) / m
        centring = (ahead / mu) * (ahead / mu) * (ahead / mu)
        # corrector: with the product of the predictor's changes, and centred
        ds, dy, dx = direction(centring * mu - s * y - ds * dy)
        length = _length(s, y, ds, dy, TO_THE_BOUNDARY)
        x, s, y = x + length * dx, s + length * ds, y + length * dy
        dual, primal = (1.0 - length) * dual, (1.0 - length) * primal  # residuals are linear
        force, extent = self.scales
        near = logical_and(
            largest([absolute(r) for r in dual]) <= SOLVED * force,
            largest([absolute(r) for r in primal]) <= SOLVED * extent,
        )
        finished = where(logical_and(near, (s @ y) <= gap * force * extent), 1.0, 0.0)
        return {"x": x, "s": s, "y": y, "dual": dual, "primal": primal, "done": finished}

    def with_equations(self, x: np.ndarray, s: np.ndarray, y: np.ndarray, missing: Any) -> _Exact:
        """The solution with the rows that seem to be at their bounds as equations, and whether it is the optimum.

        By the method of multipliers, whose few steps share one factor.
        """
        bounds, ratio, weight = self.bounds(missing), largest(list(y)) / largest(list(s)), STIFF * self.stiffness
        on = np.array([where(yi > ratio * si, 1.0, 0.0) for si, yi in zip(s, y, strict=True)])
        K = self.factored(weight * on, missing)

        def refine(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
            missed = on * (self.along(x, missing) - bounds)
            dx = K.solve(-self.slope(x, missing) - self.pushed(y + weight * missed, missing))
            return {"x": x + dx, "y": y + weight * (missed + on * self.along(dx, missing))}

        end = repeat(refine, REFINED, {"x": x, "y": on * y})
        x, y = end["x"], end["y"]
        force, extent = self.scales
        beyond = self.along(x, missing) - bounds
        kept = largest(list(beyond)) <= SOLVED * extent
        pushing = largest([-yi for yi in y]) <= 0.0
        left = self.slope(x, missing) + self.pushed(y, missing)
        still = largest([absolute(r) for r in left]) <= SOLVED * force
        met = largest([absolute(e) for e in on * beyond]) <= SOLVED * extent
        solved = logical_and(logical_and(kept, met), logical_and(pushing, still))
        return _Exact(x, y, where(solved, 1.0, 0.0))


def _length(s: np.ndarray, y: np.ndarray, ds: np.ndarray, dy: np.ndarray, share: float) -> Any:
    """The share of the longest step, at most 1, that keeps s and y positive."""
    inverse: Any = share
    for value, change in (*zip(s, ds, strict=True), *zip(y, dy, strict=True)):
        inverse = maximum(inverse, -change / value)
    return minimum(share / inverse, 1.0)
