"""Logs for identification: a motion with torques."""

from __future__ import annotations

import os

from dalembert.errors import DalembertError
from dalembert.logs import Trajectory, read_trajectory
from dalembert.robot import Robot


def read_log(path: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """A log of `robot` with torques, from .csv .npz .parquet .h5 .mcap or a ROS bag: t, q, v, a, tau.

    Everything that `read_trajectory` reads; what was unwrapped, filtered, differentiated or converted is in `.log`.
    """
    log = read_trajectory(path, robot)
    if log.tau is None:
        raise DalembertError(
            f"{path}: no torques: expected a column tau.<joint> (or effort) for each joint, or a matrix"
        )
    return log
