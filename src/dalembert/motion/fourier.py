"""Periodic motions: finite Fourier series of every joint, with exact rates and extremes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.compiler.execute import is_traced, real_array
from dalembert.errors import DalembertError
from dalembert.math import clip, cos, logical_and, sin, where
from dalembert.robot import Robot

from .manifold import Displaced
from .motion import Motion
from .points import configuration, positive
from .polynomials import Extremes, times_of

ON_CIRCLE = 1e-6  # how far a root may be from the unit circle and count as an instant


@dataclass(frozen=True)
class Series:
    """q_j(t) = center_j + Σ_k [A_jk sin(k ω t) + B_jk cos(k ω t)] / (k ω), with ω = 2π / period.

    center (n,) [rad or m]; A, B (n, harmonics): amplitudes of the velocity [rad/s or m/s]; period [s].
    """

    center: np.ndarray
    A: np.ndarray
    B: np.ndarray
    period: float

    @property
    def frequencies(self) -> np.ndarray:
        """k ω (harmonics,) [rad/s]"""
        return 2.0 * np.pi / self.period * np.arange(1, self.A.shape[1] + 1)

    def amplitudes(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Amplitudes of the sines and cosines (n, harmonics) of a time derivative."""
        scale = self.frequencies ** (order - 1)
        A, B = self.A * scale, self.B * scale
        return ((A, B), (-B, A), (-A, -B), (B, -A))[order % 4]

    def at(self, t: Any, order: int = 0) -> np.ndarray:
        phase = np.multiply.outer(t if is_traced(t) else times_of(t), self.frequencies)
        A, B = self.amplitudes(order)
        x = sin(phase) @ A.T + cos(phase) @ B.T
        return x + self.center if order == 0 else x

    def drawn_in(self, factor: float, shift: Any = 0.0) -> Series:
        """The same motion, smaller about its centre, which moves by shift (n,)."""
        return replace(self, center=self.center + shift, A=factor * self.A, B=factor * self.B)


class FourierMotion(Motion):
    """A periodic motion over a number of periods; before and after, the ends are held."""

    def __init__(
        self, series: Series, periods: float = 1.0, robot: Robot | None = None, title: str = "fourier"
    ) -> None:
        self.series, self.robot, self.title = series, robot, title
        self.duration = float(series.period * periods)

    def __repr__(self) -> str:
        return f"<Motion {self.title!r}: {self.duration:.6g} s, {self.nv} freedoms, period {self.series.period:.6g} s>"

    @property
    def nv(self) -> int:
        return len(self.series.center)

    def at(self, t: Any) -> Displaced:
        inside = clip(t, 0.0, self.duration)
        q, v, a = (self.series.at(inside, order) for order in range(3))
        if is_traced(t):
            if isinstance(t, np.ndarray) and t.ndim:
                raise DalembertError("motion: a traced time must be one number")
            within = logical_and(t >= 0.0, t <= self.duration)
            v, a = (np.array([where(within, x, 0.0) for x in rate], object) for rate in (v, a))
        else:
            t = np.asarray(t, float)
            within = ((t >= 0.0) & (t <= self.duration))[..., None]
            v, a = np.where(within, v, 0.0), np.where(within, a, 0.0)
        return Displaced(q, v, a)

    def extremes(self, order: int = 0) -> Extremes:
        extremes = [self._extremes(j, order) for j in range(self.nv)]
        return Extremes(*(np.array(x) for x in zip(*extremes, strict=True)))

    def _extremes(self, j: int, order: int) -> tuple[float, float, float, float]:
        """Extremes of one joint: where the next derivative, a polynomial in z = exp(i ω t), has unit roots."""
        one = replace(
            self.series, center=self.series.center[j : j + 1], A=self.series.A[j : j + 1], B=self.series.B[j : j + 1]
        )
        sines, cosines = (x[0] for x in one.amplitudes(order + 1))
        half = 0.5 * (cosines - 1j * sines)
        roots = np.roots(np.concatenate([half[::-1], [0.0], half.conj()]))
        on = roots[np.abs(np.abs(roots) - 1.0) < ON_CIRCLE]
        first = np.mod(np.angle(on), 2.0 * np.pi) / (2.0 * np.pi) * one.period
        turns = np.arange(np.ceil(self.duration / one.period))
        t = np.concatenate([[0.0, self.duration], (first[:, None] + turns * one.period).ravel()])
        t = t[t <= self.duration]
        values = one.at(t, order)[:, 0]
        low, high = int(np.argmin(values)), int(np.argmax(values))
        return float(values[low]), float(t[low]), float(values[high]), float(t[high])

    def slower(self, factor: float) -> FourierMotion:
        factor = positive("slower", "factor", factor, "a number")
        s = self.series
        stretched = Series(s.center, s.A / factor, s.B / factor, s.period * factor)
        return FourierMotion(stretched, self.duration / s.period, self.robot, self.title)


def fourier(
    center: Any, A: Any, B: Any, period: float, *, periods: float = 1.0, robot: Robot | None = None
) -> FourierMotion:
    """center + Σ_k [A_k sin(k ω t) + B_k cos(k ω t)] / (k ω) of every joint, with ω = 2π / period.

    center (n,) [rad or m]; A, B (n, harmonics): amplitudes of the velocity of each harmonic [rad/s or m/s]; period [s];
    periods: how often it is repeated. It does not begin at rest.
    """
    middle = configuration("fourier", "center", center, robot)
    if robot is not None and not robot.model.flat:
        raise DalembertError(
            f"fourier: robot {robot.name!r} has quaternions, and no series of angles: lock their joints"
        )
    sizes = []
    for name, x in (("A", A), ("B", B)):
        values = np.atleast_2d(real_array(f"fourier: {name}", x, "expected (n, harmonics)").astype(float))
        if values.ndim != 2 or len(values) != len(middle) or not values.shape[1] or not np.all(np.isfinite(values)):
            raise DalembertError(
                f"fourier: {name} has shape {values.shape}, expected finite numbers ({len(middle)}, harmonics)"
            )
        sizes.append(values)
    if sizes[0].shape != sizes[1].shape:
        raise DalembertError(f"fourier: A has shape {sizes[0].shape} and B {sizes[1].shape}, expected the same")
    series = Series(middle, sizes[0], sizes[1], positive("fourier", "period", period, "a time [s]"))
    return FourierMotion(series, positive("fourier", "periods", periods, "a number"), robot)
