"""Families of motions, as large as the limits allow: finite Fourier series with ramps, and quintics between points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.errors import DalembertError
from dalembert.motion import Series
from dalembert.robot import Robot

FINE = 2400  # instants at which limits are checked
COARSE = 480  # instants at which extremes are sought; between them a bound of the next derivative is added
UNLIMITED = np.pi  # amplitude [rad or m] of joints without limits
PHASES = 96  # of the periodic part at which it may begin


@dataclass(frozen=True)
class JointLimits:
    """Limits of each joint: lower, upper (n,) [rad or m], velocity, acceleration (n,); inf: no limit."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @property
    def center(self) -> np.ndarray:
        """(n,): the middle of the range."""
        return 0.5 * (self.lower + self.upper)


def joint_limits(robot: Robot, margin: float, velocity: Any, acceleration: Any, lower: Any, upper: Any) -> JointLimits:
    if not 0.0 <= margin < 1.0:
        raise DalembertError(f"excitation: margin is {margin!r}, expected 0 … 1")
    joints = [body.joint for body in robot.model.independent if body.joint.nv]
    low, high, fast = (np.concatenate([getattr(j, f) for j in joints]) for f in ("lower", "upper", "velocity_limit"))
    low = low if lower is None else np.maximum(low, lower)
    high = high if upper is None else np.minimum(high, upper)
    names = robot.model.freedom_names
    for k, name in enumerate(names):
        if not low[k] < high[k]:
            raise DalembertError(f"excitation: joint {name!r}: limits {low[k]:g} … {high[k]:g} leave nothing to move")
    low, high = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * UNLIMITED, -UNLIMITED)), high
    high = np.where(np.isfinite(high), high, low + 2 * UNLIMITED)
    fast = np.minimum(fast, np.inf if velocity is None else np.broadcast_to(velocity, fast.shape))
    steepest = robot.limits.steepest
    slope = np.minimum(steepest, np.inf if acceleration is None else np.broadcast_to(acceleration, fast.shape))
    for what, most in (("velocity", fast), ("acceleration", slope)):
        if not np.all(most > 0.0):
            name = names[int(np.argmin(most > 0.0))]
            raise DalembertError(f"excitation: joint {name!r}: its {what} limit of 0 leaves nothing to move: state it")
    half = 0.5 * (1.0 - margin) * (high - low)
    middle = 0.5 * (low + high)
    return JointLimits(middle - half, middle + half, (1.0 - margin) * fast, (1.0 - margin) * slope)


