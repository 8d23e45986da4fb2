"""The shortest time along a path with limited jerk: an interior-point method on the square of the speed.

The path is cut at s₀ … s_N, and x = ṡ² at these points is sought. Between two of them the acceleration along the path
is that of its middle, A = (x₁ − x₀) / 2Δ; at a point the jerk along the path is the difference ΔA of both sides in the
time between the middles, κ / √x. With derivatives by s written q′, q″, q‴,

    q̇² = q′² x    q̈ = q″ x + q′ A    q⃛ = √x (q‴ x + 3 q″ s̈ + q′ ΔA / κ)    duration = Σ 2Δ / (√x₀ + √x₁)

Velocity, acceleration and torque are linear in x, the duration is convex. A limit J of the jerk bounds what is linear
by J / √x, which is convex and lies above its tangents: a step that keeps to the tangent keeps to the limit. So each
iteration takes the tangents at the x of now and stays feasible. Each row holds three neighbours of x, so that the
linear systems have five diagonals.

From rest s ∼ t³ and x ∼ s^(4/3): the points lie at equal times of a motion that is known already, and the first and
last interval are those of a constant jerk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.compiler.execute.procedures import F64, Procedures
from dalembert.robot import Robot

from .along import HOLDS, TorqueTerms
from .motion import PolynomialMotion
from .polynomials import Polynomials

if TYPE_CHECKING:
    from .time_optimal import Bounds

ITERATIONS = 100  # of the interior-point method
GAP = 1e-6  # duality gap at which it ends, as a share of the duration
CENTRING = 0.2  # share of the gap that an iteration aims at
TO_THE_BOUNDARY = 0.95  # share of the longest step
HELD, LOWEST = 0.97, 0.2  # factor on x until the first guess keeps to all limits; below the lowest there is none
AT_REST = 3.0  # Δ = ṡ h / 3 where an interval begins or ends at rest with constant jerk; elsewhere ½ (ṡ₀ + ṡ₁) h


class PathRates(NamedTuple):
    """Derivatives (…, nv) of a path by s: velocity, acceleration and jerk for ṡ = 1."""

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray

    @staticmethod
    def along(line: PolynomialMotion, s: np.ndarray) -> PathRates:
        """At s (…)."""
        state = line.at(s)
        return PathRates(state.v, state.a, line.jerk(s))


class PathRows(NamedTuple):
    """Rows c₀ x[i − 1] + c₁ x[i] + c₂ x[i + 1] ≤ level + steep / √x[i] at each point i.

    coefficients (N + 1, r, 3), level and steep (N + 1, r); a row that is not there is 0 ≤ 1.
    """

    coefficients: np.ndarray
    level: np.ndarray
    steep: np.ndarray

    @staticmethod
    def strip(C: np.ndarray, low: np.ndarray, high: np.ndarray, steep: bool = False) -> PathRows:
        """low ≤ C x ≤ high, each divided by √x[i] for a steep one; infinite bounds are none."""
        C, level = np.concatenate([C, -C], axis=1), np.concatenate([high, -low], axis=1)
        bounded = np.isfinite(level)
        C = np.where(bounded[..., None], C, 0.0)
        if steep:
            return PathRows(C, np.where(bounded, 0.0, 1.0), np.where(bounded, level, 0.0))
        return PathRows(C, np.where(bounded, level, 1.0), np.zeros_like(level))

    @staticmethod
    def together(rows: list[PathRows]) -> PathRows:
        """One after the other."""
        return PathRows(*(np.concatenate(part, axis=1) for part in zip(*rows, strict=True)))

    def scaled(self, x: np.ndarray) -> PathRows:
        """The same in units of x (N + 1,); each row divided by its size there."""
        C = self.coefficients * _window(x)[:, None]
        steep = self.steep / np.sqrt(np.where(x > 0.0, x, 1.0))[:, None]
        size = np.maximum(np.abs(self.level) + steep, np.abs(C).sum(axis=2))
        return PathRows(C / size[..., None], self.level / size, steep / size)

    def times(self, x: np.ndarray) -> np.ndarray:
        """C x (N + 1, r)."""
        return (self.coefficients @ _window(x)[:, :, None])[:, :, 0]

    def room(self, x: np.ndarray) -> np.ndarray:
        """Room left in each row (N + 1, r)."""
        return self.level + self.steep / np.sqrt(x)[:, None] - self.times(x)

    def tangent(self, x: np.ndarray) -> PathRows:
        """With the tangents at x instead of 1 / √x: rows whose change is minus that of the room."""
        C = self.coefficients.copy()
        C[:, :, 1] += 0.5 * self.steep * (x**-1.5)[:, None]
        return PathRows(C, self.level, self.steep)

    def transposed(self, weights: np.ndarray) -> np.ndarray:
        """Cᵀ of weights (N + 1, r)."""
        parts = (weights[:, None] @ self.coefficients)[:, 0]
        total = parts[:, 1].copy()
        total[:-1] += parts[1:, 0]
        total[1:] += parts[:-1, 2]
        return total

    def squared(self, weights: np.ndarray) -> np.ndarray:
        """Three diagonals (3, N + 1) of Cᵀ diag(weights) C: entry [k, i] is that of i and i + k."""
        P = np.swapaxes(self.coefficients, 1, 2) @ (weights[:, :, None] * self.coefficients)
        bands = np.zeros((3, len(P)))
        bands[0] = P[:, 1, 1]
        bands[0, :-1] += P[1:, 0, 0]
        bands[0, 1:] += P[:-1, 2, 2]
        bands[1, :-1] = P[:-1, 1, 2] + P[1:, 0, 1]
        bands[2, :-2] = P[1:-1, 0, 2]
        return bands


def _window(x: np.ndarray) -> np.ndarray:
    """Each number with its neighbours (N + 1, 3), 0 beyond the ends."""
    wide = np.concatenate([[0.0], x, [0.0]])
    return np.stack([wide[:-2], wide[1:-1], wide[2:]], axis=1)


class Shares(NamedTuple):
    """Shares of limits that are used, so that they hold between the points as well.

    velocity, jerk (N + 1, nv): at and about the points; acceleration, torque (N, nv): in the middles.
    """

    velocity: np.ndarray
    jerk: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray

    @staticmethod
    def whole(count: int, n: int) -> Shares:
        """All of each, but for rounding."""
        points, middles = np.full((2, count + 1, n), HOLDS), np.full((2, count, n), HOLDS)
        return Shares(*points, *middles)


class Middles(NamedTuple):
    """Middles of intervals in time: s (N,), x (N,) of the motion that is known, its share of x₀ + x₁, and the path."""

    s: np.ndarray
    x: np.ndarray
    share: np.ndarray
    rates: PathRates


@dataclass(eq=False)
class ThirdOrder:
    """A path at the instants of a motion along it that is known, as a program in x / x⁰.

    law: s(t) of that motion; count N of intervals; shares of the limits that are used.
    """

    line: PolynomialMotion
    bounds: Bounds
    robot: Robot | None
    law: Polynomials
    count: int
    shares: Shares

    @cached_property
    def s(self) -> np.ndarray:
        """Points (N + 1,)."""
        s = self.law(np.linspace(0.0, self.law.times[-1], self.count + 1))[:, 0]
        s[[0, -1]] = self.line.curves.times[[0, -1]]  # beyond, a path has no derivatives
        return s

    @cached_property
    def x0(self) -> np.ndarray:
        """ṡ² (N + 1,) of the motion that is known; 0 at both ends."""
        x = self.law(np.linspace(0.0, self.law.times[-1], self.count + 1), 1)[:, 0] ** 2
        x[[0, -1]] = 0.0
        return x

    @cached_property
    def lengths(self) -> np.ndarray:
        """Δ (N,)."""
        return np.diff(self.s)

    @cached_property
    def means(self) -> np.ndarray:
        """Δ = ṡ h / mean (N,), with ṡ = ṡ₀ + ṡ₁."""
        means = np.full(self.count, 2.0)
        means[[0, -1]] = AT_REST
        return means

    def durations(self, x: np.ndarray) -> np.ndarray:
        """Durations of the intervals (N,) [s]."""
        v = np.sqrt(x)
        return self.means * self.lengths / (v[:-1] + v[1:])

    def accelerations(self, x: np.ndarray) -> np.ndarray:
        """A (N,): s̈ in the middle of each interval."""
        return np.diff(x) / (self.means * self.lengths)

    @cached_property
    def rows(self) -> PathRows:
        """All limits in x / x⁰."""
        return PathRows.together([self._speeds(), *self._jerks(), *self._middles()]).scaled(self.x0)

    def _speeds(self) -> PathRows:
        """Limits of velocity at the points, and of jerk in the first and last interval, as bounds of x."""
        q = PathRates.along(self.line, self.s)
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.nanmin((self.bounds.velocity * self.shares.velocity / np.abs(q.first)) ** 2, axis=1)
            for k, i in ((0, 1), (-1, -2)):
                limit = self.bounds.jerk * self.shares.jerk[k] / np.abs(q.first[k])
                first = (0.5 * AT_REST**2 * self.lengths[k] ** 2 * np.nanmin(limit)) ** (2.0 / 3.0)
                most[i] = np.fmin(most[i], first)
        C = np.zeros((self.count + 1, 1, 3))
        C[:, 0, 1] = 1.0
        return PathRows.strip(C, np.full((self.count + 1, 1), -np.inf), most[:, None])

    def _jerks(self) -> list[PathRows]:
        """Limits of jerk about the inner points, just after the middle before each and just before that after it.

        There, with x and A of the middle, r² = x / x[i] and ΔA about the point: r (q‴ x + 3 q″ A) + q′ ΔA / κ within
        J / √x[i].
        """
        here, low = self.middles, 1.0 / (self.means * self.lengths)
        h = self.durations(self.x0)
        kappa = np.sqrt(self.x0[1:-1]) * 0.5 * (h[:-1] + h[1:])
        left, right = np.zeros((2, self.count - 1, 3))  # A on both sides of a point
        left[:, 0], left[:, 1] = -low[:-1], low[:-1]
        right[:, 1], right[:, 2] = -low[1:], low[1:]
        change = (right - left) / kappa[:, None]
        limit = self.bounds.jerk * self.shares.jerk
        limit[[0, -1]] = np.inf
        parts = []
        for middle, a, columns in ((slice(None, -1), left, (0, 1)), (slice(1, None), right, (1, 2))):
            x = np.zeros((self.count - 1, 3))
            x[:, columns] = here.share[middle, None]
            ratio = np.sqrt(here.x[middle] / self.x0[1:-1])[:, None, None]
            first, second, third = (rate[middle, :, None] for rate in here.rates)
            C = np.zeros((self.count + 1, self.line.nv, 3))
            C[1:-1] = ratio * (third * x[:, None] + 3.0 * second * a[:, None]) + first * change[:, None]
            parts.append(PathRows.strip(C, -limit, limit, steep=True))
        return parts

    @cached_property
    def middles(self) -> Middles:
        """The middles of the intervals in time."""
        t = (np.arange(self.count) + 0.5) * (self.law.times[-1] / self.count)
        s, x = self.law(t)[:, 0], self.law(t, 1)[:, 0] ** 2
        return Middles(s, x, x / (self.x0[:-1] + self.x0[1:]), PathRates.along(self.line, s))

    def _middles(self) -> list[PathRows]:
        """Limits of acceleration and torque in the middle of each interval, the row of the point before it."""
        share, q, speed = self.middles.share, self.middles.rates, np.sqrt(self.middles.x)
        low = 1.0 / (self.means * self.lengths)

        def rows(rate: np.ndarray, bend: np.ndarray, least: np.ndarray, most: np.ndarray) -> PathRows:
            C = np.zeros((self.count + 1, rate.shape[1], 3))
            C[:-1, :, 1] = bend * share[:, None] - rate * low[:, None]
            C[:-1, :, 2] = bend * share[:, None] + rate * low[:, None]
            none = np.full((1, rate.shape[1]), np.inf)
            return PathRows.strip(C, np.concatenate([least, -none]), np.concatenate([most, none]))

        limit = self.bounds.acceleration * self.shares.acceleration
        parts = [rows(q.first, q.second, -limit, limit)]
        if self.robot is not None and np.isfinite(self.bounds.torque).any():
            m, c, static, viscous = TorqueTerms.along(self.robot, self.line.at(self.middles.s))
            static, c = static + 0.5 * viscous * speed[:, None], c + 0.5 * viscous / speed[:, None]
            limit = self.bounds.torque * self.shares.torque
            parts.append(rows(m, c, -limit - static, limit - static))
        return parts

    # ---- the interior-point method

    def solved(self) -> np.ndarray | None:
        """x (N + 1,) of the shortest duration; None: no multiple of what is known is within the limits."""
        y = np.ones(self.count + 1)
        while self.rows.room(y).min() <= 1e-4:
            y = y * HELD
            if y[0] < LOWEST:
                return None
        room = self.rows.room(y)
        scale = float(self.durations(self.x0).sum())
        multipliers = 0.1 / (room.size * room)
        for _ in range(ITERATIONS):
            slope, curvature = self._objective(y, scale)
            mu = float(np.mean(room * multipliers))
            C = self.rows.tangent(y)
            weights, target = multipliers / room, CENTRING * mu / room
            bands = C.squared(weights)
            bands[:2] += curvature
            bands[0, [0, -1]] = 1.0
            dy = -(slope + C.transposed(target))
            _eliminations.five_diagonals(bands, dy, len(dy))
            change = C.times(dy)
            dm = target - multipliers + weights * change
            step = min(1.0, TO_THE_BOUNDARY / max(np.max(change / room), np.max(-dy / y), 1e-12))
            dual = min(1.0, TO_THE_BOUNDARY / max(np.max(-dm / multipliers), 1e-12))
            y, multipliers = y + step * dy, multipliers + dual * dm
            room = self.rows.room(y)
            if room.size * mu < GAP and step > 0.5:
                break
        return y * self.x0

    def _objective(self, y: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Slope (N + 1,) and two diagonals (2, N + 1) of the curvature of the duration by y, relative to `scale`."""
        x = y * self.x0
        v = np.sqrt(np.where(x > 0.0, x, 1.0))
        total = np.sqrt(x)[:-1] + np.sqrt(x)[1:]
        first = -self.means * self.lengths / total**2 / scale  # by the sum of speeds
        second = -2.0 * first / total
        rate, bend = 0.5 * self.x0 / v, -0.25 * self.x0**2 / v**3  # of a speed by y
        rate[[0, -1]] = bend[[0, -1]] = 0.0
        slope, curvature = np.zeros(len(y)), np.zeros((2, len(y)))
        for at in (slice(None, -1), slice(1, None)):
            slope[at] += first * rate[at]
            curvature[0, at] += second * rate[at] ** 2 + first * bend[at]
        curvature[1, :-1] = second * rate[:-1] * rate[1:]
        return slope, curvature

    # ---- back to time

    def time_law(self, x: np.ndarray) -> Polynomials:
        """s(t) with an acceleration that is linear between the middles of intervals."""
        h = self.durations(x)
        times = np.concatenate([[0.0], np.cumsum(h) - 0.5 * h, [h.sum()]])
        return law_of(times, np.concatenate([[0.0], self.accelerations(x), [0.0]]), self.s[-1])


