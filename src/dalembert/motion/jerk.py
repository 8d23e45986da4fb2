"""A limit of jerk along a path: the time law of the fastest motion, averaged over a window.

The moving average of s(t) stays on the path. Its acceleration is continuous, and its jerk is what the acceleration of
the fastest motion changes over the window, by the window. Averaging carries speed into places where less was allowed,
so the motion is then slowed down as a whole until all limits hold, by exact extremes; the window for which the result
is shortest is taken.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .motion import PolynomialMotion
from .polynomials import Polynomials

if TYPE_CHECKING:
    from .time_optimal import Bounds, Division

WINDOWS = np.geomspace(0.002, 0.5, 18)  # shares of the duration of the fastest motion that are tried
INSTANTS = 2000  # at which torques are computed
SHRINK = 1e-9  # by which the motion is slower than the exact factor, for rounding
MERGED = 1e-9  # share of the duration: ends of pieces this near to each other are one


def smoothed(
    fastest: PolynomialMotion, line: PolynomialMotion, cut: Division, bounds: Bounds, robot: Robot | None
) -> PolynomialMotion:
    """The shortest of the averaged motions that keep to all limits."""
    law = _time_law(fastest, cut)
    best: PolynomialMotion | None = None
    for window in WINDOWS * fastest.duration:
        motion = _composed(line.curves, _averaged(law, window), robot)
        factor = _slowdown(motion, bounds, robot)
        if np.isfinite(factor) and (best is None or factor * motion.duration < best.duration):
            best = motion.slower(max(factor, 1.0) * (1.0 + SHRINK)) if factor > 1.0 else motion
    if best is None:
        raise DalembertError("time_optimal: no motion along the path keeps to the limit of torque with this jerk limit")
    return best


def _time_law(fastest: PolynomialMotion, cut: Division) -> Polynomials:
    """s(t): in each interval σ = e θ + (1 − e) θ², with e found from the speeds at its ends."""
    h = np.diff(fastest.curves.times)
    ends = np.append(cut.starts, cut.starts[-1] + cut.grid.lengths[-1])
    speed = np.zeros(len(h) + 1)
    for i, (length, duration) in enumerate(zip(cut.grid.lengths, h, strict=True)):  # ṡ₁ = 2 Δ / h − ṡ₀
        speed[i + 1] = max(2.0 * length / duration - speed[i], 0.0)
    first = speed[:-1] * h
    return Polynomials(fastest.curves.times, np.stack([ends[:-1], first, cut.grid.lengths - first], axis=1)[:, :, None])


def _averaged(law: Polynomials, window: float) -> Polynomials:
    """The mean of s over the last `window` seconds, a cubic in each piece: [S(t) − S(t − w)] / w with S = ∫ s."""
    end = law.times[-1]
    breaks = np.unique(np.concatenate([law.times, law.times + window]))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > MERGED * end])]
    breaks[-1] = end + window
    lengths = np.diff(breaks)
    shares = np.linspace(0.0, 1.0, 4)
    t = breaks[:-1, None] + lengths[:, None] * shares
    inner = np.clip(t, breaks[:-1, None] + 1e-13 * end, breaks[1:, None] - 1e-13 * end)
    integral = _Integral(law)
    values = (integral(inner) - integral(inner - window)) / window
    # a cubic through four points is the cubic itself
    coefficients = np.linalg.solve(shares[:, None] ** np.arange(4), values.T).T
    return Polynomials(breaks, coefficients[:, :, None])


class _Integral:
    """∫ s dt from the start; before it s is at the begin of the path, after it at the end."""

    def __init__(self, law: Polynomials) -> None:
        self.law = law
        h = np.diff(law.times)
        c = law.coefficients[:, :, 0]
        self.pieces = np.concatenate([np.zeros((len(h), 1)), c / np.arange(1, c.shape[1] + 1)], axis=1) * h[:, None]
        self.starts = np.concatenate([[0.0], np.cumsum(self.pieces.sum(axis=1))])
        self.ends = c[0, 0], c[-1].sum()

    def __call__(self, t: np.ndarray) -> np.ndarray:
        piece, share = self.law.locate(t)
        powers = share[..., None] ** np.arange(self.pieces.shape[1])
        inside = self.starts[piece] + (self.pieces[piece] * powers).sum(axis=-1)
        late, early = np.maximum(t - self.law.times[-1], 0.0), np.minimum(t - self.law.times[0], 0.0)
        return inside + late * self.ends[1] + early * self.ends[0]


def _composed(path: Polynomials, law: Polynomials, robot: Robot | None) -> PolynomialMotion:
    """q(s(t)) as polynomials: pieces of the law, cut where they pass a knot of the path."""
    times = [law.times]
    for knot in path.times[1:-1]:
        k = int(np.searchsorted(law(law.times)[:, 0], knot))
        k = min(max(k - 1, 0), len(law.coefficients) - 1)
        roots = np.roots((law.coefficients[k, :, 0] - [knot, 0.0, 0.0, 0.0])[::-1])
        inner = roots.real[(np.abs(roots.imag) < 1e-7) & (roots.real > 0.0) & (roots.real < 1.0)]
        times.append(law.times[k] + inner * (law.times[k + 1] - law.times[k]))
    breaks = np.unique(np.concatenate(times))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > MERGED * law.times[-1]])]
    breaks[-1] = law.times[-1]
    middle = 0.5 * (breaks[1:] + breaks[:-1])
    inner = _cut(law, breaks)
    piece, _ = path.locate(law(middle)[:, 0])
    start, length = path.times[piece], np.diff(path.times)[piece]
    share = inner / length[:, None]
    share[:, 0] -= start / length
    return PolynomialMotion(Polynomials(breaks, _compose(path.coefficients[piece], share)), robot, title="time_optimal")


def _cut(law: Polynomials, breaks: np.ndarray) -> np.ndarray:
    """Coefficients (M, 4) of the law's only curve between breaks, in the share of each."""
    middle = 0.5 * (breaks[1:] + breaks[:-1])
    piece, _ = law.locate(middle)
    length = np.diff(law.times)[piece]
    x0, width = (breaks[:-1] - law.times[piece]) / length, np.diff(breaks) / length
    c = law.coefficients[piece, :, 0]
    out = np.zeros_like(c)
    for k in range(c.shape[1]):
        for p in range(k, c.shape[1]):
            out[:, k] += comb(p, k) * x0 ** (p - k) * width**k * c[:, p]
    return out


