"""The motion that shows the base parameters best, by one of three measures, by L-BFGS.

C = UᵀU, U the regressor over a period with columns of unit length, eigenvalues λ (Gautier, Khalil 1992; Swevers et al.
1997): "condition" λ_max / λ_min; "D" the volume of the confidence ellipsoid, −Σ log λ; "A" the sum of the variances,
Σ 1/λ. With columns of unit length D and A do not grow with the amplitude as such, so that no parameter in a small unit
counts more than another; amplitudes are as large as the limits allow in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.graph import gradient
from dalembert.loading import function
from dalembert.math.blas import one_blas_thread
from dalembert.progress import Progress

from .base import BaseParameters
from .columns import INERTIAL, Columns
from .series import ExcitingMotion, Family, JointLimits

SAMPLES, ROUGHLY = 120, 60  # instants of a period at which information is counted, to finish and to explore
STEPS, FIRST = 300, 80  # of the optimiser at most, to finish and to explore
SHIFTED = 0.7  # share of the range over which a joint's middle may move
SMALLEST = 0.4  # share of the amplitude allowed by its limits that a joint moves at least
STARTS, FEWEST_STARTS = 32, 2
USUAL_RANK = 90  # base parameters up to which there are all starts: a step costs the cube of their number
FINISHED = 4  # one of so many starts is finished
SHARPNESS = (4, 12, 60)  # the p of the p-norms that stand for the extreme eigenvalues: to explore, to finish


Climbed = tuple[np.ndarray, float]  # theta of a local optimum, and its measure


def best_motion(problem: Information, starts: int | None, rng: np.random.Generator) -> ExcitingMotion:
    """The best of several local optima; starts: None for the usual number, which falls where steps are slow."""
    if starts is None:
        starts = max(FEWEST_STARTS, round(STARTS * min(1.0, USUAL_RANK / len(problem.chosen)) ** 3))
    starts = max(1, starts)
    explore, *finish = SHARPNESS
    shape = (problem.columns.robot.nv, problem.family.size)

    def start() -> np.ndarray:
        return np.column_stack(
            [rng.normal(size=shape), 1.0 + 0.3 * rng.normal(size=shape[0]), 0.3 * rng.normal(size=shape[0])]
        )

    # the sum of variances has many poor optima: those of the volume lie nearer to its good ones
    first = "D" if problem.criterion == "A" else problem.criterion
    scout = Information(problem.base, problem.limits, problem.family, first, ROUGHLY)
    finished = max(1, starts // FINISHED)
    with one_blas_thread(), Progress("optimising the motion", starts + len(finish) * finished) as task:
        done = 0

        def climbed(information: Information, theta: np.ndarray, sharpness: int, most: int) -> Climbed:
            nonlocal done
            task.show(done := done + 1)
            return information.climb(theta, sharpness, most)

        best = [climbed(scout, start(), explore, FIRST) for _ in range(starts)]
        best = sorted(best, key=lambda each: each[1])[:finished]
        for sharpness in finish:
            best = [climbed(problem, theta, sharpness, STEPS) for theta, _ in best]
    return problem.motion(min(best, key=lambda each: each[1])[0])


class Value(NamedTuple):
    """A smooth function that falls with the measure, its slope in theta, and the measure itself."""

    smooth: float
    slope: np.ndarray
    measure: float


class Information:
    """Information about the base parameters as a function of theta (n, size + 2).

    theta: the numbers of a family of motions, and for each joint two that say how much of its amplitude it uses and
    where in its range it moves.
    """

    def __init__(
        self, base: BaseParameters, limits: JointLimits, family: Family, criterion: str = "condition",
        samples: int = SAMPLES,
    ) -> None:  # fmt: skip
        self.base, self.limits, self.family, self.criterion = base, limits, family, criterion
        self.columns: Columns = base.columns
        self.chosen = list(base.independent)
        self.t = (np.arange(samples) + 0.5) * family.period / samples
        self._slopes = _regressor_slopes(self.columns)
        self.maps = family.maps(self.t)

    def motion(self, theta: np.ndarray) -> ExcitingMotion:
        """Within the limits."""
        share, shift = _amplitude(theta[:, -2])[0], SHIFTED * np.tanh(theta[:, -1])
        return self.family.scaled(theta[:, :-2], self.limits, shift, share).motion

    def matrix(self, motion: ExcitingMotion) -> np.ndarray:
        """(T, nv, rank): the regressor of the base parameters over a period."""
        return self._matrix(*(motion.at(self.t, order) for order in range(3)))

    def _matrix(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.columns.matrix(q, v, a)[:, :, self.chosen]

    def condition_of(self, motion: ExcitingMotion) -> float:
        """Condition number with columns scaled to unit length."""
        values = self._singular_values(motion)
        return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf

    def measure(self, motion: ExcitingMotion) -> float:
        """The measure to minimise: the condition number, −Σ log λ or Σ 1/λ."""
        return self._measure(self._singular_values(motion)[::-1] ** 2)

    def _measure(self, values: np.ndarray) -> float:
        """The measure from eigenvalues, smallest first."""
        if not values[0] > 0.0:
            return np.inf
        if self.criterion == "condition":
            return float(np.sqrt(values[-1] / values[0]))
        return float(-np.log(values).sum()) if self.criterion == "D" else float(np.sum(1.0 / values))

    def _singular_values(self, motion: ExcitingMotion) -> np.ndarray:
        """Singular values of the regressor with unit columns, largest first; 0 where a parameter does not show."""
        W = self.matrix(motion).reshape(-1, len(self.chosen))
        size = np.linalg.norm(W, axis=0)
        if np.any(size == 0.0):
            return np.zeros(1)
        return np.asarray(np.linalg.svd(np.linalg.qr(W / size, mode="r"), compute_uv=False))

    def value(self, theta: np.ndarray, sharpness: int) -> Value:
        """A smooth function that falls with the measure, its slope in theta, and the measure."""
        bend = np.tanh(theta[:, -1])
        share, share_slope = _amplitude(theta[:, -2])
        motion, scale, slope, by_shift = self.family.scaled(theta[:, :-2], self.limits, SHIFTED * bend, share)
        states = [motion.at(self.t, order) for order in range(3)]
        W = self._matrix(*states)
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
        slopes = self._slopes(*states, full)
        by_coefficients = sum(g.T @ m for g, m in zip(slopes, self.maps, strict=True))  # (n, size)
        along = np.sum(by_coefficients * theta[:, :-2], axis=1)
        total = scale[:, None] * (by_coefficients + along[:, None] * slope)
        half = 0.5 * (self.limits.upper - self.limits.lower)
        moved = (half * slopes[0].sum(axis=0) + scale * along * by_shift) * SHIFTED * (1.0 - bend**2)
        resized = scale * along * share_slope / share
        return Value(value, np.column_stack([total, resized, moved]), self._measure(values))

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

    def climb(self, theta: np.ndarray, sharpness: int, most: int = STEPS) -> Climbed:
        """A local optimum by L-BFGS, and its measure."""
        theta = _normalized(theta)
        here = self.value(theta, sharpness)
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        best = theta, here.measure
        for _ in range(most):
            step = _direction(here.slope, pairs)
            length = 1.0 if pairs else 0.1 / max(float(np.abs(here.slope).max()), 1e-12)
            for _ in range(12):
                trial = _normalized(theta + length * step)
                there = self.value(trial, sharpness)
                if there.smooth < here.smooth + 1e-4 * length * float(np.vdot(step, here.slope)):
                    break
                length *= 0.4
            else:
                if not pairs:
                    break
                pairs = []
                continue
            s, y = trial - theta, there.slope - here.slope
            if float(np.vdot(s, y)) > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
                pairs = [*pairs[-9:], (s, y)]
            gained = here.smooth - there.smooth
            theta, here = trial, there
            if here.measure < best[1]:
                best = theta, here.measure
            if gained < 1e-4:
                break
        return best


def _amplitude(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of the amplitude that the limits allow, SMALLEST … 1, and its slope in z."""
    half, bend = 0.5 * (1.0 - SMALLEST), np.tanh(z)
    return SMALLEST + half * (1.0 + bend), half * (1.0 - bend**2)


def _normalized(theta: np.ndarray) -> np.ndarray:
    """Coefficients of length 1 per joint, as the motion does not depend on it; the last two columns stay."""
    length = np.linalg.norm(theta[:, :-2], axis=1)[:, None]
    return np.column_stack([theta[:, :-2] / length, theta[:, -2:]])


def _direction(slope: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """L-BFGS direction from pairs (step, change of slope)."""
    d, factors = -slope, []
    for s, y in reversed(pairs):
        a = float(np.vdot(s, d)) / float(np.vdot(s, y))
        d = d - a * y
        factors.append(a)
    if pairs:
        s, y = pairs[-1]
        d = d * (float(np.vdot(s, y)) / float(np.vdot(y, y)))
    for (s, y), a in zip(pairs, reversed(factors), strict=True):
        d = d + (a - float(np.vdot(y, d)) / float(np.vdot(s, y))) * s
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
