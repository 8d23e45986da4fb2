"""Motions from point to point: quintics with a rest at every point, as large as the limits allow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .series import Limits, Scaled, shift_of_amplitude

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

    def scaled(self, theta: np.ndarray, limits: Limits, shift: Any = 0.0, share: Any = 1.0) -> Scaled:
        """The motion of theta within the limits; see `Family`."""
        n, pace = len(theta), self.moves / self.period
        shift = np.broadcast_to(shift, n)
        half = 0.5 * (limits.upper - limits.lower)
        steps = np.diff(theta, axis=1)
        scale, slope, by_shift, joints = np.full(n, np.inf), np.zeros_like(theta), np.zeros(n), np.arange(n)
        for x, most, gain in (
            (theta, half * (1.0 - np.abs(shift)), 1.0),
            (steps, limits.velocity, FASTEST * pace),
            (steps, limits.acceleration, STEEPEST * pace**2),
        ):
            at = np.argmax(np.abs(x), axis=1)
            size = np.maximum(gain * np.abs(x[joints, at]), 1e-300)
            here, sign = np.zeros_like(theta), np.sign(x[joints, at]) * gain / size
            if x is theta:
                here[joints, at] = -sign
            else:
                here[joints, at + 1], here[joints, at] = -sign, sign
            tighter = most / size < scale
            slope = np.where(tighter[:, None], here, slope)
            by_shift = np.where(tighter, shift_of_amplitude(shift) if x is theta else 0.0, by_shift)
            scale = np.where(tighter, most / size, scale)
        scale = share * scale
        points = (limits.center + half * shift)[None] + (scale[:, None] * theta).T
        return Scaled(Moves(points, self.period), scale, slope, by_shift)


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
