"""One of the two bodies of a contact in a scene of loose bodies."""

from __future__ import annotations

import numpy as np

from dalembert.spatial import cross


class Side:
    """One of the two bodies of a contact; a row of zeros is one that does not move."""

    def __init__(self, row: np.ndarray, axes: np.ndarray, position: np.ndarray, about: tuple[int, ...]) -> None:
        xx, xy, xz, yy, yz, zz = row[4:10]
        inverse = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        r = position - row[:3]
        self.light = row[3]
        self.levers = np.array([cross(r, axis) for axis in axes])
        self.turns = np.array([inverse @ lever for lever in self.levers])
        self.spins = np.array([inverse @ axes[k] for k in about]).reshape(len(about), 3)
        self.before, self.kick = (self._velocity(axes, motion, about) for motion in (row[10:16], row[16:22]))

    def _velocity(self, axes: np.ndarray, motion: np.ndarray, about: tuple[int, ...]) -> np.ndarray:
        along = axes @ motion[:3] + self.levers @ motion[3:]
        return np.concatenate([along, [axes[k] @ motion[3:] for k in about]])
