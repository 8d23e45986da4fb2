"""Rates by differences along the motion of a robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.model import Model

STEP = 5e-4  # sixth order: truncation (ω·STEP)⁶ up to ω = 50 rad/s, and round-off eps/STEP, are both below RATE
RATE = 1e-9  # relative accuracy of `rate` for random trees at velocities of order 1
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def rate(f: Callable[[float], Any]) -> Any:
    """df/dt at t = 0 by central differences of sixth order."""
    return sum(w * (f(k * STEP) - f(-k * STEP)) for k, w in WEIGHTS.items()) / STEP


def directions(rng: np.random.Generator, n: int, count: int = 3) -> np.ndarray:
    """(n, count): directions that move every coordinate, half as fast as a unit vector moves one, or up to as fast.

    A derivative is compared along a few of them: a wrong entry anywhere shows, for a fraction of what all columns cost.
    """
    return rng.choice([-1.0, 1.0], (n, count)) * rng.uniform(0.5, 1.0, (n, count))


def rates(f: Callable[[np.ndarray], Any], D: np.ndarray) -> np.ndarray:
    """df(t d)/dt at t = 0 for every column d of D, along the last axis."""
    return np.stack([rate(lambda t, d=d: f(t * d)) for d in D.T], axis=-1)


def moved(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, v) at time t on a motion that has the velocity v and the acceleration a at t = 0."""
    return integrate(model, q, t * v + 0.5 * t * t * a), v + t * a
