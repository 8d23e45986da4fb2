"""Periodic motions as finite Fourier series, as large as the limits allow, and the ramps from and to rest."""

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
class Limits:
    """Limits of each joint: lower, upper (n,) [rad or m], velocity, acceleration (n,); inf: no limit."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @property
    def center(self) -> np.ndarray:
        """(n,): the middle of the range."""
        return 0.5 * (self.lower + self.upper)


def joint_limits(robot: Robot, margin: float, velocity: Any, acceleration: Any, lower: Any, upper: Any) -> Limits:
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
    return Limits(middle - half, middle + half, (1.0 - margin) * fast, (1.0 - margin) * slope)


class Motion(Protocol):
    """A motion whose size can be changed."""

    @property
    def period(self) -> float:
        """[s]"""

    def at(self, t: np.ndarray, order: int = 0) -> np.ndarray:
        """(T, n): position, velocity or acceleration (order 0, 1, 2) at times t (T,) [s]."""

    def drawn_in(self, factor: float, shift: Any = 0.0) -> Motion:
        """The same motion, scaled down, and elsewhere by shift (n,)."""


class Scaled(NamedTuple):
    """A motion within the limits; its scale (n,), the slope of its logarithm in theta, and that in shift."""

    motion: Motion
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

    def scaled(self, theta: np.ndarray, limits: Limits, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
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

    def scaled(self, theta: np.ndarray, limits: Limits, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
        """The series of theta within the limits; see `Family`."""
        return scaled(theta, limits, self.period, shift, share)


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


def shift_of_amplitude(shift: np.ndarray) -> np.ndarray:
    """The slope of log(1 − |shift|)."""
    return np.asarray(-np.sign(shift) / (1.0 - np.abs(shift)))


def scaled(theta: np.ndarray, limits: Limits, period: float, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
    """The series of raw coefficients theta = [A, B] (n, 2 harmonics) within the limits; see `Family`."""
    n, m = len(theta), theta.shape[1] // 2
    shift = np.broadcast_to(shift, n)
    w = 2.0 * np.pi / period * np.arange(1, m + 1)
    amplitude = np.maximum(np.hypot(theta[:, :m], theta[:, m:]), 1e-300)
    scale, slope = np.full(n, np.inf), np.zeros_like(theta)
    half = 0.5 * (limits.upper - limits.lower)
    by_shift = np.zeros(n)
    joints = np.arange(n)
    for order, most in ((0, half * (1.0 - np.abs(shift))), (1, limits.velocity), (2, limits.acceleration)):
        fine = _fine_maps(m, period)[order]
        x = fine @ theta.T
        at = np.argmax(np.abs(x), axis=0)
        # between two instants a curve rises above both by at most h²/8 times its largest curvature
        curvature = (period / COARSE) ** 2 / 8.0 * w ** (order + 1)
        above = amplitude @ curvature
        size = np.abs(x[at, joints]) + above
        tighter = most / size < scale
        rise = np.tile(curvature / amplitude, 2) * theta
        here = -(np.sign(x[at, joints])[:, None] * fine[at] + rise) / size[:, None]
        slope = np.where(tighter[:, None], here, slope)
        by_shift = np.where(tighter, 0.0 if order else shift_of_amplitude(shift), by_shift)
        scale = np.where(tighter, most / size, scale)
    scale = share * scale
    A, B = scale[:, None] * theta[:, :m], scale[:, None] * theta[:, m:]
    return Scaled(Series(limits.center + half * shift, A, B, period), scale, slope, by_shift)


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


def best_phase(series: Series, ramp: float, limits: Limits) -> Series:
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
