"""Rates by differences along the motion of a robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algorithms import integrate
from dalembert.model import Model

STEP = 5e-4  # sixth order: truncation (ω·STEP)⁶ up to ω = 50 rad/s, and round-off eps/STEP, are both below RATE
RATE = 1e-9  # relative accuracy of `rate` for random trees at velocities of order 1
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def rate(f: Callable[[float], Any]) -> Any:
    """df/dt at t = 0 by central differences of sixth order."""
    return sum(w * (f(k * STEP) - f(-k * STEP)) for k, w in WEIGHTS.items()) / STEP


def moved(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, v) at time t on a motion that has the velocity v and the acceleration a at t = 0."""
    return integrate(model, q, t * v + 0.5 * t * t * a), v + t * a