def five_diagonals(bands: F64, x: F64, n: int):
    """Put A⁻¹ x in the place of x (n,), by L D Lᵀ; bands (3, n): entries [i, i], [i, i + 1], [i, i + 2] of A > 0.

    D and D Lᵀ take the place of the bands.
    """
    for i in range(n):
        for k in range(1, min(i, 2) + 1):
            share = bands[k * n + i - k] / bands[i - k]
            bands[i] -= share * bands[k * n + i - k]
            if k == 1:
                bands[n + i] -= share * bands[2 * n + i - 1]
            x[i] -= share * x[i - k]
    for row in range(n):
        i = n - 1 - row
        for k in range(1, min(row, 2) + 1):
            x[i] -= bands[k * n + i] * x[i + k]
        x[i] = x[i] / bands[i]


_eliminations = Procedures(five_diagonals)


def law_of(times: np.ndarray, a: np.ndarray, way: float) -> Polynomials:
    """s(t) from rest at 0 to rest at `way`, with an acceleration (N + 1,) linear between times: a cubic in each piece.

    Accelerations and decelerations are each multiplied by a factor, near 1 where these are those of such a motion.
    """
    step = np.diff(times)
    up, down = np.maximum(a, 0.0), np.minimum(a, 0.0)
    ends = np.array([[z[-1] for z in _integrated(part, step)] for part in (up, down)]).T  # speed, way
    factors = np.linalg.solve(ends, [0.0, way])
    a = factors[0] * up + factors[1] * down
    v, s = _integrated(a, step)
    cubic = [s[:-1], v[:-1] * step, 0.5 * a[:-1] * step**2, np.diff(a) * step**2 / 6.0]
    return Polynomials(times, np.stack(cubic, axis=1)[:, :, None])


def _integrated(a: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Speed and way (N + 1,) from rest, of an acceleration (N + 1,) that is linear between times `step` apart."""
    v = np.concatenate([[0.0], np.cumsum(0.5 * (a[:-1] + a[1:]) * step)])
    s = np.concatenate([[0.0], np.cumsum(v[:-1] * step + (2.0 * a[:-1] + a[1:]) * step**2 / 6.0)])
    return v, s
