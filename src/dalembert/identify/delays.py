"""The delay of a log's torques behind its motion.

Torque τ(t) = y(t − d) of a model y = W x: Gauss-Newton on x and d together. For the current d the torques are shifted
back, x is fitted, and the residual's projection on the rate of y is what d still lacks. Each joint gets an estimate of
its own; torques that come through one bus and one filter share one delay, which is their mean, each by its certainty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.logs import Trajectory
from dalembert.math.blas import one_blas_thread
from dalembert.robot import Robot

from .columns import Columns, columns
from .compression import Samples, compress
from .fitted import Log
from .least_squares import independent_pieces, jackknife, weighted

ITERATIONS = 12
SETTLED = 1e-3  # of a sample
LONGEST = 0.1  # [s]: beyond this a log has more wrong with it than a delay
NOTABLE, SURE, WORTH = 1e-3, 4.0, 0.02  # [s], standard deviations, share of the residual: of a delay worth correcting


@dataclass(frozen=True)
class Delays:
    """common [s]: how much later than the motion all torques are, deviation [s], standard.

    explained: share of what the model leaves over that this delay explains. joints, each (nv,), each_deviation (nv,):
    the same joint by joint; friction of another law than the model's looks like a delay, so that a single joint that
    lags more than the others hardly means its channel.
    """

    common: float
    deviation: float
    explained: float
    joints: tuple[str, ...]
    each: np.ndarray
    each_deviation: np.ndarray

    @property
    def notable(self) -> bool:
        """Whether it is worth correcting: above 1 ms, beyond chance, and explaining some of the residual."""
        return bool(abs(self.common) > max(NOTABLE, SURE * self.deviation) and self.explained > WORTH)

    def aligned(self, log: Log, *, each: bool = False) -> Trajectory:
        """The log with its torques where they belong, by the common delay or each by its own.

        Samples at the ends that then have no torque are dropped.
        """
        if log.tau is None:
            raise DalembertError("aligned: the log has no torques")
        seconds = self.each if each else np.full(len(self.joints), self.common)
        t, tau = np.asarray(log.t, float), np.asarray(log.tau, float)
        kept = np.flatnonzero(_covered(t, seconds))
        said = f"{self.common * 1e3:.2f} ms" if not each else ", ".join(f"{1e3 * s:.2f} ms" for s in self.each)
        return Trajectory(
            t[kept] - t[kept[0]],
            np.asarray(log.q)[kept],
            np.asarray(log.v)[kept],
            np.asarray(log.a)[kept],
            _earlier(t, tau, seconds)[kept],
            (*getattr(log, "log", ()), f"torques are shifted back by {said}"),
            getattr(log, "title", ""),
        )

    def __str__(self) -> str:
        single = ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in zip(self.joints, self.each, strict=True))
        return f"{1e3 * self.common:.2f} ± {1e3 * self.deviation:.2f} ms (joint by joint: {single})"


@one_blas_thread()
def delays(
    robot: Robot, log: Log, *, friction: Iterable[str] = ("viscous", "coulomb", "offset"), rotor: bool = False
) -> Delays:
    """The delay of a log's torques behind its motion, for all joints together and for each; negative: earlier.

    friction, rotor: terms of the model, as of `fit`. Torques that are NaN are left out.
    """
    if log.tau is None:
        raise DalembertError("delays: the log has no torques")
    if len(log.t) < 20:
        raise DalembertError(f"delays: expected 20 samples or more, got {len(log.t)}")
    shifts = _Shifts(columns(robot, friction, rotor), log)
    each = np.zeros(robot.nv)
    for _ in range(ITERATIONS):
        modelled, residual = shifts.at(each)
        rate = np.gradient(modelled, shifts.t, axis=0)
        strength = np.maximum(np.sum(rate**2, axis=0), 1e-300)
        missing = -np.sum(rate * residual, axis=0) / strength
        each = np.clip(each + missing, -LONGEST, LONGEST)
        if np.abs(missing).max(initial=0.0) < SETTLED * shifts.step:
            break
    deviation = np.empty(robot.nv)
    for j in range(robot.nv):
        left = residual[:, j : j + 1]
        pieces = [(rate[at, j : j + 1, None], left[at]) for at in independent_pieces(left)]
        variance = jackknife(np.array([[strength[j]]]), pieces)
        deviation[j] = np.sqrt(variance[0, 0]) if abs(each[j]) < LONGEST else np.inf
    certainty = 1.0 / np.maximum(deviation, 1e-9) ** 2
    common = float(certainty @ each / max(certainty.sum(), 1e-300))
    before, after = (shifts.left_over(seconds) for seconds in (0.0, common))
    explained = 1.0 - after / before if before > 0.0 else 0.0
    spread = float(np.sqrt(certainty @ (each - common) ** 2 / max(certainty.sum(), 1e-300) / max(robot.nv - 1, 1)))
    error = max(spread, float(1.0 / np.sqrt(max(certainty.sum(), 1e-300))))
    return Delays(common, error, explained, robot.model.freedom_names, each, deviation)


class _Shifts:
    """A log whose torques are shifted, and what a model fitted to it leaves over."""

    def __init__(self, parameters: Columns, log: Log) -> None:
        self.parameters, self.t = parameters, np.asarray(log.t, float)
        self.q, self.v, self.a, self.tau = (np.asarray(x, float) for x in (log.q, log.v, log.a, log.tau))
        self.step = float(np.median(np.diff(self.t)))
        self.W = parameters.matrix(self.q, self.v, self.a)
        self.known = parameters.known(self.q, self.v, self.a)

    def at(self, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Modelled torques (T, nv) and residuals, 0 where there is no torque, with each shifted by its seconds."""
        shifted = np.where(_covered(self.t, seconds)[:, None], _earlier(self.t, self.tau, seconds), np.nan)
        data = compress(self.parameters, [Samples(self.q, self.v, self.a, shifted)])
        x, _ = weighted(data, self.parameters.prior())
        modelled = self.W @ x + self.known
        return modelled, np.nan_to_num(shifted - modelled)

    def left_over(self, seconds: float) -> float:
        """Root mean square of the residual of all torques."""
        return float(np.sqrt(np.mean(self.at(np.full(self.tau.shape[1], seconds))[1] ** 2)))


def _earlier(t: np.ndarray, tau: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """tau(t + seconds), by straight lines between samples."""
    return np.column_stack([np.interp(t + s, t, column) for s, column in zip(seconds, tau.T, strict=True)])


def _covered(t: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """(T,): where every joint has a torque after the shift."""
    return np.asarray((t + seconds.min(initial=0.0) >= t[0]) & (t + seconds.max(initial=0.0) <= t[-1]))
