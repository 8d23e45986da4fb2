"""Small motions for tests of control: smooth, with analytic rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import math


@dataclass(frozen=True)
class Wave:
    """q = middle + amplitude (1 − cos(w t)): starts at rest."""

    middle: Any
    amplitude: Any
    w: float

    def q(self, t: Any) -> np.ndarray:
        return np.asarray(self.middle) + np.asarray(self.amplitude) * (1.0 - math.cos(self.w * t))

    def v(self, t: Any) -> np.ndarray:
        return np.asarray(self.amplitude) * self.w * math.sin(self.w * t)

    def a(self, t: Any) -> np.ndarray:
        return np.asarray(self.amplitude) * self.w**2 * math.cos(self.w * t)


@dataclass(frozen=True)
class Spin:
    """A ball joint that turns about x, y, z at once: q = exp(s(t) axis), s = rate (t − sin t)."""

    axis: Any
    rate: float

    def q(self, t: Any) -> np.ndarray:
        half = 0.5 * self.rate * (t - math.sin(t))
        return np.array([math.cos(half), *(np.asarray(self.axis) * math.sin(half))])

    def v(self, t: Any) -> np.ndarray:
        return np.asarray(self.axis) * self.rate * (1.0 - math.cos(t))

    def a(self, t: Any) -> np.ndarray:
        return np.asarray(self.axis) * self.rate * math.sin(t)
