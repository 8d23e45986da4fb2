"""Logs for identification: a motion with torques."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dalembert.errors import DalembertError
from dalembert.logs import JointSensors, Trajectory, read_trajectory
from dalembert.robot import Robot


def read_log(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    sensors: JointSensors | Mapping[str, JointSensors] | None = None,
    topic: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    bandwidth: float | None = None,
) -> Trajectory:
    """A log of `robot` with torques, from .csv .npz .parquet .h5 .mcap or a ROS bag: t, q, v, a, tau.

    Everything that `read_trajectory` reads, with its options; what was unwrapped, filtered, differentiated or converted
    is in `.log`. sensors: `JointSensors` for all joints or by name, where positions are encoder counts, or the file has
    motor currents instead of torques.
    """
    log = read_trajectory(path, robot, topic=topic, columns=columns, units=units, sensors=sensors, bandwidth=bandwidth)
    if log.tau is None:
        raise DalembertError(
            f"{path}: no torques: expected a column tau.<joint> (or effort) for each joint, or a matrix; or motor "
            "currents (current.<joint>) with sensors=identify.JointSensors(gear=…, torque_constant=…)"
        )
    return log
