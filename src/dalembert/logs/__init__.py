"""Logs: from named columns in a file to the motion of a robot."""

from .trajectory import Trajectory, read_trajectory, write_trajectory

__all__ = ["Trajectory", "read_trajectory", "write_trajectory"]