def _compose(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Polynomials outer (M, d + 1, n) of inner (M, e + 1): (M, d e + 1, n), by Horner's rule."""
    count, terms, n = outer.shape
    e = inner.shape[1] - 1
    result = np.zeros((count, (terms - 1) * e + 1, n))
    result[:, 0] = outer[:, -1]
    degree = 0
    for p in range(terms - 2, -1, -1):
        product = np.zeros_like(result)
        for k in range(e + 1):
            product[:, k : k + degree + 1] += inner[:, k, None, None] * result[:, : degree + 1]
        product[:, 0] += outer[:, p]
        result, degree = product, degree + e
    return result


def _slowdown(motion: PolynomialMotion, bounds: Bounds, robot: Robot | None) -> float:
    """The factor by which the motion must be slower, so that all limits hold; infinite: no factor does."""
    factor = 0.0
    for order, limit in ((1, bounds.velocity), (2, bounds.acceleration), (3, bounds.jerk)):
        if np.isfinite(limit).any():
            extremes = motion.extremes(order)
            peak = np.maximum(-extremes.least, extremes.greatest)
            factor = max(factor, float(np.max(peak / limit)) ** (1.0 / order))
    if robot is None or not np.isfinite(bounds.torque).any():
        return factor
    for _ in range(60):
        t = np.linspace(0.0, motion.duration, INSTANTS + 1)
        state = motion.at(t)
        tau = robot.inverse_dynamics(state.q, state.v / max(factor, 1.0), state.a / max(factor, 1.0) ** 2)
        if np.all(np.abs(tau) <= bounds.torque * (1.0 - 1e-6)):
            return factor
        factor = 1.02 * max(factor, 1.0)
    return np.inf
