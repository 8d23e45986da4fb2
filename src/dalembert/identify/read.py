"""Logs for identification: a motion with torques, filtered with the bandwidth that predicts torques best.

A model is fitted to half of the log and judged by the other half, for each bandwidth. This needs no law of the noise:
encoders, resolvers, filters and interpolation leave noise of every colour, which positions alone do not tell from
motion.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dalembert import logs
from dalembert.errors import DalembertError
from dalembert.logs import Log, Sensors, Trajectory, local_noise, trajectory
from dalembert.math.blas import one_blas_thread
from dalembert.progress import Progress
from dalembert.robot import Robot

from .columns import Columns, columns
from .compression import Samples, compress
from .least_squares import weighted

RATE = 400.0  # [Hz] to which a log is averaged for the choice
LOWEST, HIGHEST, FINER = (
    1.0,
    100.0,
    2.0**0.5,
)  # [Hz]: tried by factors of 2, then beside the best
PARTS = 10  # of a log, every other of which judges
ROWS = 2000  # of a log that are looked at
BETTER = 0.97  # residual relative to that of the first choice, below which another is taken
NOISY = 0.05  # noise of measured accelerations, relative to them, from which on they are doubted
FEWEST = 200  # rows of a log that can judge


@one_blas_thread()
def best_trajectory(log: Log) -> Trajectory:
    """The motion of a log with torques, with the bandwidth that predicts torques best, and a note on the choice."""
    if log.tau is None or log.robot.model.closures or len(log.t) < FEWEST or not _doubtful(log):
        return trajectory(log)
    short = _averaged(log)
    first = trajectory(short)
    if log.a is None and not any("spline" in note for note in first.log):
        whole = trajectory(log)
        if not any("spline" in note for note in whole.log):  # differences do
            return whole
    parameters = columns(log.robot, ("viscous", "coulomb", "offset"), True)
    highest = min(HIGHEST, 0.2 * (len(short.t) - 1) / float(short.t[-1] - short.t[0]))
    coarse = LOWEST * 2.0 ** np.arange(int(np.log2(max(highest / LOWEST, 1.0))) + 1)
    left = {0.0: _left_over(parameters, first)}
    with Progress("choosing the bandwidth of the filter", len(coarse) + 2) as task:
        for bandwidth in coarse.tolist():
            left[bandwidth] = _left_over(parameters, trajectory(short, bandwidth))
            task.show(len(left))
        middle = min(coarse.tolist(), key=lambda tried: _score(left[tried]))
        for bandwidth in (middle * FINER, middle / FINER):
            left[bandwidth] = _left_over(parameters, trajectory(short, bandwidth))
            task.show(len(left))
    best = min((tried for tried in left if tried), key=lambda tried: _score(left[tried]))
    if short is log and _score(left[best]) > _score(left[0.0]) + np.log(BETTER):
        return trajectory(log)  # averaged rows say nothing about a choice by all positions
    result = trajectory(replace(log, v=None, a=None) if log.a is not None else log, best)
    names, k = log.robot.model.freedom_names, int(np.argmin(left[best] / left[0.0]))
    note = (
        f"bandwidth {best:.3g} Hz was chosen of {len(left) - 1} from {min(coarse):.3g} to {max(coarse):.3g} Hz, as a "
        f"model fitted to half of the log then predicts the torques of the other half best: {names[k]} to "
        f"{100.0 * left[best][k]:.3g} %, where the {'file' if log.a is not None else 'positions'} alone "
        f"{'leaves' if log.a is not None else 'leave'} {100.0 * left[0.0][k]:.3g} %"
    )
    return replace(result, log=(*result.log, note))


def _score(left: np.ndarray) -> float:
    """Mean of the logarithms: weak joints count as much as strong ones."""
    return float(np.mean(np.log(left)))


def _doubtful(log: Log) -> bool:
    """Whether accelerations are missing, or measured with noise."""
    if log.v is None or log.a is None:
        return True
    size = np.sqrt(np.mean(log.a**2, axis=0))
    return bool(np.any(local_noise(log.t, log.a) > NOISY * np.maximum(size, 1e-12)))


def _averaged(log: Log) -> Log:
    """The log with as many rows averaged into one as its rate exceeds RATE."""
    count = max(1, int((len(log.t) - 1) / max(float(log.t[-1] - log.t[0]), 1e-9) / RATE))
    if count == 1 or log.robot.nq != log.robot.nv:
        return log
    rows = len(log.t) // count

    def mean(x: np.ndarray | None) -> np.ndarray | None:
        return None if x is None else x[: rows * count].reshape(rows, count, -1).mean(axis=1)

    t = log.t[: rows * count].reshape(rows, count).mean(axis=1)
    q = mean(log.q)
    assert q is not None
    return replace(log, t=t, q=q, v=mean(log.v), a=mean(log.a), tau=mean(log.tau), temperature=None)


def _left_over(parameters: Columns, motion: Trajectory) -> np.ndarray:
    """(nv,): what a model fitted to every other part of a log leaves over of the torques of the rest, relative."""
    every = max(1, len(motion.t) // ROWS)
    assert motion.tau is not None
    rows = Samples(motion.q[::every], motion.v[::every], motion.a[::every], motion.tau[::every])
    ends = np.linspace(0, len(rows.q), PARTS + 1).round().astype(int)
    parts = [rows[slice(int(begin), int(end))] for begin, end in itertools.pairwise(ends)]
    size, left = np.zeros(parameters.robot.nv), np.zeros(parameters.robot.nv)
    for fitted, judged in ((parts[::2], parts[1::2]), (parts[1::2], parts[::2])):
        x, _ = weighted(compress(parameters, fitted), parameters.prior())
        for part in judged:
            known = parameters.known(part.q, part.v, part.a)
            residual = part.tau - known - parameters.matrix(part.q, part.v, part.a) @ x
            left += np.nansum(residual**2, axis=0)
            size += np.nansum((part.tau - np.nanmean(rows.tau, axis=0)) ** 2, axis=0)
    return np.asarray(np.sqrt(np.maximum(left, 1e-300) / np.maximum(size, 1e-300)))


def read_log(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    sensors: Sensors = None,
    topic: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    bandwidth: float | None = None,
    cut: tuple[float, float] | None = None,
) -> Trajectory:
    """A log of `robot` with torques, from .csv .npz .parquet .h5 .mcap or a ROS bag: t, q, v, a, tau.

    Everything that `read_trajectory` reads, with its options; what was unwrapped, filtered, differentiated or converted
    is in `.log`. sensors: `JointSensors` for all joints or by name, where positions are encoder counts, or the file has
    motor currents instead of torques; `MotorSide` where all numbers are those of the motors. bandwidth [Hz]: of the
    filter; None: chosen by how well a model that is fitted to half of the log predicts the torques of the other half.
    cut: from and to which time [s] after the log's start it is read.
    """
    log = read_motion(
        path, robot, sensors=sensors, topic=topic, columns=columns, units=units, bandwidth=bandwidth, cut=cut
    )
    check_torques(path, log)
    return log


def check_torques(path: str | os.PathLike[str], log: Trajectory) -> None:
    """Raise if a log has no torques."""
    if log.tau is None:
        raise DalembertError(
            f"{path}: no torques: expected a column tau.<joint> (or effort) for each joint, or a matrix; or motor "
            "currents (current.<joint>) with sensors=identify.JointSensors(gear=…, torque_constant=…)"
        )


def read_motion(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    sensors: Sensors = None,
    topic: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    bandwidth: float | None = None,
    cut: tuple[float, float] | None = None,
) -> Trajectory:
    """The same with or without torques; see `read_log`."""
    read = logs.read_log(path, robot, topic=topic, columns=columns, units=units, sensors=sensors, cut=cut)
    return best_trajectory(read) if bandwidth is None else logs.trajectory(read, bandwidth)
