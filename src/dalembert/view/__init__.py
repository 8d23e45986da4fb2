"""Robots in the browser: shapes, frames, centres of mass, reactions, sliders, playback. Served on loopback, offline.

In: a `Robot`, a run. Out: a page that a browser shows. Read in this order: `scene`, what is drawn; `viewer`, what
people call; `sliders`, `playback`, `contacts`, `recording`.
"""

from .viewer import Viewer

__all__ = ["Viewer"]
