"""MJCF files → Model, through MuJoCo's own compiler."""

from .reader import read_mjcf

__all__ = ["read_mjcf"]
