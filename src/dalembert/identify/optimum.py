"""The motion that shows the base parameters best, by one of three measures, by L-BFGS.

C = UᵀU, U the regressor over a period with columns of unit length, eigenvalues λ (Gautier, Khalil 1992; Swevers et al.
1997): "condition" λ_max / λ_min; "D" the volume of the confidence ellipsoid, −Σ log λ; "A" the sum of the variances,
Σ 1/λ. With columns of unit length D and A do not grow with the amplitude as such, so that no parameter in a small unit
counts more than another; amplitudes are as large as the limits allow in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.graph import gradient
from dalembert.loading import function

from .base import BaseParameters
from .columns import INERTIAL, Columns
from .series import Family, Limits, Motion

SAMPLES = 240  # instants of a period at which information is counted
STEPS = 300  # of the optimiser at most
SHIFTED = 0.7  # share of the range over which a joint's middle may move
FINISHED = 4  # of the starts, those that are finished
SHARPNESS = (4, 24)  # the p of the p-norms that stand for the extreme eigenvalues: to explore, to finish


def best_motion(problem: Information, starts: int, rng: np.random.Generator) -> Motion:
    """The best of several local optima."""
    size = problem.family.size
    spread = np.append(np.ones(size), 0.3)
    explore, finish = SHARPNESS
    nv = problem.columns.robot.nv
    climbed = [problem.climb(rng.normal(size=(nv, size + 1)) * spread, explore) for _ in range(starts)]
    promising = sorted(climbed, key=lambda each: each[1])[:FINISHED]
    best, _ = min((problem.climb(theta, finish) for theta, _ in promising), key=lambda each: each[1])
    return problem.motion(best)


class Information:
    """Information about the base parameters as a function of theta, the numbers of a family of motions."""

    def __init__(self, base: BaseParameters, limits: Limits, family: Family, criterion: str = "condition") -> None:
        self.base, self.limits, self.family, self.criterion = base, limits, family, criterion
        self.columns: Columns = base.columns
        self.chosen = list(base.independent)
        self.t = (np.arange(SAMPLES) + 0.5) * family.period / SAMPLES
        self._slopes = _regressor_slopes(self.columns)
        self.maps = family.maps(self.t)

    def motion(self, theta: np.ndarray) -> Motion:
        """Within the limits."""
        return self.family.scaled(theta[:, :-1], self.limits, SHIFTED * np.tanh(theta[:, -1])).motion

    def matrix(self, motion: Motion) -> np.ndarray:
        """(T, nv, rank): the regressor of the base parameters over a period."""
        W = self.columns.matrix(*(motion.at(self.t, order) for order in range(3)))
        return W[:, :, self.chosen]

    def condition_of(self, motion: Motion) -> float:
        """Condition number with columns scaled to unit length."""
        values = self._singular_values(motion)
        return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf

    def measure(self, motion: Motion) -> float:
        """The measure to minimise: the condition number, −Σ log λ or Σ 1/λ."""
        values = self._singular_values(motion)
        if not values[-1] > 0.0:
            return np.inf
        if self.criterion == "condition":
            return float(values[0] / values[-1])
        return float(-2.0 * np.log(values).sum()) if self.criterion == "D" else float(np.sum(values**-2.0))

    def _singular_values(self, motion: Motion) -> np.ndarray:
        """Singular values of the regressor with unit columns, largest first; 0 where a parameter does not show."""
        W = self.matrix(motion).reshape(-1, len(self.chosen))
        size = np.linalg.norm(W, axis=0)
        if np.any(size == 0.0):
            return np.zeros(1)
        return np.asarray(np.linalg.svd(np.linalg.qr(W / size, mode="r"), compute_uv=False))

    def value(self, theta: np.ndarray, sharpness: int) -> tuple[float, np.ndarray]:
        """A smooth function that falls with the measure, and its slope in theta."""
        bend = np.tanh(theta[:, -1])
        motion, scale, slope, by_shift = self.family.scaled(theta[:, :-1], self.limits, SHIFTED * bend)
        W = self.matrix(motion)
        flat = W.reshape(-1, len(self.chosen))
        size = np.linalg.norm(flat, axis=0)
        size[size == 0.0] = 1.0
        unit = flat / size
        values, vectors = np.linalg.eigh(unit.T @ unit)
        value, weights = self._of_eigenvalues(np.maximum(values, 1e-12), sharpness)
        # of a function of C = UᵀU with slope D: 2 U D dU, dU = (dW − U diag(Uᵀ dW)) / size
        pull = 2.0 * unit @ ((vectors * weights) @ vectors.T) / size
        pull -= unit * np.sum(unit * pull, axis=0)
        full = np.zeros((*W.shape[:2], self.columns.size))
        full[:, :, self.chosen] = pull.reshape(W.shape)
        states = [motion.at(self.t, order) for order in range(3)]
        slopes = self._slopes(*states, full)
        by_coefficients = sum(g.T @ m for g, m in zip(slopes, self.maps, strict=True))  # (n, size)
        along = np.sum(by_coefficients * theta[:, :-1], axis=1)
        total = scale[:, None] * (by_coefficients + along[:, None] * slope)
        half = 0.5 * (self.limits.upper - self.limits.lower)
        moved = (half * slopes[0].sum(axis=0) + scale * along * by_shift) * SHIFTED * (1.0 - bend**2)
        return value, np.column_stack([total, moved])

    def _of_eigenvalues(self, values: np.ndarray, sharpness: int) -> tuple[float, np.ndarray]:
        """The function of the eigenvalues, smallest first, and its slope in each.

        For the condition number p-norms stand for the extreme ones; for "A" its logarithm, which is better scaled.
        """
        if self.criterion == "D":
            return float(-np.log(values).sum()), -1.0 / values
        if self.criterion == "A":
            count, total = len(values), float(np.sum(1.0 / values))
            return count * float(np.log(total)), -count / (total * values**2)
        low, high = values[0] / values, values / values[-1]  # near 0 … 1, so that powers stay finite
        lows, highs = np.sum(low**sharpness), np.sum(high**sharpness)
        value = np.log(values[-1] / values[0]) + (np.log(lows) + np.log(highs)) / sharpness
        return float(value), (high**sharpness / highs - low**sharpness / lows) / values

    def climb(self, theta: np.ndarray, sharpness: int) -> tuple[np.ndarray, float]:
        """A local optimum by L-BFGS, and its measure."""
        theta = _normalized(theta)
        value, slope = self.value(theta, sharpness)
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        best = theta, self.measure(self.motion(theta))
        for _ in range(STEPS):
            step = _direction(slope, pairs)
            length = 1.0 if pairs else 0.1 / max(float(np.abs(slope).max()), 1e-12)
            for _ in range(12):
                trial = _normalized(theta + length * step)
                trial_value, trial_slope = self.value(trial, sharpness)
                if trial_value < value + 1e-4 * length * float(np.sum(step * slope)):
                    break
                length *= 0.4
            else:
                if not pairs:
                    break
                pairs = []
                continue
            s, y = trial - theta, trial_slope - slope
            if float(np.sum(s * y)) > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
                pairs = [*pairs[-9:], (s, y)]
            gained = value - trial_value
            theta, value, slope = trial, trial_value, trial_slope
            measure = self.measure(self.motion(theta))
            if measure < best[1]:
                best = theta, measure
            if gained < 1e-4:
                break
        return best


def _normalized(theta: np.ndarray) -> np.ndarray:
    """Coefficients of length 1 per joint, as the motion does not depend on it; the last column is the shift."""
    length = np.linalg.norm(theta[:, :-1], axis=1)[:, None]
    return np.column_stack([theta[:, :-1] / length, theta[:, -1]])


def _direction(slope: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """L-BFGS direction from pairs (step, change of slope)."""
    d, factors = -slope, []
    for s, y in reversed(pairs):
        a = float(np.sum(s * d)) / float(np.sum(s * y))
        d = d - a * y
        factors.append(a)
    if pairs:
        s, y = pairs[-1]
        d = d * (float(np.sum(s * y)) / float(np.sum(y * y)))
    for (s, y), a in zip(pairs, reversed(factors), strict=True):
        d = d + (a - float(np.sum(y * d)) / float(np.sum(s * y))) * s
    return d


def _regressor_slopes(parameters: Columns) -> Callable[..., list[np.ndarray]]:
    """(q, v, a, G (T, nv, size)) → slopes of Σ G W in q, v, a, each (T, nv)."""
    robot = parameters.robot
    nv, count = robot.nv, len(INERTIAL) * len(robot.model.bodies)

    def information(q: Any, v: Any, a: Any, G: Any) -> Any:
        Y = robot.regressor(q, v, a)
        total = sum((g * y for g, y in zip(G, Y.ravel(), strict=True)), 0.0)
        return gradient(total, np.concatenate([q, v, a]))

    compiled = function(information, robot, G=nv * count)

    def slopes(q: np.ndarray, v: np.ndarray, a: np.ndarray, G: np.ndarray) -> list[np.ndarray]:
        inertial = np.zeros((len(q), nv, count // len(INERTIAL), len(INERTIAL)))
        inertial[:, :, list(parameters.bodies)] = G[:, :, : parameters.inertial].reshape(len(q), nv, -1, len(INERTIAL))
        flat = compiled(q, v, a, inertial.reshape(len(q), -1))
        dq, dv, da = (flat[:, k * nv : (k + 1) * nv].copy() for k in range(3))
        at = np.arange(nv)
        for name in parameters.terms:
            weight = G[:, at, parameters.inertial + parameters.terms.index(name) * nv + at]
            if name == "viscous":
                dv += weight
            elif name == "rotor":
                da += weight
            elif name == "spring":
                dq += weight  # sgn and constants have no slope
        return [dq, dv, da]

    return slopes