class ExcitingMotion(Protocol):
    """A motion whose size can be changed."""

    @property
    def period(self) -> float:
        """[s]"""

    def at(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(T, n): position, velocity or acceleration (order 0, 1, 2) at times t (T,) [s]."""

    def drawn_in(self, factor: float, shift: Any = 0.0) -> ExcitingMotion:
        """The same motion, scaled down, and elsewhere by shift (n,)."""


class Scaled(NamedTuple):
    """A motion within the limits; its scale (n,), the slope of its logarithm in theta, and that in shift."""

    motion: ExcitingMotion
    scale: np.ndarray
    by_theta: np.ndarray
    by_shift: np.ndarray


class Family(Protocol):
    """Motions that are linear in `size` numbers theta per joint, up to a scale of each joint."""

    @property
    def period(self) -> float:
        """[s]"""

    @property
    def size(self) -> int:
        """Numbers per joint."""

    def maps(self, t: np.ndarray) -> list[np.ndarray]:
        """dq, dv, da / dtheta: (T, size) each."""

    def scaled(self, theta: np.ndarray, limits: JointLimits, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
        """The motion of theta (n, size), as large as the limits allow, times `share`.

        shift (n,), −1 … 1: where in its range a joint has its middle; what is left on the nearer side bounds its
        amplitude. share (n,), 0 … 1: of the amplitude that the limits allow.
        """


@dataclass(frozen=True)
class Fourier:
    """All series of so many harmonics; theta = [A, B] (n, 2 harmonics), up to its scale."""

    harmonics: int
    period: float

    @property
    def size(self) -> int:
        """Numbers per joint."""
        return 2 * self.harmonics

    def maps(self, t: np.ndarray) -> list[np.ndarray]:
        """dq, dv, da / dtheta: (T, size) each."""
        return _maps(t, self.harmonics, self.period)

    def scaled(self, theta: np.ndarray, limits: JointLimits, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
        """The series of theta within the limits; see `Family`."""
        n, m, period = len(theta), self.harmonics, self.period
        w, joints = 2.0 * np.pi / period * np.arange(1, m + 1), np.arange(n)
        amplitude = np.maximum(np.hypot(theta[:, :m], theta[:, m:]), 1e-300)
        peaks = []
        for order, fine in enumerate(_fine_maps(m, period)):
            x = fine @ theta.T
            at = np.argmax(np.abs(x), axis=0)
            # between two instants a curve rises above both by at most h²/8 times its largest curvature
            curvature = (period / COARSE) ** 2 / 8.0 * w ** (order + 1)
            size = np.abs(x[at, joints]) + amplitude @ curvature
            rise = np.tile(curvature / amplitude, 2) * theta
            peaks.append((size, -(np.sign(x[at, joints])[:, None] * fine[at] + rise) / size[:, None]))
        shift = np.broadcast_to(shift, n)
        scale, slope, by_shift = _largest(peaks, limits, shift)
        scale = share * scale
        A, B = scale[:, None] * theta[:, :m], scale[:, None] * theta[:, m:]
        middle = limits.center + 0.5 * (limits.upper - limits.lower) * shift
        return Scaled(Series(middle, A, B, period), scale, slope, by_shift)


def _largest(
    peaks: list[tuple[np.ndarray, np.ndarray]], limits: JointLimits, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest scale (n,) that limits allow, and the slopes of its logarithm in theta and in shift.

    peaks: of position, velocity and acceleration at scale 1, their sizes (n,) and minus the slopes of their logarithms.
    """
    half, n = 0.5 * (limits.upper - limits.lower), len(shift)
    scale, slope, by_shift = np.full(n, np.inf), np.zeros_like(peaks[0][1]), np.zeros(n)
    allowed = (half * (1.0 - np.abs(shift)), limits.velocity, limits.acceleration)
    for order, ((size, here), most) in enumerate(zip(peaks, allowed, strict=True)):
        tighter = most / size < scale
        slope = np.where(tighter[:, None], here, slope)
        of_amplitude = 0.0 if order else -np.sign(shift) / (1.0 - np.abs(shift))  # the slope of log(1 − |shift|)
        by_shift = np.where(tighter, of_amplitude, by_shift)
        scale = np.where(tighter, most / size, scale)
    return scale, slope, by_shift


def _maps(t: np.ndarray, harmonics: int, period: float) -> list[np.ndarray]:
    """Position, velocity and acceleration at times t (T,) of coefficients [A, B]: (T, 2 harmonics) each."""
    w = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    phase = np.multiply.outer(t, w)
    s, c = np.sin(phase), np.cos(phase)
    return [np.concatenate(pair, axis=1) for pair in ((s / w, c / w), (c, -s), (-s * w, -c * w))]


@lru_cache(maxsize=8)
def _fine_maps(harmonics: int, period: float) -> list[np.ndarray]:
    """The same at the instants at which extremes are sought."""
    return _maps(np.arange(COARSE) * period / COARSE, harmonics, period)


class Edge(NamedTuple):
    """Where the periodic part begins and ends: q, v, a (n,); and where the robot rests before and after it."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    before: np.ndarray
    after: np.ndarray


def edge_of(series: Series, ramp: float, bounds: tuple[np.ndarray, np.ndarray] | None) -> Edge:
    """Places of rest are where a joint that speeds up evenly would have to start, within the bounds."""
    q, v, a = (series.at([0.0], order)[0] for order in range(3))
    lower, upper = bounds if bounds is not None else (-np.inf, np.inf)
    before, after = (np.clip(q + sign * 0.5 * v * ramp, lower, upper) for sign in (-1.0, 1.0))
    return Edge(q, v, a, before, after)


def quintic(edge: Edge, length: float, t: np.ndarray, direction: float = 1.0) -> tuple[np.ndarray, ...]:
    """(q, v, a) at t of the quintic from rest to the edge after `length`; direction −1: run backwards, to rest."""
    start = edge.before if direction > 0.0 else edge.after
    p, w, c = edge.q - start, direction * edge.v * length, edge.a * length**2
    s = np.clip(t / length, 0.0, 1.0)[:, None]
    k3, k4, k5 = 10.0 * p - 4.0 * w + 0.5 * c, -15.0 * p + 7.0 * w - c, 6.0 * p - 3.0 * w + 0.5 * c
    q = start + s**3 * (k3 + s * (k4 + s * k5))
    v = s**2 * (3.0 * k3 + s * (4.0 * k4 + 5.0 * s * k5)) / length * direction
    a = s * (6.0 * k3 + s * (12.0 * k4 + 20.0 * s * k5)) / length**2
    return q, v, a


def best_phase(series: Series, ramp: float, limits: JointLimits) -> Series:
    """The same periodic motion, begun where the ramps from and to rest are gentlest."""
    w = 2.0 * np.pi / series.period * np.arange(1, series.A.shape[1] + 1)
    t, best = np.linspace(0.0, ramp, 60), (np.inf, series)
    for shift in np.arange(PHASES) / PHASES * series.period:
        s, c = np.sin(w * shift), np.cos(w * shift)
        shifted = replace(series, A=series.A * c - series.B * s, B=series.A * s + series.B * c)
        edge = edge_of(shifted, ramp, (limits.lower, limits.upper))
        worst = 0.0
        for direction in (1.0, -1.0):
            q, v, a = quintic(edge, ramp, t, direction)
            worst = max(worst, _share(np.abs(v), limits.velocity), _share(np.abs(a), limits.acceleration))
            worst = max(worst, _share(np.abs(q - limits.center), 0.5 * (limits.upper - limits.lower)))
        if worst < best[0]:
            best = worst, shifted
    return best[1]


def _share(x: np.ndarray, most: np.ndarray) -> float:
    return float(np.max(x / most))


# largest speed and acceleration of s(x) = 10 x³ − 15 x⁴ + 6 x⁵ between 0 and 1
FASTEST, STEEPEST = 15.0 / 8.0, 10.0 / np.sqrt(3.0)


@dataclass(frozen=True)
class Moves:
    """A motion through points (k + 1, n), from one to the next in period / k seconds, at rest in each."""

    points: np.ndarray
    period: float

    def at(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(T, n): position, velocity or acceleration (order 0, 1, 2) at times t (T,) [s]."""
        return weights(t, len(self.points) - 1, self.period)[order] @ self.points

    def drawn_in(self, factor: float, shift: Any = 0.0) -> Moves:
        """The same motion, smaller about the middle of its points, and elsewhere by shift (n,)."""
        middle = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        return replace(self, points=middle + shift + factor * (self.points - middle))


@dataclass(frozen=True)
class PointToPoint:
    """All motions of `moves` moves within `period` [s]; theta (n, moves + 1): the points, up to their scale."""

    moves: int
    period: float

    @property
    def size(self) -> int:
        """Numbers per joint."""
        return self.moves + 1

    def maps(self, t: np.ndarray) -> list[np.ndarray]:
        """dq, dv, da / dtheta: (T, size) each."""
        return weights(t, self.moves, self.period)

    def scaled(self, theta: np.ndarray, limits: JointLimits, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
        """The motion of theta within the limits; see `Family`."""
        pace, joints = self.moves / self.period, np.arange(len(theta))
        steps, peaks = np.diff(theta, axis=1), []
        for x, gain in ((theta, 1.0), (steps, FASTEST * pace), (steps, STEEPEST * pace**2)):
            at = np.argmax(np.abs(x), axis=1)
            size = np.maximum(gain * np.abs(x[joints, at]), 1e-300)
            here, sign = np.zeros_like(theta), np.sign(x[joints, at]) * gain / size
            if x is theta:
                here[joints, at] = -sign
            else:
                here[joints, at + 1], here[joints, at] = -sign, sign
            peaks.append((size, here))
        shift = np.broadcast_to(shift, len(theta))
        scale, slope, by_shift = _largest(peaks, limits, shift)
        scale = share * scale
        middle = limits.center + 0.5 * (limits.upper - limits.lower) * shift
        return Scaled(Moves(middle[None] + (scale[:, None] * theta).T, self.period), scale, slope, by_shift)


def weights(t: np.ndarray, moves: int, period: float) -> list[np.ndarray]:
    """Weights of the points (T, moves + 1) in position, velocity and acceleration at times t (T,)."""
    length = period / moves
    t = np.clip(np.asarray(t, float), 0.0, period)
    move = np.minimum((t / length).astype(int), moves - 1)
    x = t / length - move
    share = x**3 * (10.0 + x * (6.0 * x - 15.0)), 30.0 * (x * (1.0 - x)) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
    rows, result = np.arange(len(t)), []
    for order, s in enumerate(share):
        w = np.zeros((len(t), moves + 1))
        w[rows, move], w[rows, move + 1] = (1.0 - s, s) if order == 0 else (-s / length**order, s / length**order)
        result.append(w)
    return result
