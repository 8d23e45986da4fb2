"""A limit of jerk along a path: a first motion that keeps to it, then the shortest.

The moving average of s(t) of the fastest motion without that limit stays on the path. Its acceleration is continuous,
and its jerk is what the acceleration of the fastest motion changes over the window, by the window. Averaging carries
speed into places where less was allowed, so the motion is then slowed down as a whole until all limits hold, by exact
extremes; the window for which the result is shortest is taken. From there `third_order` goes on: on points at equal
times of the motion that is known, with limits drawn in where they are passed between points.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .motion import PolynomialMotion
from .polynomials import Polynomials
from .third_order import Shares, ThirdOrder, law_of

if TYPE_CHECKING:
    from .time_optimal import Bounds, Division, Fastest

WINDOWS = np.geomspace(0.002, 0.5, 18)  # shares of the duration of the fastest motion that are tried
INSTANTS = 2000  # at which torques are computed
SHRINK = 1e-9  # by which the motion is slower than the exact factor, for rounding
MERGED = 1e-9  # share of the duration: ends of pieces this near to each other are one
GRIDS = 3  # times that points are set anew, at equal times of the last motion
DRAWN = 8  # times that limits are drawn in on the same points
MORE = 1.3  # what they are drawn in by, times the excess
SETTLED = 1e-4  # relative gain below which the search ends
FINER = 32  # the same for rates of joints with quaternions, whose peaks are not known exactly
FINE = 8  # instants of each piece at which limits are checked before they are drawn in


class Along(NamedTuple):
    """A motion along a path, and its time law s(t)."""

    motion: PolynomialMotion
    law: Polynomials

    def slower(self, factor: float) -> Along:
        """In so many times the duration."""
        stretched = Polynomials(self.law.times * factor, self.law.coefficients)
        return Along(self.motion.slower(factor), stretched)


def limited(
    fastest: Fastest, line: PolynomialMotion, cut: Division, bounds: Bounds, robot: Robot | None
) -> PolynomialMotion:
    """The shortest motion along a path that keeps to all limits, that of jerk among them."""
    best = smoothed(fastest, line, cut, bounds, robot)
    for _ in range(GRIDS):
        shorter = _refined(best, line, len(cut.grid.lengths), bounds, robot)
        gain = 1.0 - shorter.motion.duration / best.motion.duration
        best = shorter
        if gain < SETTLED:
            break
    return best.motion


def _refined(known: Along, line: PolynomialMotion, count: int, bounds: Bounds, robot: Robot | None) -> Along:
    """The best of the motions on points at equal times of one that is known, or that one."""
    best, shares = known, Shares.whole(count, line.nv)
    for _ in range(DRAWN):
        program = ThirdOrder(line, bounds, robot, known.law, count, shares)
        x = program.solved()
        if x is None:
            return best
        law = program.time_law(x)
        trial = Along(_composed(line, law, robot), law)
        factor = _slowdown(trial.motion, bounds, robot)
        if np.isfinite(factor):
            slowed = trial.slower(max(factor, 1.0) * (1.0 + SHRINK)) if factor > 1.0 else trial
            best = slowed if slowed.motion.duration < best.motion.duration else best
        if factor < 1.0 + SETTLED:
            break
        shares = _drawn_in(shares, trial, bounds, robot)
    return best


def _drawn_in(shares: Shares, trial: Along, bounds: Bounds, robot: Robot | None) -> Shares:
    """With less of the limits where they are passed, and beside it."""
    t = _instants(trial.motion, FINE)
    state = trial.motion.at(t)
    tau = np.zeros_like(state.v) if robot is None else robot.inverse_dynamics(*state)
    values = state.v, trial.motion.jerk(t), state.a, tau
    limits = bounds.velocity, bounds.jerk, bounds.acceleration, bounds.torque
    about, _ = trial.law.locate(t[:, 0])  # pieces of the law reach from middle to middle, about the points
    points = [np.zeros((len(trial.law.coefficients), len(limit))) for limit in limits]
    for use, x, limit in zip(points, values, limits, strict=True):
        np.maximum.at(use, about, np.abs(x).max(axis=1) / limit)
    beside = [np.maximum(use[:-1], use[1:]) for use in points]
    velocity, jerks = (np.maximum(np.pad(use, ((1, 0), (0, 0))), np.pad(use, ((0, 1), (0, 0)))) for use in beside[:2])
    uses = velocity, jerks, *beside[2:]
    return Shares(*(x / (1.0 + MORE * np.maximum(use - 1.0, 0.0)) for x, use in zip(shares, uses, strict=True)))


def smoothed(fastest: Fastest, line: PolynomialMotion, cut: Division, bounds: Bounds, robot: Robot | None) -> Along:
    """The shortest of the averaged motions that keep to all limits."""
    way, count = cut.starts[-1] + cut.grid.lengths[-1], len(cut.grid.lengths)
    best: Along | None = None
    for window in WINDOWS * fastest.motion.duration:
        averaged = _averaged(fastest, way, window, count)
        trial = Along(_composed(line, averaged, robot), averaged)
        factor = _slowdown(trial.motion, bounds, robot)
        if np.isfinite(factor) and (best is None or factor * trial.motion.duration < best.motion.duration):
            best = trial.slower(max(factor, 1.0) * (1.0 + SHRINK)) if factor > 1.0 else trial
    if best is None:
        raise DalembertError("time_optimal: no motion along the path keeps to the limit of torque with this jerk limit")
    return best


def _averaged(fastest: Fastest, way: float, window: float, count: int) -> Polynomials:
    """s(t) whose speed is the mean of that of the fastest motion over the last `window` seconds."""
    times = np.linspace(0.0, fastest.motion.duration + window, count + 1)
    ends, speed = fastest.motion.curves.times, np.sqrt(fastest.x)
    late, early = (np.interp(t, ends, speed, 0.0, 0.0) for t in (times, times - window))
    a = (late - early) / window
    a[[0, -1]] = 0.0
    return law_of(times, a, way)


def _composed(line: PolynomialMotion, law: Polynomials, robot: Robot | None) -> PolynomialMotion:
    """q(s(t)) as polynomials: pieces of the law, cut where they pass a knot of the path."""
    path = line.curves
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
    curves = Polynomials(breaks, _compose(path.coefficients[piece], share))
    anchors = None if line.anchors is None else line.anchors[piece]
    return PolynomialMotion(curves, robot, anchors, "time_optimal")


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
            factor = max(factor, float(np.max(_peak(motion, order) / limit)) ** (1.0 / order))
    if robot is None or not np.isfinite(bounds.torque).any():
        return factor
    state = motion.at(np.linspace(0.0, motion.duration, INSTANTS + 1))
    for _ in range(60):
        tau = robot.inverse_dynamics(state.q, state.v / max(factor, 1.0), state.a / max(factor, 1.0) ** 2)
        excess = float(np.max(np.abs(tau) / (bounds.torque * (1.0 - 1e-6))))
        if excess <= 1.0:
            return factor
        factor = max(factor, 1.0) * min(1.02, 1.0 + 0.5 * (excess - 1.0) + 1e-5)
    return np.inf


def _instants(motion: PolynomialMotion, count: int) -> np.ndarray:
    """Times (K, count) within each piece, both ends of it included but for rounding."""
    times = motion.curves.times
    return times[:-1, None] + np.diff(times)[:, None] * np.linspace(1e-6, 1.0 - 1e-6, count)


def _peak(motion: PolynomialMotion, order: int) -> np.ndarray:
    """The largest size (nv,) of velocity, acceleration or jerk; of joints with quaternions at instants of pieces."""
    extremes = motion.extremes(order)
    peak = np.maximum(-extremes.least, extremes.greatest)
    if motion.anchors is None:
        return peak
    t = _instants(motion, FINER)
    rates = (motion.v, motion.a, motion.jerk)[order - 1](t)
    return np.where(motion.straight, peak, np.abs(rates).max(axis=(0, 1)))
