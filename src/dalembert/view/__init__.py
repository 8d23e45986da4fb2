"""Robots in the browser: shapes, frames, centres of mass, reactions, sliders, playback. Served on loopback, offline."""

from .viewer import Viewer

__all__ = ["Viewer"]
