"""One of the two bodies of a contact in a scene of loose bodies."""

from __future__ import annotations

import numpy as np

from dalembert.linear import Columns
from dalembert.spatial import cross

MOTION = Columns(centre=(3,), light=(), mobility=(6,), before=(6,), kick=(6,))  # of a row: see `scene_step.Moving`


class Side:
    """One of the two bodies of a contact; a row of zeros is one that does not move."""

    def __init__(self, row: np.ndarray, axes: np.ndarray, position: np.ndarray, about: tuple[int, ...]) -> None:
        motion = MOTION.named(row)
        xx, xy, xz, yy, yz, zz = motion["mobility"]
        inverse = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        r = position - motion["centre"]
        self.light = motion["light"]
        self.levers = np.array([cross(r, axis) for axis in axes])
        self.turns = np.array([inverse @ lever for lever in self.levers])
        self.spins = np.array([inverse @ axes[k] for k in about]).reshape(len(about), 3)
        self.before, self.kick = (self._velocity(axes, motion[name], about) for name in ("before", "kick"))

    def _velocity(self, axes: np.ndarray, velocity: np.ndarray, about: tuple[int, ...]) -> np.ndarray:
        """(3 + m,) along and about the axes, of a velocity and an angular velocity (6,) of the body."""
        along = axes @ velocity[:3] + self.levers @ velocity[3:]
        return np.concatenate([along, [axes[k] @ velocity[3:] for k in about]])
