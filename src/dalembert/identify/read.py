"""Logs for identification: a motion with torques."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dalembert import logs
from dalembert.errors import DalembertError
from dalembert.logs import Sensors, Trajectory
from dalembert.robot import Robot

from .bandwidth import best_trajectory


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
