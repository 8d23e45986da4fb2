"""Denavit-Hartenberg tables (.dh.toml) → Model."""

from .reader import read_dh

__all__ = ["read_dh"]
