"""SDF files (1.4 to 1.11) → Model."""

from .reader import read_sdf

__all__ = ["read_sdf"]
