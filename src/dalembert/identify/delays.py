"""How much later than the motion the torques of a log are, joint by joint.

Torque τ(t) = y(t − d) of a model y = W x: Gauss-Newton on x and d together. For the current d the torques are shifted
back, x is fitted, and the residual's projection on the rate of y is what d still lacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.logs import Trajectory
from dalembert.robot import Robot

from .columns import columns
from .compression import Samples, compress
from .fit import Log
from .least_squares import sandwich, weighted

ITERATIONS = 12
SETTLED = 1e-3  # of a sample
LONGEST = 0.1  # [s]: beyond this a log has more wrong with it than a delay


@dataclass(frozen=True)
class Delays:
    """joints; seconds (nv,): how much later than the motion each torque is; deviation (nv,) [s], standard."""

    joints: tuple[str, ...]
    seconds: np.ndarray
    deviation: np.ndarray

    def aligned(self, log: Log) -> Trajectory:
        """The log with its torques where they belong; samples at the ends that have none are dropped."""
        if log.tau is None:
            raise DalembertError("aligned: the log has no torques")
        t, tau = np.asarray(log.t, float), np.asarray(log.tau, float)
        kept = np.flatnonzero(_covered(t, self.seconds))
        return Trajectory(
            t[kept] - t[kept[0]],
            np.asarray(log.q)[kept],
            np.asarray(log.v)[kept],
            np.asarray(log.a)[kept],
            _earlier(t, tau, self.seconds)[kept],
            (*getattr(log, "log", ()), f"torques are shifted back by {self}"),
            getattr(log, "title", ""),
        )

    def __str__(self) -> str:
        return ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in zip(self.joints, self.seconds, strict=True))


def delays(
    robot: Robot, log: Log, *, friction: Iterable[str] = ("viscous", "coulomb", "offset"), rotor: bool = False
) -> Delays:
    """How much later than the motion the torques of a log are, joint by joint; negative: earlier.

    friction, rotor: terms of the model, as of `fit`. A joint whose torque hardly changes has a large
    deviation; torques that are NaN are left out.
    """
    if log.tau is None:
        raise DalembertError("delays: the log has no torques")
    parameters = columns(robot, friction, rotor)
    t = np.asarray(log.t, float)
    q, v, a, tau = (np.asarray(x, float) for x in (log.q, log.v, log.a, log.tau))
    if len(t) < 20:
        raise DalembertError(f"delays: expected 20 samples or more, got {len(t)}")
    step = float(np.median(np.diff(t)))
    W, known = parameters.matrix(q, v, a), parameters.known(q, v, a)
    seconds = np.zeros(robot.nv)
    for _ in range(ITERATIONS):
        shifted = np.where(_covered(t, seconds)[:, None], _earlier(t, tau, seconds), np.nan)
        x, _ = weighted(compress(parameters, [Samples(q, v, a, shifted)]), parameters.prior())
        modelled = W @ x + known
        residual = np.nan_to_num(shifted - modelled)
        rate = np.gradient(modelled, t, axis=0)
        strength = np.maximum(np.sum(rate**2, axis=0), 1e-300)
        missing = -np.sum(rate * residual, axis=0) / strength
        seconds = np.clip(seconds + missing, -LONGEST, LONGEST)
        if np.abs(missing).max(initial=0.0) < SETTLED * step:
            break
    deviation = np.empty(robot.nv)
    for j in range(robot.nv):
        slopes, left = (rate[:, j : j + 1] * residual[:, j : j + 1]), residual[:, j : j + 1]
        deviation[j] = np.sqrt(sandwich(np.array([[1.0 / strength[j]]]), [(slopes, left)], len(t))[0, 0])
    return Delays(robot.model.freedom_names, seconds, deviation)


def _earlier(t: np.ndarray, tau: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """tau(t + seconds), by straight lines between samples."""
    return np.column_stack([np.interp(t + s, t, column) for s, column in zip(seconds, tau.T, strict=True)])


def _covered(t: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """(T,): where every joint has a torque after the shift."""
    return np.asarray((t + seconds.min(initial=0.0) >= t[0]) & (t + seconds.max(initial=0.0) <= t[-1]))
