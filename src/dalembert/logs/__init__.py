"""Logs: from named columns in a file to the motion of a robot, with every decision said.

`read_log` returns the measurements, in SI units; `read_trajectory` adds the velocities and accelerations that are
missing; `smooth` is the filter behind them.

In: a file or columns, and a `Robot`. Out: a `Log` or a `Trajectory`. Read in this order: `log`, `channels` and `units`,
which column is what; `times`, `angles`; `splines` and `smoothing`; `trajectory`.
"""

from .log import Log, rate_slopes, read_log
from .sensors import JointSensors, MotorSide, Sensors, read_sensors
from .smoothing import Smoothed, local_noise, smooth
from .trajectory import Trajectory, read_trajectory, trajectory, write_trajectory

__all__ = [
    "JointSensors",
    "Log",
    "MotorSide",
    "Sensors",
    "Smoothed",
    "Trajectory",
    "local_noise",
    "rate_slopes",
    "read_log",
    "read_sensors",
    "read_trajectory",
    "smooth",
    "trajectory",
    "write_trajectory",
]
