"""Gaits: which feet stand when, where they step, and how they swing there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import clip, floor, where
from dalembert.motion import PolynomialMotion, spline

GRAVITY = 9.81  # m/s²


@dataclass(frozen=True)
class Gait:
    """A clock of steps: foot k stands from offsets[k] · period on, for the share `duty` of the period [s]; repeated."""

    period: float
    duty: float
    offsets: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0.0 < self.period < np.inf:
            raise DalembertError(f"gait: period is {self.period!r}, expected a time above 0 [s]")
        if not 0.0 < self.duty <= 1.0:
            raise DalembertError(f"gait: duty is {self.duty!r}, expected the share of standing, above 0 and at most 1")
        if not self.offsets:
            raise DalembertError("gait: there are no feet: give an offset for each")

    @property
    def stance(self) -> float:
        """How long a foot stands [s]."""
        return self.duty * self.period

    @property
    def swing(self) -> float:
        """How long a foot is in the air [s]."""
        return self.period - self.stance

    def _periods(self, t: Any) -> np.ndarray:
        """Periods (…, k) since the clock began for each foot."""
        return np.asarray(t)[..., None] / self.period - np.array(self.offsets) + 1e-9

    def count(self, t: Any) -> np.ndarray:
        """How often (…, k) each foot has come down, at t (…) [s], which may be traced."""
        return _floor(self._periods(t))

    def phase(self, t: Any) -> np.ndarray:
        """Share (…, k) of the period that has passed since each foot came down, at t (…) [s], which may be traced."""
        x = self._periods(t)
        return x - _floor(x)

    def stands(self, t: Any) -> np.ndarray:
        """Whether each foot stands (…, k), at t (…) [s]."""
        return self.phase(t) < self.duty

    def standing(self, t: Any) -> np.ndarray:
        """1 for each foot that stands, else 0 (…, k), at t (…) [s], which may be traced."""
        phase = self.phase(t)
        return _each(lambda x: where(x < self.duty, 1.0, 0.0), phase)

    def swung(self, t: Any) -> np.ndarray:
        """Share (…, k) of its swing that a foot has behind it, at t (…) [s], which may be traced; 0 where it stands."""
        if self.duty == 1.0:
            return 0.0 * self.phase(t)
        return _each(lambda x: clip(x, 0.0, 1.0), (self.phase(t) - self.duty) / (1.0 - self.duty))

    def schedule(self, t: float, nodes: int, step: float) -> np.ndarray:
        """Which feet stand (nodes, k) at the begin of each of the next intervals of `step` [s]."""
        return self.stands(t + step * np.arange(nodes))

    def foreseen(
        self, t: float, nodes: int, step: float, feet: Any, hips: Any, velocity: Any, wanted: Any, height: float
    ) -> np.ndarray:
        """Places (nodes, k, 3) of the feet during the next intervals, for `centroidal`.

        A foot that stands stays at feet (k, 3) until it lifts; after that it is where `footstep` sets it down, seen
        from hips (k, 3) that move on at the velocity (3,).
        """
        begins = t + step * np.arange(nodes)
        count = np.floor(begins[:, None] / self.period - np.array(self.offsets) + 1e-9)
        now = np.floor(t / self.period - np.array(self.offsets) + 1e-9)
        places = np.repeat(np.asarray(feet, float)[None], nodes, axis=0)
        standing = self.stands(t)
        for node, foot in np.argwhere((count > now) | ~standing):
            landing = (count[node, foot] + self.offsets[foot]) * self.period
            hip = np.asarray(hips, float)[foot] + np.asarray(velocity, float) * (landing - t)
            places[node, foot] = footstep(hip, velocity, wanted, self.stance, height)
        return places


def _floor(x: np.ndarray) -> np.ndarray:
    return _each(floor, x)


def _each(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """A function of numbers, or of traced scalars one by one."""
    if x.dtype != object:
        return np.asarray(function(x), float)
    return np.array([function(entry) for entry in x.ravel()], object).reshape(x.shape)


def ease(share: Any) -> tuple[Any, Any, Any]:
    """From 0 to 1 with least jerk, at rest at both ends: value, slope and curvature at a share 0 … 1 of the way."""
    left = 1.0 - share
    value = share * share * share * (10.0 - 15.0 * share + 6.0 * share * share)
    return value, 30.0 * share * share * left * left, 60.0 * share * left * (left - share)


def lift(share: Any) -> tuple[Any, Any, Any]:
    """From 0 up to 1 in the middle and back to 0, at rest at both ends: value, slope and curvature, as `ease`."""
    u, tilt = share * (1.0 - share), 1.0 - 2.0 * share
    return 64.0 * u * u * u, 192.0 * u * u * tilt, 384.0 * u * (tilt * tilt - u)


def trot(period: float = 0.3, duty: float = 0.5) -> Gait:
    """Diagonal feet together: front left, front right, hind left, hind right."""
    return Gait(period, duty, (0.0, 0.5, 0.5, 0.0))


def walk(period: float = 0.8, duty: float = 0.75) -> Gait:
    """One foot after the other: front left, front right, hind left, hind right."""
    return Gait(period, duty, (0.0, 0.5, 0.75, 0.25))


def stand(feet: int = 4) -> Gait:
    """All feet on the ground."""
    return Gait(1.0, 1.0, (0.0,) * feet)


def footstep(hip: Any, velocity: Any, wanted: Any, stance: float, height: float, ground: float = 0.0) -> np.ndarray:
    """Where a foot should come down (3,) [m]: Raibert's rule with the capture point's correction.

    hip (3,): where the hip will be then; velocity, wanted (3,): of the body, and what is asked for [m/s]; stance [s];
    height [m] of the hip: half of what the body moves during the stance, and √(height/g) of the error.
    """
    v, goal = np.asarray(velocity, float), np.asarray(wanted, float)
    place = np.asarray(hip, float) + 0.5 * stance * v + np.sqrt(height / GRAVITY) * (v - goal)
    return np.array([place[0], place[1], ground])


def swing(start: Any, end: Any, clearance: float = 0.06, duration: float = 0.25) -> PolynomialMotion:
    """The way of a foot (x, y, z) from the ground to the ground: least jerk, at rest at both ends.

    clearance [m]: of the middle above the higher end; duration [s].
    """
    first, last = np.asarray(start, float), np.asarray(end, float)
    if first.shape != (3,) or last.shape != (3,):
        raise DalembertError(f"swing: start has shape {first.shape} and end {last.shape}, expected (3,) each")
    top = 0.5 * (first + last)
    top[2] = max(first[2], last[2]) + clearance
    return spline([first, top, last], [0.0, 0.5 * duration, duration])
