"""Contacts of a run in the scene: forces as arrows at the points that push, and their friction cones as lines."""

from __future__ import annotations

from typing import Any

import numpy as np

ARROW, CONE = (214, 60, 40), (120, 150, 190)
FORCE_LENGTH = 0.3  # of the robot's size: the arrow of a large force
USUAL, MOST = 95.0, 2.0  # per cent of the forces are within FORCE_LENGTH; impacts are cut at so many times that
EDGES = 12  # lines of a cone
OUT_OF_SIGHT = np.array([[0.0, 0.0, -1e6], [0.0, 0.0, 1.0 - 1e6]])  # [m]: an arrow that nobody sees


class ContactMarks:
    """Arrows and cones of `run.contacts` below the node `root`; `show(k)` draws those of sample k.

    What is not to be seen is put far away and not hidden: a page that is slow to draw shows again what was hidden where
    it was before.
    """

    def __init__(self, scene: Any, root: str, contacts: Any, size: float) -> None:
        self.contacts, self._on = contacts, True
        forces = np.linalg.norm(contacts.force, axis=-1)
        large = float(np.percentile(forces[forces > 0.0], USUAL)) if forces.any() else 1.0
        self.scale, self.longest = FORCE_LENGTH * size / large, MOST * FORCE_LENGTH * size
        thin, count = 0.006 * size, len(contacts.names)
        self._arrows = scene.add_arrows(
            f"{root}/contact forces",
            np.zeros((count, 2, 3)),
            ARROW,
            shaft_radius=thin,
            head_radius=2.5 * thin,
            head_length=4 * thin,
        )
        self._cones = scene.add_line_segments(
            f"{root}/friction cones", np.zeros((EDGES * count, 2, 3), np.float32), CONE, thickness=0.002 * size
        )
        self.show(0)

    def show(self, k: int) -> None:
        """Draw sample k of the run: the points that push."""
        self._sample = k
        position, force = self.contacts.position[k], self.contacts.force[k]
        arrows = np.stack([position, position + self._scales(k) * force], axis=1)
        pushing = self.contacts.normal_force[k] > 0.0
        arrows[~pushing if self._on else slice(None)] = OUT_OF_SIGHT
        self._arrows.points = arrows.astype(np.float32)
        self._cones.points = (self._edges(k) if self._on else 0.0 * self._cones.points).astype(np.float32)

    def visible(self, on: bool) -> None:
        """Show or hide them."""
        self._on = on
        self.show(self._sample)

    def _scales(self, k: int) -> np.ndarray:
        """(points, 1): metres of an arrow per newton; less for forces whose arrows would be too long."""
        length = self.scale * np.linalg.norm(self.contacts.force[k], axis=-1, keepdims=True)
        return self.scale * self.longest / np.maximum(length, self.longest)

    def _edges(self, k: int) -> np.ndarray:
        """(EDGES · points, 2, 3): from the points along the cones |F_t| = µ F_n, as high as the normal forces."""
        position, normal = self.contacts.position[k], self.contacts.normal[k]
        helper = np.where(np.abs(normal[:, 2:]) > 0.9, [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
        first = np.cross(normal, helper)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        second = np.cross(normal, first)
        angle = np.linspace(0.0, 2.0 * np.pi, EDGES, endpoint=False)[:, None, None]
        rim = normal + self.contacts.friction[:, None] * (np.cos(angle) * first + np.sin(angle) * second)
        height = self._scales(k) * self.contacts.normal_force[k][:, None]
        ends = position + height * rim
        starts = np.broadcast_to(position, ends.shape)
        return np.stack([starts, ends], axis=2).reshape(-1, 2, 3)
